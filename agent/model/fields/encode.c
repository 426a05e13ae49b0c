// SPDX-License-Identifier: Apache-2.0
/*
 * Objects as JSON: what all have; what each kind has beside it is written by its tables (kind.h). A
 * field is written as its decoder reads it; what the decoder takes as the default is left out,
 * since the store's copy has tens of thousands of these lines. Conditions of endpoints are written
 * in any case, because one is the default of another.
 */
#include "model/fields/encode.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "format/reader.h"
#include "model/fields/encode_member.h"
#include "model/identity.h"
#include "model/kind.h"

/* With milliseconds: who is older decides whose an address is. */
static void encode_time(struct json *json, const char *key, int64_t wall_ms)
{
    int ms = (int)(wall_ms % SECOND_MS);
    ms += ms < 0 ? (int)SECOND_MS : 0;
    time_t seconds = (time_t)((wall_ms - ms) / SECOND_MS);
    struct tm tm = { 0 };
    (void)gmtime_r(&seconds, &tm);
    json_stringf(json, key, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, ms);
}

static void encode_metadata(const struct object *object, struct json *json)
{
    const struct kind_row *row = kind_row(object->kind);
    json_begin_object(json, "metadata");
    json_string(json, "name", object->name);
    encode_text(json, "namespace", object->namespace);
    if (object->created_ms)
        encode_time(json, "creationTimestamp", object->created_ms);
    if (object->deleting && object->deleting_ms)
        encode_time(json, "deletionTimestamp", object->deleting_ms);
    else if (object->deleting) /* one that can't be read: only that it is there is kept */
        json_string(json, "deletionTimestamp", "");
    encode_identity(json, object);
    fields_encode_map(json, "labels", row->labels, false, object);
    fields_encode_map(json, "annotations", row->annotations, false, object);
    json_end_object(json);
}

void object_encode(const struct object *object, struct text *out)
{
    struct json json = { .out = out };
    const struct kind_row *row = kind_row(object->kind);
    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", kind_api_version(object->kind));
    json_string(&json, "kind", kind_name(object->kind));
    encode_metadata(object, &json);
    fields_encode(&json, row->fields, object);
    json_end_object(&json);
}

int object_copy(const struct object *object, struct object **ret_object)
{
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults errors = { 0 }, warnings = { 0 };
    AUTOTEXT struct text text = { 0 };
    object_encode(object, &text);
    if (text_error(&text) < 0)
        return -ENOMEM;
    if (document_parse(text_str(&text), text.length, object->file, READER_JSON, &document,
                       &errors) != 1)
        return -ENOMEM;
    int r = object_decode_as(document, object->kind, ret_object, &errors, &warnings);
    if (r != 1)
        return -ENOMEM;
    (*ret_object)->line = object->line;
    return 0;
}
