// SPDX-License-Identifier: Apache-2.0
/*
 * Anchors, aliases and merge keys, as kubectl reads them; see yaml_alias.h.
 *
 * An alias becomes a copy of what its anchor stands before, so that whoever walks a document knows
 * nothing of it. A copy keeps the place of what it was made of: there a fault is to be mended. Each
 * part of a copy counts towards the limits of the document and towards one of its own, and so does
 * each member that a merge key looks at: ten lines of aliases of aliases are refused before they
 * have become large.
 *
 * An anchor holds for its document. The items of a list are documents of their own, which are freed
 * one by one: they may use anchors of what stands before the list, and of themselves.
 */
#include "format/yaml_alias.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "faults/documents.h"
#include "faults/syntax.h"
#include "format/quote.h"

enum { ANCHORS_MAX = 1000, COPIED_MAX = 65536 };

static struct yaml_anchor *find(const struct yaml_tree *tree, const char *name)
{
    vec_each(struct yaml_anchor, anchor, &tree->anchors) {
        if (strcmp(anchor->name, name) == 0)
            return anchor;
    }
    return NULL;
}

int yaml_anchor_add(struct yaml_tree *tree, const char *name, const struct doc *node,
                    struct place place, struct faults *faults)
{
    struct yaml_anchor *anchor = find(tree, name);
    if (anchor) {
        anchor->node = node;
        return 0;
    }
    if (tree->anchors.count == ANCHORS_MAX)
        return place_raise(place, tree->file, faults, yaml_anchors_too_many, .limit = ANCHORS_MAX);
    struct yaml_anchor fresh = { strdup(name), node };
    int r = fresh.name ? vec_push(&tree->anchors, fresh) : -ENOMEM;
    if (r < 0)
        free(fresh.name);
    return r;
}

void yaml_anchors_clear(struct yaml_tree *tree)
{
    vec_each(struct yaml_anchor, anchor, &tree->anchors)
        free(anchor->name);
    vec_clear(&tree->anchors);
}

static bool is_open(const struct yaml_tree *tree, const struct doc *node)
{
    vec_each(const struct yaml_frame, frame, &tree->open) {
        if (frame->node == node)
            return true;
    }
    return false;
}

/* What an alias names. */
static int resolve(const struct yaml_tree *tree, const char *name, struct place place,
                   const struct doc **ret_node, struct faults *faults)
{
    char text[QUOTE_LEN];
    const struct yaml_anchor *anchor = find(tree, name);
    if (!anchor && tree->enclosing)
        anchor = find(tree->enclosing, name);
    if (!anchor)
        return place_raise(place, tree->file, faults, yaml_alias_unknown,
                           .alias = quote(name, text), .scope = tree->enclosing ? "item" : "");
    if (is_open(tree, anchor->node) || (tree->enclosing && is_open(tree->enclosing, anchor->node)))
        return place_raise(place, tree->file, faults, yaml_alias_endless,
                           .alias = quote(name, text));
    *ret_node = anchor->node;
    return 0;
}

static int count(struct yaml_tree *tree, size_t bytes, struct place place, struct faults *faults)
{
    if (tree->copied++ >= COPIED_MAX)
        return place_raise(place, tree->file, faults, yaml_aliases_too_large, .limit = COPIED_MAX);
    return yaml_tree_count(tree, bytes, place, faults);
}

/* A copy as the next child of the innermost frame, or as the root. */
static int copy(struct yaml_tree *tree, const struct doc *from, struct place place,
                struct faults *faults)
{
    struct doc *node;
    const size_t length = from->text ? strlen(from->text) : 0;
    int r = count(tree, length, place, faults);
    if (r < 0)
        return r;
    r = yaml_tree_add(tree, from->type, (struct place){ from->line, from->column }, &node);
    if (r < 0)
        return r;
    node->quoted = from->quoted;
    if (from->text && !(node->text = arena_strndup(tree->document->arena, from->text, length)))
        return -ENOMEM;
    if (from->type != DOC_LIST && from->type != DOC_MAP)
        return 0;
    if (tree->open.count >= tree->limits.depth)
        return place_raise(place, tree->file, faults, document_too_deep,
                           .limit = tree->limits.depth);
    r = vec_push(&tree->open, (struct yaml_frame){ .node = node, .first_key = tree->keys.count });
    if (r < 0)
        return r;
    doc_each(child, from) {
        r = yaml_tree_name(tree, child);
        if (r < 0)
            return r;
        r = copy(tree, child, place, faults);
        if (r < 0)
            return r;
    }
    tree->open.count--;
    return 0;
}

