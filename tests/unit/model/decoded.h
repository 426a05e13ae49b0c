/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes a manifest given as text, with all that comes of it in one value. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"
#include "format/reader.h"
#include "model/object.h"

struct decoded {
    int r;
    struct document *document;
    struct object *object; /* NULL unless r is 1 */
    const char *kind;      /* set where r is 0 */
    struct faults errors, warnings;
};

/* `file`: "" is what the API says. `kind`: KIND_COUNT for what the text says. */
static inline struct decoded decode_from(const char *file, const char *text,
                                         enum reader_format format, enum kind kind)
{
    struct decoded decoded = { 0 };
    struct faults faults = { 0 };
    int r = document_parse(text, strlen(text), file, format, &decoded.document, &faults);
    if (r != 1)
        fail_msg("the test's own text does not parse: %s",
                 faults.list.count ? faults.list.items[0].message : "?");
    faults_done(&faults);
    decoded.r = kind < KIND_COUNT ? object_decode_as(decoded.document, kind, &decoded.object,
                                                     &decoded.errors, &decoded.warnings)
                                  : object_decode(decoded.document, &decoded.object, &decoded.kind,
                                                  &decoded.errors, &decoded.warnings);
    return decoded;
}

static inline struct decoded decode_kind(const char *text, enum reader_format format,
                                         enum kind kind)
{
    return decode_from("test", text, format, kind);
}

static inline struct decoded decode_as(const char *text, enum reader_format format)
{
    return decode_kind(text, format, KIND_COUNT);
}

static inline struct decoded decode_yaml(const char *text)
{
    return decode_as(text, READER_YAML);
}

static inline void decoded_done(struct decoded *decoded)
{
    object_free(decoded->object);
    document_free(decoded->document);
    faults_done(&decoded->errors);
    faults_done(&decoded->warnings);
}

#define AUTODECODED CLEANUP(decoded_done)

/* A fault at this place whose message has this in it. */
static inline void assert_fault(const struct faults *faults, const char *place, const char *part)
{
    vec_each(struct fault, fault, &faults->list) {
        if (strcmp(fault->place, place) == 0 && strstr(fault->message, part))
            return;
    }
    vec_each(struct fault, fault, &faults->list)
        print_message("have: %s: %s\n", fault->place, fault->message);
    fail_msg("no fault at %s with \"%s\"", place, part);
}

/* A usable object, with so many warnings. */
static inline void assert_decoded(const struct decoded *decoded, size_t warnings)
{
    vec_each(struct fault, fault, &decoded->errors.list)
        print_message("error: %s: %s\n", fault->place, fault->message);
    assert_int_equal(decoded->r, 1);
    assert_true(faults_none(&decoded->errors));
    assert_int_equal(decoded->warnings.list.count, warnings);
}

/* A refused object, with so many errors. */
static inline void assert_refused(const struct decoded *decoded, size_t errors)
{
    assert_int_equal(decoded->r, -EBADMSG);
    assert_null(decoded->object);
    if (decoded->errors.list.count != errors) {
        vec_each(struct fault, fault, &decoded->errors.list)
            print_message("error: %s: %s\n", fault->place, fault->message);
    }
    assert_int_equal(decoded->errors.list.count, errors);
}
