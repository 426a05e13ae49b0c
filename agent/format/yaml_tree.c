// SPDX-License-Identifier: Apache-2.0
/*
 * A document in the making; see yaml_tree.h. Open maps and lists are frames on a stack, not calls.
 * Each part is counted before it is added, so that no document is larger than the limits allow,
 * whatever it is made of.
 */
#include "format/yaml_tree.h"
#include "faults/syntax.h"

#include <errno.h>
#include <stdlib.h>

struct yaml_frame *yaml_tree_innermost(struct yaml_tree *tree)
{
    return tree->open.count ? &tree->open.items[tree->open.count - 1] : NULL;
}

static int new_document(struct yaml_tree *tree, struct place place)
{
    CLEANUP(document_freep) struct document *document = calloc(1, sizeof(*document));
    if (!document || !(document->arena = arena_new(4096)))
        return -ENOMEM;
    document->file = tree->file;
    document->source_line = place.line;
    document->source_column = place.column;
    tree->document = TAKE_PTR(document);
    return 0;
}

int yaml_tree_count(struct yaml_tree *tree, size_t bytes, struct place place, struct faults *faults)
{
    tree->bytes += bytes;
    tree->nodes++;
    if (tree->bytes > tree->limits.document_bytes)
        return place_raise(place, tree->file, faults, yaml_document_too_long,
                           .limit = (int64_t)tree->limits.document_bytes);
    if (tree->nodes > reader_max_nodes(&tree->limits))
        return place_raise(place, tree->file, faults, yaml_document_too_complex,
                           .limit = (int64_t)reader_max_nodes(&tree->limits));
    return 0;
}

int yaml_tree_add(struct yaml_tree *tree, enum doc_type type, struct place place,
                  struct doc **ret_node)
{
    if (!tree->document) {
        int r = new_document(tree, place);
        if (r < 0)
            return r;
    }
    struct doc *node = arena_alloc(tree->document->arena, sizeof(*node));
    if (!node)
        return -ENOMEM;
    node->type = type;
    node->line = place.line;
    node->column = place.column;

    struct yaml_frame *frame = yaml_tree_innermost(tree);
    if (!frame) {
        tree->document->root = node;
    } else {
        node->parent = frame->node;
        if (frame->key) {
            node->key = TAKE_PTR(frame->key);
            node->key_line = frame->key_place.line;
            node->key_column = frame->key_place.column;
        }
        node->index = frame->node->count++;
        if (frame->last)
            frame->last->next = node;
        else
            frame->node->first = node;
        frame->last = node;
    }
    *ret_node = node;
    return 0;
}

int yaml_tree_name(struct yaml_tree *tree, const struct doc *member)
{
    struct yaml_frame *frame = yaml_tree_innermost(tree);
    if (!frame || frame->node->type != DOC_MAP)
        return 0;
    frame->key = arena_strdup(tree->document->arena, member->key);
    frame->key_place = (struct place){ member->key_line, member->key_column };
    return frame->key ? 0 : -ENOMEM;
}
