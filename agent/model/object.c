// SPDX-License-Identifier: Apache-2.0
/*
 * Objects: the metadata that all kinds have, and the way in; what each kind has beside it is in its
 * row (kind.h).
 *
 * An object is decoded twice. The first pass works in scratch memory, borrows strings from the
 * document, reports faults and learns how much memory the object takes; the second repeats it, in
 * silence, in an arena of just that size. Decoding costs little beside parsing, and a node keeps
 * tens of thousands of these objects for weeks.
 */
#include "model/object.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/text.h"
#include "format/quote.h"
#include "model/fields/decode.h"
#include "model/fields/fields.h"
#include "model/fields/marks.h"
#include "model/identity.h"
#include "model/kind.h"

enum { SCRATCH_SIZE = 4096 };

static const char *decode_name(struct decoder *decoder, const struct doc *metadata)
{
    const struct doc *node = decode_need(decoder, metadata, "name");
    const char *name = decode_text(decoder, node);
    if (name && !decode_is_name(name, strlen(name))) {
        decode_error(decoder, node, object_name_wrong, .max = NAME_MAX_LENGTH);
    }
    return decode_keep(decoder, name ? name : "");
}

static const char *decode_namespace(struct decoder *decoder, const struct doc *metadata)
{
    const struct doc *node = doc_get(metadata, "namespace");
    const char *namespace = decode_text(decoder, node);
    if (!namespace || !*namespace)
        return "default";
    if (!decode_is_namespace(namespace, strlen(namespace))) {
        decode_error(decoder, node, object_namespace_wrong, .max = NAMESPACE_MAX_LENGTH);
    }
    return decode_keep(decoder, namespace);
}

static int64_t decode_time(struct decoder *decoder, const struct doc *node)
{
    int64_t ms = 0;
    const char *text = decode_text(decoder, node);
    if (text && clock_parse_rfc3339(text, &ms) < 0)
        decode_error(decoder, node, object_time_unreadable, .example = "2026-11-20T07:33:00Z");
    return ms;
}

/* What YAML and JSON read as a boolean or a number where it stands without quotes. */
static bool is_plain_value(const struct doc *node)
{
    if (node->type != DOC_SCALAR || node->quoted)
        return false;
    if (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0)
        return true;
    char *end;
    (void)strtod(node->text, &end);
    return isdigit((unsigned char)node->text[strspn(node->text, "+-.")]) && *end == '\0';
}

/* As Kubernetes does: a label that is no string is a mistake, not a string of digits. */
static void check_labels(struct decoder *decoder, const struct doc *labels)
{
    doc_each(label, decode_map(decoder, labels)) {
        const char *text = decode_text(decoder, label);
        if (text && is_plain_value(label))
            decode_error(decoder, label, object_string_unquoted);
    }
}

static void decode_metadata(struct decoder *decoder, const struct doc *root, struct object *object)
{
    const struct doc *metadata = decode_map(decoder, decode_need(decoder, root, "metadata"));
    object->namespace = "";
    object->name = "";
    object->uid = object->version = "";
    if (!metadata)
        return;
    object->name = decode_name(decoder, metadata);
    if (kind_row(object->kind)->namespaced)
        object->namespace = decode_namespace(decoder, metadata);
    object->created_ms = decode_time(decoder, doc_get(metadata, "creationTimestamp"));
    decode_deletion(decoder, metadata, object);
    if (kind_row(object->kind)->identified)
        decode_identity(decoder, metadata, object);
    check_labels(decoder, doc_get(metadata, "labels"));
    marks_check(decoder, kind_name(object->kind), metadata);
}

static void decode_rest(struct decoder *decoder, const struct kind_row *row, struct object *object)
{
    const struct doc *root = decoder->document->root, *metadata = doc_get(root, "metadata");
    (void)fields_decode(decoder, doc_get(metadata, "labels"), row->labels, object);
    (void)fields_decode(decoder, doc_get(metadata, "annotations"), row->annotations, object);
    if (fields_decode(decoder, root, row->fields, object) && row->decode)
        row->decode(decoder, root, object);
}

/* One pass. NULL: no memory for the object itself. */
static struct object *decode_pass(struct decoder *decoder, enum kind kind,
                                  const struct kind_row *row)
{
    const struct document *document = decoder->document;
    struct object *object = decode_alloc(decoder, 1, row->size);
    if (!object)
        return NULL;
    uint32_t column;
    doc_where(document, document->root, &object->line, &column);
    decoder->object = object;
    object->kind = kind;
    object->arena = decoder->arena;
    object->file = decode_keep(decoder, document->file ? document->file : "");
    decode_metadata(decoder, document->root, object);
    decode_rest(decoder, row, object);
    fields_check(decoder, row);
    return object;
}

int object_decode_as(const struct document *document, enum kind kind, struct object **ret_object,
                     struct faults *errors, struct faults *warnings)
{
    return object_decode_by(document, kind, kind_row(kind), 0, ret_object, errors, warnings);
}

