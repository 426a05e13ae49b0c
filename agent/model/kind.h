/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kind of object is, as one row: its names, and the tables of fields by which one is read
 * from a document, compared, and written back. The object is zeroed before. Each kind's own file
 * ends with its row; KINDS in object.h lists them. Private to model/.
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

    /* Reads what no table can, after the tables; the object was zeroed before them. See decode.h
     * for errors. NULL: nothing. */
    void (*decode)(struct decoder *decoder, const struct doc *root, struct object *object);
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
