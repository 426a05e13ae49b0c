// SPDX-License-Identifier: Apache-2.0
/*
 * Events to a tree, with what libyaml lacks: limits of depth, size and number of nodes, and the
 * refusal of what makes a file mean more than it says (anchors, aliases, tags, merge keys, maps as
 * keys, duplicate keys). Aliases are never expanded, so a small file stays a small tree.
 *
 * Open maps and lists are frames on a stack, not calls: no recursion. Keys of open maps lie on a
 * second stack; when a map ends, its own are sorted and neighbours compared.
 */
#include "format/yaml_build.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/quote.h"

void yaml_build_reset(struct yaml_build *build)
{
    if (build->document)
        document_free(build->document);
    build->document = NULL;
    vec_clear(&build->open);
    vec_clear(&build->keys);
    build->bytes = build->nodes = 0;
}

void yaml_build_done(struct yaml_build *build)
{
    yaml_build_reset(build);
    vec_done(&build->open);
    vec_done(&build->keys);
}

static struct yaml_frame *innermost(struct yaml_build *build)
{
    return build->open.count ? &build->open.items[build->open.count - 1] : NULL;
}

static int new_document(struct yaml_build *build, struct place place)
{
    CLEANUP(document_freep) struct document *document = calloc(1, sizeof(*document));
    if (!document || !(document->arena = arena_new(4096)))
        return -ENOMEM;
    document->file = build->file;
    document->source_line = place.line;
    document->source_column = place.column;
    build->document = TAKE_PTR(document);
    return 0;
}

static int count_node(struct yaml_build *build, size_t bytes, struct place place,
                      struct faults *faults)
{
    build->bytes += bytes;
    build->nodes++;
    if (build->bytes > build->limits.document_bytes)
        return place_fault(place, build->file, faults,
                           "the document holds more than %" PRIu64 " bytes",
                           build->limits.document_bytes);
    if (build->nodes > reader_max_nodes(&build->limits))
        return place_fault(place, build->file, faults,
                           "the document has more than %" PRIu64 " parts",
                           reader_max_nodes(&build->limits));
    return 0;
}

/* A new node as the next child of the innermost frame, or as the root. */
static int add_node(struct yaml_build *build, enum doc_type type, struct place place,
                    struct doc **ret_node)
{
    if (!build->document) {
        int r = new_document(build, place);
        if (r < 0)
            return r;
    }
    struct doc *node = arena_alloc(build->document->arena, sizeof(*node));
    if (!node)
        return -ENOMEM;
    node->type = type;
    node->line = place.line;
    node->column = place.column;