int object_decode_by(const struct document *document, enum kind kind, const struct kind_row *row,
                     uint32_t part, struct object **ret_object, struct faults *errors,
                     struct faults *warnings)
{
    AUTOARENA struct arena *scratch = arena_new(SCRATCH_SIZE);
    if (!scratch)
        return -ENOMEM;
    struct decoder first = {
        .document = document, .errors = errors, .warnings = warnings, .arena = scratch, .part = part
    };
    struct object *object = decode_pass(&first, kind, row);
    if (!object || first.no_memory)
        return -ENOMEM;
    if (first.error_count > 0)
        return -EBADMSG;

    AUTOARENA struct arena *arena =
        arena_new(first.array_bytes + decode_rounded(first.string_bytes));
    if (!arena)
        return -ENOMEM;
    struct decoder second = first;
    second.arena = arena;
    second.silent = true;
    second.strings = arena_alloc(arena, first.string_bytes);
    object = second.strings ? decode_pass(&second, kind, row) : NULL;
    if (!object || second.no_memory)
        return -ENOMEM;
    (void)TAKE_PTR(arena);
    *ret_object = object;
    return 1;
}

/* "apiVersion/kind" in the document's memory. */
static const char *name_foreign(const struct document *document, const char *api_version,
                                const char *kind)
{
    size_t size = strlen(api_version) + strlen(kind) + 2;
    char *name = arena_alloc(document->arena, size);
    if (name)
        snprintf(name, size, "%s/%s", api_version, kind);
    return name;
}

static void warn_of_kind(struct decoder *decoder, const struct doc *root, const char *api_version,
                         const char *name)
{
    char kind[QUOTE_LEN], version[QUOTE_LEN];
    const enum kind meant = kind_meant(api_version, name);
    const bool endpoints = meant == KIND_COUNT && kind_meant_endpoints(api_version, name);
    if (meant == KIND_COUNT && !endpoints)
        return;
    const char *wanted = endpoints ? "Endpoints" : kind_name(meant);
    const char *served = endpoints ? "v1" : kind_api_version(meant);
    decode_warning(decoder, doc_get(root, "kind"), object_kind_unread, .kind = quote(name, kind),
                   .version = quote(api_version, version), .wanted = wanted, .served = served);
}

int object_decode(const struct document *document, struct object **ret_object,
                  const char **ret_kind, struct faults *errors, struct faults *warnings)
{
    struct decoder decoder = { .document = document, .errors = errors, .warnings = warnings };
    const struct doc *root = decode_map(&decoder, document->root);
    if (!root)
        return -EBADMSG;
    const char *api_version = decode_text(&decoder, decode_need(&decoder, root, "apiVersion"));
    const char *name = decode_text(&decoder, decode_need(&decoder, root, "kind"));
    if (!api_version || !name)
        return -EBADMSG;

    enum kind kind = kind_of(api_version, name);
    if (kind < KIND_COUNT)
        return object_decode_as(document, kind, ret_object, errors, warnings);
    if (strcmp(api_version, "v1") != 0 || strcmp(name, "Endpoints") != 0) /* endpoints.h */
        warn_of_kind(&decoder, root, api_version, name);
    if (ret_kind) {
        const char *foreign = name_foreign(document, api_version, name);
        if (!foreign)
            return -ENOMEM;
        *ret_kind = foreign;
    }
    return 0;
}

static bool rest_equal(const struct kind_row *row, const struct object *a, const struct object *b)
{
    return fields_equal(row->labels, a, b) && fields_equal(row->annotations, a, b) &&
           fields_equal(row->fields, a, b);
}

bool object_equal(const struct object *a, const struct object *b)
{
    return object_key_cmp(a, b) == 0 && a->created_ms == b->created_ms && identity_equal(a, b) &&
           rest_equal(kind_row(a->kind), a, b);
}

bool object_names_fit(enum kind kind, const char *namespace, const char *name)
{
    bool fits = kind_row(kind)->namespaced ? decode_is_namespace(namespace, strlen(namespace))
                                           : *namespace == '\0';
    return fits && decode_is_name(name, strlen(name));
}

/* The number of digits decides, then the digits. */
bool object_version_is_older(const char *version, const char *than)
{
    size_t length = strlen(version), other = strlen(than);
    return length != other ? length < other : strcmp(version, than) < 0;
}

int object_key_cmp(const struct object *a, const struct object *b)
{
    int r = CMP(a->kind, b->kind);
    r = r ? r : strcmp(a->namespace, b->namespace);
    return r ? r : strcmp(a->name, b->name);
}

int object_precedence_cmp(const struct object *a, const struct object *b)
{
    int r = CMP(a->created_ms == 0, b->created_ms == 0);
    r = r ? r : CMP(a->created_ms, b->created_ms);
    return r ? r : object_key_cmp(a, b);
}

void object_free(struct object *object)
{
    if (object)
        arena_free(object->arena);
}
