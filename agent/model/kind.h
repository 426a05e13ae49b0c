/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kind of object is, as one row: its names, and how one is read from a document, compared,
 * and written back. Each kind's own file ends with its row; KINDS in object.h lists them.
 * Private to model/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "format/json.h"
#include "model/fields/field.h"
#include "model/object.h"

struct kind_row {
    const char *api_version, *name; /* "discovery.k8s.io/v1", "EndpointSlice" */
    bool namespaced;
    bool api_only;   /* made by a program, and none of the kinds that manifests are read for */
    bool identified; /* its uid, version, owners and finalizers are kept */
    size_t size;     /* of its structure, which begins with a struct object */

    /* What it has in metadata's maps, and beside metadata (field.h); NULL: nothing. */
    const struct field *labels, *annotations, *fields;

    /* Beside the tables, and behind them; NULL: nothing. */
    /* Reads what the kind has beside metadata. The object is zeroed; see decode.h for errors. */
    void (*decode)(struct decoder *decoder, const struct doc *root, struct object *object);
    /* Whether two objects of one key say the same of it. */
    bool (*equal)(const struct object *a, const struct object *b);
    /* Write what decode reads: within `metadata`, and beside it. */
    void (*encode_metadata)(const struct object *object, struct json *json);
    void (*encode_rest)(const struct object *object, struct json *json);
};

#define KIND_ROW(constant, row) extern const struct kind_row row;
KINDS(KIND_ROW)
#undef KIND_ROW

const struct kind_row *kind_row(enum kind kind);

/*
 * As object_decode_as(), by a row that is none of the table's: a document that becomes an object of
 * another kind. `part` is for the row's decode(), in the decoder.
 */
int object_decode_by(const struct document *document, enum kind kind, const struct kind_row *row,
                     uint32_t part, struct object **ret_object, struct faults *errors,
                     struct faults *warnings);
