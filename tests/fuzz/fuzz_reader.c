// SPDX-License-Identifier: Apache-2.0
/*
 * Reads bytes as the source of manifests does, and holds what reader.h promises: a bounded tree
 * with sound links, text without NUL, a place for every node, a fault if and only if the file is
 * refused, and an end that stays one.
 *
 * Three comparisons find what no sanitizer can: a file that comes in pieces reads as one that comes
 * whole (of two errors, the one that is told may be another: a chunk's encoding is checked before
 * its syntax); a document, written as JSON, reads as the same document; and limits can only
 * refuse, never change what is read before.
 */
#include "fuzz_reader.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "format/json.h"

enum {
    PLACES_MAX = 40, /* nodes whose places are looked up: in JSON each costs a walk */
    PIECES_MAX = 24,
    MARK_BYTES = 4,
};

static const struct reader_limits tight = { .file_bytes = 600, .document_bytes = 120, .depth = 5 };

int fuzz_file(const uint8_t *bytes, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    MUST(fd >= 0);
    MUST(write(fd, bytes, size) == (ssize_t)size);
    MUST(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

/* The same in pieces: each message of such a socket is one read(), whose room it must not exceed.
 * The reader takes the first few bytes alone, for the byte order mark. */
static int fuzz_pieces(const uint8_t *bytes, size_t size)
{
    int fds[2];
    MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    size_t piece = 1 + size / PIECES_MAX, length;
    for (size_t at = 0; at < size; at += length) {
        length = at < MARK_BYTES ? 1 : MIN(piece, size - at);
        MUST(send(fds[1], bytes + at, length, MSG_DONTWAIT) == (ssize_t)length);
    }
    close(fds[1]);
    return fds[0];
}

enum reader_format fuzz_format(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!strchr(" \t\r\n", bytes[i]) || bytes[i] == '\0')
            return bytes[i] == '{' || bytes[i] == '[' ? READER_JSON : READER_YAML;
    }
    return READER_YAML;
}

static void write_value(const struct doc *node, const char *key, struct json *json)
{
    switch (node->type) {
    case DOC_NULL:
        json_null(json, key);
        return;
    case DOC_SCALAR:
        json_string(json, key, node->text);
        return;
    case DOC_LIST:
        json_begin_array(json, key);
        doc_each(child, node)
            write_value(child, NULL, json);
        json_end_array(json);
        return;
    case DOC_MAP:
        json_begin_object(json, key);
        doc_each(child, node)
            write_value(child, child->key, json);
        json_end_object(json);
        return;
    }
}

void fuzz_write(const struct doc *node, struct text *out)
{
    struct json json = { .out = out };
    write_value(node, NULL, &json);
}

static void check_tree(const struct doc *node, uint32_t depth, uint32_t limit)
{
    uint32_t index = 0;
    MUST(node->type == DOC_SCALAR ? node->text != NULL : true);
    MUST(depth <= limit + 1);
    doc_each(child, node) {
        MUST(node->type == DOC_LIST || node->type == DOC_MAP);
        MUST(child->parent == node && child->index == index++);
        MUST((node->type == DOC_MAP) == (child->key != NULL));
        MUST(!child->key || child->type == DOC_NULL || doc_get(node, child->key) == child);
        check_tree(child, depth + 1, limit);
    }
    MUST(node->count == index);
}

static void check_places(const struct document *document, const struct doc *node, int *left)
{
    uint32_t line, column;
    if ((*left)-- <= 0)
        return;
    doc_where(document, node, &line, &column);
    MUST(line > 0 && column > 0);
    AUTOFREE char *path = doc_path(node);
    MUST(path);
    doc_each(child, node)
        check_places(document, child, left);
}

