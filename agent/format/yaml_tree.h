/* SPDX-License-Identifier: Apache-2.0 */
/* A document that is being built of YAML's parts: the nodes so far, and what is open of it.
 * Internal to format/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <yaml.h>

#include "base/fault.h"
#include "base/vec.h"
#include "format/doc.h"
#include "format/place.h"
#include "format/reader.h"

struct yaml_key {
    const char *name;
    struct place place;
};

/* A name for a node, from "&name". */
struct yaml_anchor {
    char *name;
    const struct doc *node;
};

/* A map that a merge key names, to be added when its map ends. */
struct yaml_merge {
    size_t depth; /* of the map: maps and lists that are open in it */
    const struct doc *from;
    struct place place;
};

/* What comes next in a map behind a merge key. */
enum yaml_merging { YAML_MERGE_NONE, YAML_MERGE_VALUE, YAML_MERGE_LIST };

/* An open map or list. */
struct yaml_frame {
    struct doc *node, *last;
    const char *key; /* whose value comes next; NULL: a key comes next */
    struct place key_place;
    size_t first_key; /* of this map, in yaml_tree.keys */
    enum yaml_merging merge;
};

struct yaml_tree {
    const char *file; /* borrowed */
    struct reader_limits limits;
    struct document *document;
    VEC(struct yaml_frame) open;
    VEC(struct yaml_key) keys; /* of all open maps */
    VEC(struct yaml_anchor) anchors;
    VEC(struct yaml_merge) merges;     /* of all open maps */
    const struct yaml_tree *enclosing; /* whose anchors hold here, too; or NULL */
    uint64_t bytes, nodes;
    uint32_t copied; /* parts that aliases and merge keys stand for */
};

static inline struct place yaml_place(yaml_mark_t mark)
{
    return (struct place){ (uint32_t)mark.line + 1, (uint32_t)mark.column + 1 };
}

/* Counts a part of the document, with the bytes of its text, towards the limits. Returns 0, or
 * -EBADMSG after adding a fault. */
int yaml_tree_count(struct yaml_tree *tree, size_t bytes, struct place place,
                    struct faults *faults);
/* A new node as the next child of the innermost frame, or as the root. Returns 0 or -ENOMEM. */
int yaml_tree_add(struct yaml_tree *tree, enum doc_type type, struct place place,
                  struct doc **ret_node);
struct yaml_frame *yaml_tree_innermost(struct yaml_tree *tree);
/* The next child of the innermost frame, if that is a map, is called as this one. */
int yaml_tree_name(struct yaml_tree *tree, const struct doc *member);
