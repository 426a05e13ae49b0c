/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One document value for JSON and YAML, with positions.
 *
 * A document is a tree of maps, lists and scalars. Scalars are text: `on`, `1e3` and `012` do no
 * harm, because a value is converted only where its field's type is known (doc_int, doc_bool, ...).
 * What cannot be converted is reported with its place, so that the user sees file, line and column.
 *
 * Nodes of YAML carry their position. Those of JSON do not (json-c keeps none); doc_where() finds
 * it by walking the source text along the node's path, and is only called for reports.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "faults/documents.h"
#include "faults/raise.h"

enum doc_type {
    DOC_NULL, /* JSON null; YAML's empty, ~, null, Null or NULL, unquoted */
    DOC_SCALAR,
    DOC_LIST,
    DOC_MAP,
};

struct doc {
    enum doc_type type;
    bool quoted;                   /* a JSON string, or a quoted YAML scalar */
    uint32_t line, column;         /* from 1; 0 where only doc_where() knows */
    const char *key;               /* in a map: the member's name */
    uint32_t key_line, key_column; /* YAML: where the name stands */
    const char *text;              /* DOC_SCALAR: NUL-terminated, without NUL inside */
    const struct doc *parent, *first, *next;
    uint32_t index; /* place among the siblings, from 0 */
    uint32_t count; /* DOC_LIST, DOC_MAP: children */
};

/* A tree with the memory that holds it and what is needed to name places in it. */
struct document {
    struct arena *arena;
    struct doc *root;
    const char *file;                    /* name for reports; borrowed */
    const char *source;                  /* JSON: the element's own text, else NULL */
    uint32_t source_line, source_column; /* JSON: where that text begins in the file */
};

void document_free(struct document *document);
DEFINE_CLEANUP(struct document *, document_free);

/* The member `key` of a map; NULL if there is none, or `map` is NULL or not a map, or it is null.
 */
const struct doc *doc_get(const struct doc *map, const char *key);

/* Every child of a list or map; `container` may be NULL. */
#define doc_each(it, container) \
    for (const struct doc *it = (container) ? (container)->first : NULL; it; it = it->next)

/* Where a node stands in its file. Both from 1. */
void doc_where(const struct document *document, const struct doc *node, uint32_t *ret_line,
               uint32_t *ret_column);

/* "spec.ports[0].port": the node's path, in a string that the caller frees, or NULL. */
char *doc_path(const struct doc *node);

/*
 * Raises a fault of the catalogue at the node, or at the document's beginning:
 *
 *   doc_raise(document, node, faults, document_number_out_of_range, .number = text, .max = 7);
 *
 * The place is "file:line:column". The row's first argument is KEY(path), the node's path, which is
 * filled in here.
 */
#define doc_raise(document, node, faults, id, ...)           \
    doc_raise_type(document, node, faults, &fault_type_##id, \
                   &(struct fault_##id){ .path = NULL, __VA_ARGS__ })

/* The same about a member's name: at its place, with the path of the map that has it. */
#define doc_raise_key(document, member, faults, id, ...)           \
    doc_raise_key_type(document, member, faults, &fault_type_##id, \
                       &(struct fault_##id){ .path = NULL, __VA_ARGS__ })

/* The same for a type that is known at run time only; its path is set in `arguments`. */
void doc_raise_type(const struct document *document, const struct doc *node, struct faults *faults,
                    const struct fault_type *type, void *arguments);
void doc_raise_key_type(const struct document *document, const struct doc *member,
                        struct faults *faults, const struct fault_type *type, void *arguments);

/*
 * Conversions for one field. Each returns 1 if `node` held a good value, 0 if `node` is NULL or
 * null (`*ret` is untouched), and -EBADMSG after it added a fault saying what was expected.
 */
int doc_string(const struct document *document, const struct doc *node, const char **ret,
               struct faults *faults); /* any scalar; borrowed from the document */
int doc_bool(const struct document *document, const struct doc *node, bool *ret,
             struct faults *faults);
int doc_int(const struct document *document, const struct doc *node, int64_t min, int64_t max,
            int64_t *ret, struct faults *faults);
/* Checks that a node is of this type; for lists and maps that are then walked. */
int doc_expect(const struct document *document, const struct doc *node, enum doc_type type,
               struct faults *faults);
