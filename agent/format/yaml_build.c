// SPDX-License-Identifier: Apache-2.0
/*
 * Events to a tree, with what libyaml lacks: limits of depth, size and number of nodes, aliases and
 * merge keys (yaml_alias.c), and the refusal of what makes a file mean more than it says (tags,
 * maps as keys, duplicate keys).
 *
 * Open maps and lists are frames on a stack, not calls: no recursion. Keys of open maps lie on a
 * second stack; when a map ends, its own are sorted and neighbours compared.
 */
#include "format/yaml_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "faults/documents.h"
#include "faults/syntax.h"
#include "format/quote.h"
#include "format/yaml_alias.h"

void yaml_build_reset(struct yaml_tree *tree)
{
    if (tree->document)
        document_free(tree->document);
    tree->document = NULL;
    vec_clear(&tree->open);
    vec_clear(&tree->keys);
    vec_clear(&tree->merges);
    yaml_anchors_clear(tree);
    tree->bytes = tree->nodes = 0;
    tree->copied = 0;
}

void yaml_build_done(struct yaml_tree *tree)
{
    yaml_build_reset(tree);
    vec_done(&tree->open);
    vec_done(&tree->keys);
    vec_done(&tree->merges);
    vec_done(&tree->anchors);
}

static bool key_comes(struct yaml_tree *tree)
{
    struct yaml_frame *frame = yaml_tree_innermost(tree);
    return frame && frame->node->type == DOC_MAP && !frame->key;
}

static int open_container(struct yaml_tree *tree, enum doc_type type, struct place place,
                          struct faults *faults)
{
    if (key_comes(tree))
        return place_raise(place, tree->file, faults, yaml_key_wrong);
    if (tree->open.count >= tree->limits.depth)
        return place_raise(place, tree->file, faults, document_too_deep,
                           .limit = tree->limits.depth);
    int r = yaml_tree_count(tree, 0, place, faults);
    if (r < 0)
        return r;
    struct yaml_frame frame = { .first_key = tree->keys.count };
    r = yaml_tree_add(tree, type, place, &frame.node);
    return r < 0 ? r : vec_push(&tree->open, frame);
}

static int yaml_key_cmp(const void *a, const void *b)
{
    const struct yaml_key *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    if (order == 0)
        order = CMP(left->place.line, right->place.line);
    return order ? order : CMP(left->place.column, right->place.column);
}

static int check_keys(struct yaml_tree *tree, struct yaml_key *keys, size_t count,
                      struct faults *faults)
{
    const struct yaml_key *twice = NULL;
    if (count > 1)
        qsort(keys, count, sizeof(*keys), yaml_key_cmp);
    for (size_t i = 1; i < count; i++) {
        const struct yaml_key *key = &keys[i];
        bool same = strcmp(key[-1].name, key->name) == 0;
        if (same &&
            (!twice || key->place.line < twice->place.line ||
             (key->place.line == twice->place.line && key->place.column < twice->place.column)))
            twice = key;
    }
    if (!twice)
        return 0;
    char name[QUOTE_LEN];
    return place_raise(twice->place, tree->file, faults, syntax_key_twice,
                       .key = quote(twice->name, name));
}

static int close_container(struct yaml_tree *tree, struct faults *faults)
{
    struct yaml_frame *frame = yaml_tree_innermost(tree);
    if (!frame)
        return -EINVAL;
    size_t first = frame->first_key, count = tree->keys.count - first;
    int r = 0;
    if (count > 0)
        r = check_keys(tree, tree->keys.items + first, count, faults);
    if (r < 0)
        return r;
    r = yaml_merge_apply(tree, faults);
    if (r < 0)
        return r;
    tree->keys.count = first;
    tree->open.count--;
    return tree->open.count == 0;
}

static bool is_null(const char *text)
{
    return strcmp(text, "") == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0 ||
           strcmp(text, "Null") == 0 || strcmp(text, "NULL") == 0;
}

static int add_key(struct yaml_tree *tree, const char *text, bool quoted, struct place place,
                   struct faults *faults)
{
    if (!quoted && strcmp(text, "<<") == 0) {
        yaml_tree_innermost(tree)->merge = YAML_MERGE_VALUE;
        return 0;
    }
    if (!quoted && *text == '\0')
        return place_raise(place, tree->file, faults, yaml_key_missing);
    struct yaml_key key = { arena_strdup(tree->document->arena, text), place };
    if (!key.name || vec_push(&tree->keys, key) < 0)
        return -ENOMEM;
    yaml_tree_innermost(tree)->key = key.name;
    yaml_tree_innermost(tree)->key_place = place;
    return 0;
}