/* All conversions at one node: each gives a value within its bounds, or one fault. */
static void check_conversions(const struct document *document, const struct doc *node)
{
    AUTOFAULTS struct faults faults = { 0 };
    const char *string;
    bool flag;
    int64_t number = 7;
    size_t refused = doc_string(document, node, &string, &faults) < 0;
    refused += doc_bool(document, node, &flag, &faults) < 0;
    refused += doc_int(document, node, -3, 70000, &number, &faults) < 0;
    MUST(number >= -3 && number <= 70000);
    MUST(faults.list.count == refused);
}

static void check_document(const struct document *document, const struct reader_limits *limits)
{
    check_tree(document->root, 0, limits->depth);
    int left = PLACES_MAX;
    check_places(document, document->root, &left);
    check_conversions(document, document->root);
    if (document->root->first)
        check_conversions(document, document->root->first);
}

static void check_written(const struct text *written)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    MUST(document_parse(written->data, written->length, "w", READER_JSON, &document, &faults) == 1);
    AUTOTEXT struct text again = { 0 };
    fuzz_write(document->root, &again);
    MUST(strcmp(text_str(&again), text_str(written)) == 0);
}

static void add_document(const struct document *document, const struct reader_limits *limits,
                         struct text *out)
{
    AUTOTEXT struct text written = { 0 };
    check_document(document, limits);
    fuzz_write(document->root, &written);
    if (limits != &tight)
        check_written(&written);
    text_add(out, text_str(&written));
    text_add_char(out, '\n');
}

/* Documents as lines; what refused the rest goes to `ret_faults`. */
static void read_all(int fd, enum reader_format format, const struct reader_limits *limits,
                     struct text *documents, struct text *refusal)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(reader_freep) struct reader *reader = NULL;
    MUST(reader_open(fd, "f", format, limits, &reader) == 0);
    int r;
    for (;;) {
        CLEANUP(document_freep) struct document *document = NULL;
        r = reader_next(reader, &document, &faults);
        if (r <= 0)
            break;
        add_document(document, limits, documents);
    }
    MUST(r == 0 || r == -EBADMSG);
    MUST(faults.list.count == (r < 0 ? 1u : 0u) && !faults.incomplete);
    vec_each(const struct fault, fault, &faults.list) {
        MUST(strncmp(fault->place, "f:", 2) == 0);
        text_addf(refusal, "%s: %s", fault->place, fault->message);
    }
    struct document *none = NULL;
    MUST(reader_next(reader, &none, &faults) == 0 && !none);
}

static void check_whole(const uint8_t *bytes, size_t size, enum reader_format format)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    int r = document_parse((const char *)bytes, size, "f", format, &document, &faults);
    MUST(r == 0 || r == 1 || r == -EBADMSG);
    MUST((r == 1) == (document != NULL) && (r < 0) == !faults_none(&faults));
    if (document)
        check_document(document, &reader_limits_default);
}

static bool is_beginning(const struct text *beginning, const struct text *text)
{
    return strncmp(text_str(text), text_str(beginning), beginning->length) == 0;
}

void fuzz_read(const uint8_t *bytes, size_t size, enum reader_format format)
{
    AUTOTEXT struct text whole = { 0 }, whole_refusal = { 0 };
    AUTOTEXT struct text pieces = { 0 }, pieces_refusal = { 0 };
    AUTOTEXT struct text less = { 0 }, less_refusal = { 0 };
    read_all(fuzz_file(bytes, size), format, &reader_limits_default, &whole, &whole_refusal);
    read_all(fuzz_pieces(bytes, size), format, &reader_limits_default, &pieces, &pieces_refusal);
    read_all(fuzz_file(bytes, size), format, &tight, &less, &less_refusal);

    MUST((whole_refusal.length == 0) == (pieces_refusal.length == 0));
    if (whole_refusal.length == 0)
        MUST(strcmp(text_str(&whole), text_str(&pieces)) == 0);
    MUST(is_beginning(&whole, &pieces));
    MUST(is_beginning(&less, &whole));
    check_whole(bytes, size, format);
}