    struct yaml_frame *frame = innermost(build);
    if (!frame) {
        build->document->root = node;
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

static bool key_comes(struct yaml_build *build)
{
    struct yaml_frame *frame = innermost(build);
    return frame && frame->node->type == DOC_MAP && !frame->key;
}

static int open_container(struct yaml_build *build, enum doc_type type, struct place place,
                          struct faults *faults)
{
    if (key_comes(build))
        return place_fault(place, build->file, faults, "a map or list can't be a key");
    if (build->open.count >= build->limits.depth)
        return place_fault(place, build->file, faults, "nested deeper than %u levels",
                           build->limits.depth);
    int r = count_node(build, 0, place, faults);
    if (r < 0)
        return r;
    struct yaml_frame frame = { .first_key = build->keys.count };
    r = add_node(build, type, place, &frame.node);
    return r < 0 ? r : vec_push(&build->open, frame);
}

static int yaml_key_cmp(const void *a, const void *b)
{
    const struct yaml_key *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    if (order == 0)
        order = CMP(left->place.line, right->place.line);
    return order ? order : CMP(left->place.column, right->place.column);
}

static int check_keys(struct yaml_build *build, struct yaml_key *keys, size_t count,
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
    return place_fault(twice->place, build->file, faults, "the key %s is here twice",
                       quote(twice->name, name));
}

static int close_container(struct yaml_build *build, struct faults *faults)
{
    struct yaml_frame *frame = innermost(build);
    if (!frame)
        return -EINVAL;
    size_t count = build->keys.count - frame->first_key;
    int r = 0;
    if (count > 0)
        r = check_keys(build, build->keys.items + frame->first_key, count, faults);
    if (r < 0)
        return r;
    build->keys.count = frame->first_key;
    build->open.count--;
    return build->open.count == 0;
}

static bool is_null(const char *text)
{
    return strcmp(text, "") == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0 ||
           strcmp(text, "Null") == 0 || strcmp(text, "NULL") == 0;
}

static int add_key(struct yaml_build *build, const char *text, bool quoted, struct place place,
                   struct faults *faults)
{
    if (!quoted && strcmp(text, "<<") == 0)
        return place_fault(place, build->file, faults, "merge keys (<<) are not supported");
    if (!quoted && *text == '\0')
        return place_fault(place, build->file, faults, "a key is missing");
    struct yaml_key key = { arena_strdup(build->document->arena, text), place };
    if (!key.name || vec_push(&build->keys, key) < 0)
        return -ENOMEM;
    innermost(build)->key = key.name;
    innermost(build)->key_place = place;
    return 0;
}

static int add_scalar(struct yaml_build *build, const yaml_event_t *event, struct faults *faults)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    bool quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    struct place place = yaml_place(event->start_mark);

    if (memchr(text, '\0', length))
        return place_fault(place, build->file, faults, "\\0 is not allowed in a string");
    bool is_key = key_comes(build);
    int r = count_node(build, length, place, faults);
    if (r < 0)
        return r;
    if (is_key)
        return add_key(build, text, quoted, place, faults);

    struct doc *node;
    r = add_node(build, !quoted && is_null(text) ? DOC_NULL : DOC_SCALAR, place, &node);
    if (r < 0)
        return r;
    node->quoted = quoted;
    node->text = arena_strndup(build->document->arena, text, length);
    if (!node->text)
        return -ENOMEM;
    return build->open.count == 0;
}

/* Refuses an anchor or a tag. */
static int check_properties(struct yaml_build *build, const yaml_char_t *anchor,
                            const yaml_char_t *tag, const yaml_event_t *event,
                            struct faults *faults)
{
    char name[QUOTE_LEN];
    if (anchor)
        return place_fault(yaml_place(event->start_mark), build->file, faults,
                           "anchors and aliases are not supported (here %s)",
                           quote((const char *)anchor, name));
    if (tag)
        return place_fault(yaml_place(event->start_mark), build->file, faults,
                           "tags are not supported (here %s)", quote((const char *)tag, name));
    return 0;
}

int yaml_build_event(struct yaml_build *build, const yaml_event_t *event, struct faults *faults)
{
    struct place place = yaml_place(event->start_mark);
    int r = 0;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        r = check_properties(build, event->data.scalar.anchor, event->data.scalar.tag, event,
                             faults);
        return r < 0 ? r : add_scalar(build, event, faults);
    case YAML_SEQUENCE_START_EVENT:
        r = check_properties(build, event->data.sequence_start.anchor,
                             event->data.sequence_start.tag, event, faults);
        return r < 0 ? r : open_container(build, DOC_LIST, place, faults);
    case YAML_MAPPING_START_EVENT:
        r = check_properties(build, event->data.mapping_start.anchor, event->data.mapping_start.tag,
                             event, faults);
        return r < 0 ? r : open_container(build, DOC_MAP, place, faults);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_container(build, faults);
    case YAML_ALIAS_EVENT:
        return check_properties(build, event->data.alias.anchor, NULL, event, faults);
    default:
        return -EINVAL;
    }
}

bool yaml_build_at_items(const struct yaml_build *build)
{
    if (build->open.count != 1)
        return false;
    const struct yaml_frame *frame = &build->open.items[0];
    return frame->key && strcmp(frame->key, "items") == 0;
}

int yaml_build_cut(struct yaml_build *build, const yaml_event_t *event, struct faults *faults)
{
    int r = check_properties(build, event->data.sequence_start.anchor,
                             event->data.sequence_start.tag, event, faults);
    struct doc *node;
    return r < 0 ? r : add_node(build, DOC_LIST, yaml_place(event->start_mark), &node);
}