static int add_scalar(struct yaml_tree *tree, const yaml_event_t *event, struct faults *faults)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    bool quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    struct place place = yaml_place(event->start_mark);

    if (memchr(text, '\0', length))
        return place_raise(place, tree->file, faults, yaml_nul);
    bool is_key = key_comes(tree);
    int r = yaml_tree_count(tree, length, place, faults);
    if (r < 0)
        return r;
    if (is_key)
        return add_key(tree, text, quoted, place, faults);

    struct doc *node;
    r = yaml_tree_add(tree, !quoted && is_null(text) ? DOC_NULL : DOC_SCALAR, place, &node);
    if (r < 0)
        return r;
    node->quoted = quoted;
    node->text = arena_strndup(tree->document->arena, text, length);
    if (!node->text)
        return -ENOMEM;
    return tree->open.count == 0;
}

/* What stands before a value. */
struct properties {
    const yaml_char_t *anchor, *tag;
};

static struct properties properties_of(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return (struct properties){ event->data.scalar.anchor, event->data.scalar.tag };
    case YAML_SEQUENCE_START_EVENT:
        return (struct properties){ event->data.sequence_start.anchor,
                                    event->data.sequence_start.tag };
    case YAML_MAPPING_START_EVENT:
        return (struct properties){ event->data.mapping_start.anchor,
                                    event->data.mapping_start.tag };
    default:
        return (struct properties){ 0 };
    }
}

/* Refuses a tag, and an anchor or alias where a key is. */
static int check_properties(struct yaml_tree *tree, const yaml_event_t *event,
                            struct faults *faults)
{
    char name[QUOTE_LEN];
    const struct place place = yaml_place(event->start_mark);
    const struct properties has = properties_of(event);
    if (has.tag)
        return place_raise(place, tree->file, faults, yaml_tag_unsupported,
                           .tag = quote((const char *)has.tag, name));
    if (key_comes(tree) && (has.anchor || event->type == YAML_ALIAS_EVENT))
        return place_raise(place, tree->file, faults, yaml_key_anchored);
    return 0;
}

/* The node that was begun last. */
static const struct doc *newest(struct yaml_tree *tree, const yaml_event_t *event)
{
    struct yaml_frame *frame = yaml_tree_innermost(tree);
    if (!frame)
        return tree->document->root;
    return event->type == YAML_SCALAR_EVENT ? frame->last : frame->node;
}

static int take(struct yaml_tree *tree, const yaml_event_t *event, struct faults *faults)
{
    const struct place place = yaml_place(event->start_mark);
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return add_scalar(tree, event, faults);
    case YAML_SEQUENCE_START_EVENT:
        return open_container(tree, DOC_LIST, place, faults);
    case YAML_MAPPING_START_EVENT:
        return open_container(tree, DOC_MAP, place, faults);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_container(tree, faults);
    case YAML_ALIAS_EVENT:
        return yaml_alias_put(tree, (const char *)event->data.alias.anchor, place, faults);
    default:
        return -EINVAL;
    }
}

int yaml_build_event(struct yaml_tree *tree, const yaml_event_t *event, struct faults *faults)
{
    const struct properties has = properties_of(event);
    struct yaml_frame *frame = yaml_tree_innermost(tree);
    if (frame && frame->merge != YAML_MERGE_NONE)
        return yaml_merge_event(tree, event, faults);
    int r = check_properties(tree, event, faults);
    if (r < 0)
        return r;
    r = take(tree, event, faults);
    if (r < 0 || !has.anchor)
        return r;
    int added = yaml_anchor_add(tree, (const char *)has.anchor, newest(tree, event),
                                yaml_place(event->start_mark), faults);
    return added < 0 ? added : r;
}

bool yaml_build_at_items(const struct yaml_tree *tree)
{
    if (tree->open.count != 1)
        return false;
    const struct yaml_frame *frame = &tree->open.items[0];
    return frame->key && strcmp(frame->key, "items") == 0;
}

int yaml_build_cut(struct yaml_tree *tree, const yaml_event_t *event, struct faults *faults)
{
    struct doc *node;
    int r = check_properties(tree, event, faults);
    if (r < 0)
        return r;
    if (event->data.sequence_start.anchor)
        return place_raise(yaml_place(event->start_mark), tree->file, faults, yaml_items_anchored);
    return yaml_tree_add(tree, DOC_LIST, yaml_place(event->start_mark), &node);
}
