// SPDX-License-Identifier: Apache-2.0
/*
 * Objects of every kind, from YAML or JSON bytes: a document decodes or is refused with a reason,
 * twice alike, and what came of it is sound: an object equals itself, has a name and a place in its
 * file, and no error beside it; written down and read back it is the same.
 */
#include <errno.h>
#include <string.h>

#include "fuzz_reader.h"
#include "model/fields/encode.h"
#include "model/object.h"
#include "model/services/endpoints.h"

struct outcome {
    int r;
    struct object *object;
    struct faults errors, warnings;
};

static struct outcome decode(const struct document *document)
{
    struct outcome outcome = { 0 };
    const char *kind = NULL;
    outcome.r = object_decode(document, &outcome.object, &kind, &outcome.errors, &outcome.warnings);
    MUST(outcome.r == 1 || outcome.r == 0 || outcome.r == -EBADMSG);
    MUST((outcome.r == 1) == (outcome.object != NULL));
    MUST((outcome.r < 0) == !faults_none(&outcome.errors));
    MUST((outcome.r == 0) == (kind != NULL));
    return outcome;
}

static void outcome_done(struct outcome *outcome)
{
    object_free(outcome->object);
    faults_done(&outcome->errors);
    faults_done(&outcome->warnings);
}

static void check_faults(const struct faults *faults)
{
    MUST(!faults->incomplete);
    vec_each(const struct fault, fault, &faults->list)
        MUST(strncmp(fault->place, "f:", 2) == 0 && fault->message[0]);
}

static void check_written(const struct object *object)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text text = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    object_encode(object, &text);
    MUST(document_parse(text.data, text.length, "f", READER_JSON, &document, &faults) == 1);
    CLEANUP(outcome_done) struct outcome back = decode(document);
    MUST(back.object && object_equal(object, back.object));
}

static int check_slice(void *context, struct object *slice)
{
    (void)context;
    MUST(slice->kind == KIND_ENDPOINT_SLICE && slice->name[0] && slice->line > 0);
    check_written(slice);
    object_free(slice);
    return 0;
}

/* Endpoints, which become slices and no object of their own. */
static void check_endpoints(const struct document *document)
{
    AUTOFAULTS struct faults errors = { 0 }, warnings = { 0 };
    int r = endpoints_decode(document, check_slice, NULL, &errors, &warnings);
    MUST(r == 0 || r == 1 || r == -EBADMSG);
    MUST((r < 0) == !faults_none(&errors));
    check_faults(&errors);
    check_faults(&warnings);
}

static void check(const struct document *document)
{
    CLEANUP(outcome_done) struct outcome first = decode(document), second = decode(document);
    check_faults(&first.errors);
    check_faults(&first.warnings);
    MUST(first.r == second.r);
    MUST(first.errors.list.count == second.errors.list.count);
    MUST(first.warnings.list.count == second.warnings.list.count);
    if (first.r == 0)
        check_endpoints(document);
    if (!first.object)
        return;
    MUST(first.object->kind < KIND_COUNT && first.object->name[0] && first.object->line > 0);
    MUST(object_equal(first.object, second.object));
    MUST(object_key_cmp(first.object, second.object) == 0);
    MUST(object_precedence_cmp(first.object, second.object) == 0);
    check_written(first.object);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(reader_freep) struct reader *reader = NULL;
    MUST(reader_open(fuzz_file(bytes, size), "f", fuzz_format(bytes, size), &reader_limits_default,
                     &reader) == 0);
    for (;;) {
        CLEANUP(document_freep) struct document *document = NULL;
        if (reader_next(reader, &document, &faults) <= 0)
            return 0;
        check(document);
    }
}
