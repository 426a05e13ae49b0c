// SPDX-License-Identifier: Apache-2.0
/*
 * The door of the readers: chooses the one for the format, owns the file, holds the limits within
 * what the parsers can count (json-c takes an int for a length).
 *
 * Manifests come through reader_open(); configuration and replies of the agent, which are one
 * document each, through document_read() and document_parse().
 */
#include "format/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/remedy.h"
#include "format/input.h"
#include "format/json_reader.h"
#include "format/place.h"
#include "format/yaml_reader.h"

#define MIB (UINT64_C(1) << 20)

const struct reader_limits reader_limits_default = {
    .file_bytes = 256 * MIB,
    .document_bytes = 16 * MIB,
    .depth = 64,
};

static const struct reader_limits single_limits = {
    .file_bytes = 1 * MIB,
    .document_bytes = 1 * MIB,
    .depth = 64,
};

struct reader {
    struct input input;
    struct json_reader *json; /* one of the two */
    struct yaml_reader *yaml;
};

static int reader_new(const char *file, enum reader_format format,
                      const struct reader_limits *limits, bool whole, struct reader **ret_reader)
{
    struct reader_limits held = {
        .file_bytes = limits->file_bytes,
        .document_bytes = MIN(limits->document_bytes, 1024 * MIB),
        .depth = MIN(limits->depth, (uint32_t)1000),
    };
    CLEANUP(reader_freep) struct reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return -ENOMEM;
    input_init(&reader->input, file, format, held.file_bytes);
    if (format == READER_JSON)
        reader->json = json_reader_new(&reader->input, &held, whole);
    else
        reader->yaml = yaml_reader_new(&reader->input, &held, whole);
    if (!reader->json && !reader->yaml)
        return -ENOMEM;
    *ret_reader = TAKE_PTR(reader);
    return 0;
}

/* The one document of a reader. */
static int read_single(struct reader *reader, struct document **ret_document, struct faults *faults)
{
    CLEANUP(document_freep) struct document *document = NULL;
    CLEANUP(document_freep) struct document *second = NULL;
    int r = reader_next(reader, &document, faults);
    if (r <= 0)
        return r;
    r = reader_next(reader, &second, faults);
    if (r < 0)
        return r;
    if (r > 0) {
        doc_raise(second, second->root, faults, document_too_many);
        return -EBADMSG;
    }
    *ret_document = TAKE_PTR(document);
    return 1;
}

int reader_open(int fd, const char *file, enum reader_format format,
                const struct reader_limits *limits, struct reader **ret_reader)
{
    AUTOCLOSE int owned = fd;
    struct reader *reader;
    int r = reader_new(file, format, limits, false, &reader);
    if (r < 0)
        return r;
    reader->input.fd = TAKE_FD(owned);
    *ret_reader = reader;
    return 0;
}

int reader_next(struct reader *reader, struct document **ret_document, struct faults *faults)
{
    if (reader->json)
        return json_reader_next(reader->json, ret_document, faults);
    return yaml_reader_next(reader->yaml, ret_document, faults);
}

void reader_free(struct reader *reader)
{
    if (!reader)
        return;
    json_reader_free(reader->json);
    yaml_reader_free(reader->yaml);
    input_done(&reader->input);
    free(reader);
}

int document_parse(const char *bytes, size_t size, const char *file, enum reader_format format,
                   struct document **ret_document, struct faults *faults)
{
    struct reader_limits limits = reader_limits_default;
    CLEANUP(reader_freep) struct reader *reader = NULL;
    limits.document_bytes = limits.file_bytes;
    int r = reader_new(file, format, &limits, true, &reader);
    if (r < 0)
        return r;
    reader->input.bytes = bytes;
    reader->input.left = size;
    return read_single(reader, ret_document, faults);
}

static int read_file(const char *path, enum reader_format format,
                     const struct reader_limits *limits, struct document **ret_document,
                     struct faults *faults)
{
    AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        int error = errno;
        fault_raise(faults, path, document_open_failed, .reason = strerror(error),
                    .remedy = remedy_for_file(error));
        return -error;
    }
    CLEANUP(reader_freep) struct reader *reader = NULL;
    int r = reader_new(path, format, limits, true, &reader);
    if (r < 0)
        return r;
    reader->input.fd = TAKE_FD(fd);
    return read_single(reader, ret_document, faults);
}

int document_read(const char *path, enum reader_format format, struct document **ret_document,
                  struct faults *faults)
{
    return read_file(path, format, &single_limits, ret_document, faults);
}

int document_read_record(const char *path, struct document **ret_document, struct faults *faults)
{
    struct reader_limits limits = reader_limits_default;
    limits.document_bytes = limits.file_bytes;
    return read_file(path, READER_JSON, &limits, ret_document, faults);
}
