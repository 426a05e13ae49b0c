/* SPDX-License-Identifier: Apache-2.0 */
/* Reads text through the reader and writes down what came: one line a document, then the faults. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/text.h"
#include "cmocka_all.h"
#include "format/reader.h"

static inline void show_doc(const struct doc *node, struct text *out)
{
    if (node->type == DOC_NULL) {
        text_add(out, "null");
        return;
    }
    if (node->type == DOC_SCALAR) {
        text_addf(out, node->quoted ? "\"%s\"" : "%s", node->text);
        return;
    }
    uint32_t index = 0;
    text_add_char(out, node->type == DOC_MAP ? '{' : '[');
    doc_each(child, node) {
        assert_ptr_equal(child->parent, node);
        assert_int_equal(child->index, index);
        if (index++ > 0)
            text_add_char(out, ',');
        if (node->type == DOC_MAP)
            text_addf(out, "%s:", child->key);
        show_doc(child, out);
    }
    assert_int_equal(node->count, index);
    text_add_char(out, node->type == DOC_MAP ? '}' : ']');
}

static inline void show_faults(const struct faults *faults, struct text *out)
{
    vec_each(const struct fault, fault, &faults->list)
        text_addf(out, "%s: %s\n", fault->place, fault->message);
}

/* A file that holds these bytes, open for reading. */
static inline int make_file(const char *bytes, size_t size)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* In a string that the caller frees. */
static inline char *read_bytes(const char *bytes, size_t size, enum reader_format format,
                               const struct reader_limits *limits)
{
    struct text out = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(reader_freep) struct reader *reader = NULL;
    assert_int_equal(reader_open(make_file(bytes, size), "f", format, limits, &reader), 0);
    int r;
    for (;;) {
        CLEANUP(document_freep) struct document *document = NULL;
        r = reader_next(reader, &document, &faults);
        if (r <= 0)
            break;
        show_doc(document->root, &out);
        text_add_char(&out, '\n');
    }
    assert_true(r == 0 || r == -EBADMSG);
    assert_int_equal(r == 0, faults_none(&faults));
    show_faults(&faults, &out);
    text_add(&out, "");
    return text_take(&out);
}

#define assert_reads(format, text, ...)                                                          \
    ({                                                                                           \
        AUTOFREE char *got = read_bytes(text, sizeof(text) - 1, format, &reader_limits_default); \
        assert_string_equal(got, __VA_ARGS__);                                                   \
    })
