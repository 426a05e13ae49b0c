// SPDX-License-Identifier: Apache-2.0
/*
 * Pulls events out of libyaml and gives each to one of two builds: `outer`, the document at the
 * top, or `element`, one of its `items`, which is handed out as soon as it is complete. At most
 * these two trees and libyaml's buffers are in memory.
 *
 * libyaml collects a scalar whole before it shows it, however long; so the read handler refuses to
 * feed it more than a document may hold while no event comes out.
 */
#include "format/yaml_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "faults/syntax.h"
#include "format/place.h"
#include "format/yaml_build.h"

#define AUTOEVENT CLEANUP(yaml_event_delete)

enum state {
    BETWEEN,
    OUTER,
    ITEMS,
    ENDED,
};

struct yaml_reader {
    yaml_parser_t parser;
    struct input *input;
    bool whole;
    enum state state;
    struct yaml_tree outer, element;
    bool has_items;
    uint64_t event_total;  /* bytes that libyaml had when the last event came out */
    struct faults *faults; /* for the handler, while reader_next() runs */
    int handler_error;
};

static int feed(void *data, unsigned char *buffer, size_t size, size_t *ret_size)
{
    struct yaml_reader *reader = data;
    uint64_t limit = reader->outer.limits.document_bytes;
    if (reader->input->total - reader->event_total > limit)
        reader->handler_error =
            place_raise(yaml_place(reader->parser.mark), reader->input->file, reader->faults,
                        yaml_gap_too_long, .limit = (int64_t)limit);
    else
        reader->handler_error =
            input_read(reader->input, (char *)buffer, size, ret_size, reader->faults);
    return reader->handler_error == 0;
}

struct yaml_reader *yaml_reader_new(struct input *input, const struct reader_limits *limits,
                                    bool whole)
{
    struct yaml_reader *reader = calloc(1, sizeof(*reader));
    if (!reader || !yaml_parser_initialize(&reader->parser)) {
        free(reader);
        return NULL;
    }
    reader->input = input;
    reader->whole = whole;
    reader->outer.file = reader->element.file = input->file;
    reader->outer.limits = reader->element.limits = *limits;
    reader->element.enclosing = &reader->outer;
    yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input(&reader->parser, feed, reader);
    return reader;
}

void yaml_reader_free(struct yaml_reader *reader)
{
    if (!reader)
        return;
    yaml_parser_delete(&reader->parser);
    yaml_build_done(&reader->outer);
    yaml_build_done(&reader->element);
    free(reader);
}

/* Tabs are what people write there, and do not see. */
static bool may_be_tab(const char *problem)
{
    return strstr(problem, "cannot start any token");
}

/* What libyaml has to say: the problem, and what it was about when it met it. */
static int parser_fault(struct yaml_reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    const char *file = reader->input->file;
    if (reader->handler_error < 0)
        return reader->handler_error;
    if (parser->error == YAML_MEMORY_ERROR)
        return -ENOMEM;
    if (parser->error == YAML_READER_ERROR)
        return place_raise(yaml_place(parser->mark), file, reader->faults, syntax_wrong,
                           .error = parser->problem);
    struct place place = yaml_place(parser->problem_mark);
    if (!parser->context)
        return place_raise(place, file, reader->faults, syntax_wrong, .error = parser->problem);
    const bool same_line = parser->context_mark.line == parser->problem_mark.line;
    if (same_line && may_be_tab(parser->problem))
        return place_raise(place, file, reader->faults, syntax_tab, .error = parser->problem,
                           .context = parser->context);
    return place_raise(place, file, reader->faults, syntax_wrong, .error = parser->problem,
                       .context = parser->context,
                       .line = same_line ? 0 : yaml_place(parser->context_mark).line);
}

/* The document of a build, which is then ready for the next. */
static int hand_out(struct yaml_tree *build, struct document **ret_document)
{
    *ret_document = TAKE_PTR(build->document);
    yaml_build_reset(build);
    return 1;
}

static int end_outer(struct yaml_reader *reader, struct document **ret_document)
{
    struct yaml_tree *build = &reader->outer;
    const struct doc *root = build->document->root;
    bool empty = root->type == DOC_NULL && !*root->text;
    reader->state = BETWEEN;
    if (!empty && !reader->has_items)
        return hand_out(build, ret_document);
    yaml_build_reset(build);
    return 0;
}

static int outer_event(struct yaml_reader *reader, const yaml_event_t *event,
                       struct document **ret_document)
{
    struct yaml_tree *build = &reader->outer;
    if (event->type == YAML_DOCUMENT_END_EVENT)
        return end_outer(reader, ret_document);
    if (event->type == YAML_SEQUENCE_START_EVENT && !reader->whole && yaml_build_at_items(build)) {
        reader->has_items = true;
        reader->state = ITEMS;
        return yaml_build_cut(build, event, reader->faults);
    }
    int r = yaml_build_event(build, event, reader->faults);
    return r < 0 ? r : 0;
}

static int items_event(struct yaml_reader *reader, const yaml_event_t *event,
                       struct document **ret_document)
{
    struct yaml_tree *build = &reader->element;
    if (event->type == YAML_SEQUENCE_END_EVENT && build->open.count == 0) {
        reader->state = OUTER;
        return 0;
    }
    int r = yaml_build_event(build, event, reader->faults);
    return r <= 0 ? r : hand_out(build, ret_document);
}

static void between_event(struct yaml_reader *reader, const yaml_event_t *event)
{
    if (event->type == YAML_STREAM_END_EVENT) {
        reader->state = ENDED;
    } else if (event->type == YAML_DOCUMENT_START_EVENT) {
        reader->state = OUTER;
        reader->has_items = false;
    }
}

static int next_event(struct yaml_reader *reader, struct document **ret_document)
{
    AUTOEVENT yaml_event_t event = { 0 };
    if (!yaml_parser_parse(&reader->parser, &event))
        return parser_fault(reader);
    reader->event_total = reader->input->total;
    if (reader->state == OUTER)
        return outer_event(reader, &event, ret_document);
    if (reader->state == ITEMS)
        return items_event(reader, &event, ret_document);
    between_event(reader, &event);
    return 0;
}

/* Returns 1 and a document, 0 at the end, or an error. */
static int next_document(struct yaml_reader *reader, struct document **ret_document)
{
    while (reader->state != ENDED) {
        int r = next_event(reader, ret_document);
        if (r != 0)
            return r;
    }
    return 0;
}

int yaml_reader_next(struct yaml_reader *reader, struct document **ret_document,
                     struct faults *faults)
{
    reader->faults = faults;
    int r = next_document(reader, ret_document);
    reader->faults = NULL;
    if (r < 0)
        reader->state = ENDED;
    return r;
}