int yaml_alias_put(struct yaml_tree *tree, const char *name, struct place place,
                   struct faults *faults)
{
    const struct doc *node;
    int r = resolve(tree, name, place, &node, faults);
    if (r < 0)
        return r;
    r = copy(tree, node, place, faults);
    return r < 0 ? r : tree->open.count == 0;
}

/* ---- merge keys ---- */

static int add_merge(struct yaml_tree *tree, const char *name, struct place place,
                     struct faults *faults)
{
    char text[QUOTE_LEN];
    struct yaml_merge merge = { .depth = tree->open.count, .place = place };
    int r = resolve(tree, name, place, &merge.from, faults);
    if (r < 0)
        return r;
    if (merge.from->type != DOC_MAP)
        return place_raise(place, tree->file, faults, yaml_merge_no_map,
                           .alias = quote(name, text));
    return vec_push(&tree->merges, merge);
}

int yaml_merge_event(struct yaml_tree *tree, const yaml_event_t *event, struct faults *faults)
{
    struct yaml_frame *frame = &tree->open.items[tree->open.count - 1];
    const struct place place = yaml_place(event->start_mark);
    if (event->type == YAML_SEQUENCE_START_EVENT && frame->merge == YAML_MERGE_VALUE) {
        frame->merge = YAML_MERGE_LIST;
        return 0;
    }
    if (event->type == YAML_SEQUENCE_END_EVENT) {
        frame->merge = YAML_MERGE_NONE;
        return 0;
    }
    if (event->type != YAML_ALIAS_EVENT)
        return place_raise(place, tree->file, faults, yaml_merge_no_alias);
    if (frame->merge == YAML_MERGE_VALUE)
        frame->merge = YAML_MERGE_NONE;
    return add_merge(tree, (const char *)event->data.alias.anchor, place, faults);
}

static int name_cmp(const void *a, const void *b)
{
    return strcmp(((const struct yaml_key *)a)->name, ((const struct yaml_key *)b)->name);
}

/* Adds the members whose names are not among the map's sorted keys. */
static int merge_one(struct yaml_tree *tree, const struct yaml_merge *merge, struct faults *faults)
{
    const size_t first = tree->open.items[tree->open.count - 1].first_key;
    const size_t keys = tree->keys.count - first;
    doc_each(child, merge->from) {
        const struct yaml_key wanted = { .name = child->key };
        int r = count(tree, 0, merge->place, faults);
        if (r < 0)
            return r;
        if (keys && bsearch(&wanted, tree->keys.items + first, keys, sizeof(wanted), name_cmp))
            continue;
        r = yaml_tree_name(tree, child);
        if (r < 0)
            return r;
        r = copy(tree, child, merge->place, faults);
        if (r < 0)
            return r;
        r = vec_push(&tree->keys, wanted);
        if (r < 0)
            return r;
    }
    if (tree->keys.count > first)
        qsort(tree->keys.items + first, tree->keys.count - first, sizeof(struct yaml_key),
              name_cmp);
    return 0;
}

int yaml_merge_apply(struct yaml_tree *tree, struct faults *faults)
{
    size_t first = tree->merges.count;
    while (first > 0 && tree->merges.items[first - 1].depth == tree->open.count)
        first--;
    for (size_t i = first; i < tree->merges.count; i++) {
        int r = merge_one(tree, &tree->merges.items[i], faults);
        if (r < 0)
            return r;
    }
    tree->merges.count = first;
    return 0;
}
