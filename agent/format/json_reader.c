// SPDX-License-Identifier: Apache-2.0
/*
 * Pulls a file through the splitter, and hands what is cut to json_value.c. What stands around the
 * items of a list is parsed too, only to know that it is JSON. A value beyond a limit ends the
 * file, as any other fault does.
 */
#include "format/json_reader.h"

#include <errno.h>
#include <stdlib.h>

#include "format/json_splitter.h"
#include "format/json_value.h"

enum { CHUNK = 64 * 1024 };

struct json_reader {
    struct input *input;
    struct json_splitter *splitter;
    uint32_t depth;
    bool finishing; /* all was pushed */
    bool ended;
    char buffer[CHUNK];
};

struct json_reader *json_reader_new(struct input *input, const struct reader_limits *limits,
                                    bool whole)
{
    struct json_reader *reader = malloc(sizeof(*reader));
    struct json_splitter *splitter = json_splitter_new(input->file, limits, !whole);
    if (!reader || !splitter) {
        free(reader);
        json_splitter_free(splitter);
        return NULL;
    }
    reader->input = input;
    reader->splitter = splitter;
    reader->depth = limits->depth;
    reader->finishing = reader->ended = false;
    return reader;
}

void json_reader_free(struct json_reader *reader)
{
    if (!reader)
        return;
    json_splitter_free(reader->splitter);
    free(reader);
}

/* At the end of what was pushed. */
static int push_more(struct json_reader *reader, struct faults *faults)
{
    size_t size;
    if (reader->finishing) {
        reader->ended = true;
        return 0;
    }
    int r = input_read(reader->input, reader->buffer, CHUNK, &size, faults);
    if (r < 0)
        return r;
    json_splitter_push(reader->splitter, reader->buffer, size);
    reader->finishing = size == 0;
    if (reader->finishing)
        json_splitter_end(reader->splitter);
    return 0;
}

/* Returns 1 and a document, 0 to go on, or an error. */
static int use(const struct json_reader *reader, const struct json_part *part,
               struct document **ret_document, struct faults *faults)
{
    bool given = part->kind != JSON_FRAME;
    int r = json_value_parse(part->text, part->length, &part->origin, reader->depth,
                             given ? ret_document : NULL, faults);
    return r < 0 ? r : given;
}

/* Returns 1 and a document, 0 at the end, or an error. */
static int next_document(struct json_reader *reader, struct document **ret_document,
                         struct faults *faults)
{
    while (!reader->ended) {
        struct json_part part;
        int r = json_splitter_next(reader->splitter, &part, faults);
        if (r < 0)
            return r;
        r = r > 0 ? use(reader, &part, ret_document, faults) : push_more(reader, faults);
        if (r != 0)
            return r;
    }
    return 0;
}

int json_reader_next(struct json_reader *reader, struct document **ret_document,
                     struct faults *faults)
{
    int r = next_document(reader, ret_document, faults);
    if (r < 0)
        reader->ended = true;
    return r == -EMSGSIZE ? -EBADMSG : r;
}
