// SPDX-License-Identifier: Apache-2.0
/*
 * From JSON text to a document: json-c (0.16, strict) parses it, json_text.c takes the second look
 * that json-c needs, and the tree is copied into the document's arena, so that nothing of json-c
 * leaves this file.
 *
 * Tree and text are walked in step: the n-th object of one is the n-th of the other as long as no
 * object has a key twice. The first object that does is recognized when it is reached, because
 * json-c has fewer members than are written. Only then its keys are compared.
 *
 * The recursion is as deep as the text nests, which json-c limits first.
 */
#include "format/json_value.h"

#include <errno.h>
#include <json-c/json_object.h>
#include <json-c/json_tokener.h>
#include <json-c/linkhash.h>
#include <stdlib.h>
#include <string.h>

#include "faults/syntax.h"
#include "format/json_text.h"
#include "format/quote.h"

DEFINE_CLEANUP(struct json_tokener *, json_tokener_free);

static void json_object_putp(struct json_object **object)
{
    (void)json_object_put(*object);
}

enum { ARENA_MAX = 256 * 1024 }; /* to begin with; a tree is some times its text */

struct conversion {
    struct arena *arena;
    const char *text;
    const struct json_scan *scan;
    size_t objects, numbers; /* met so far */
};

/* The place of the byte at `offset`. */
static struct place origin_place(const struct json_origin *origin, const char *text, size_t offset)
{
    if (origin->cut > 0 && offset >= origin->cut)
        return place_after(origin->cut_place, text + origin->cut, offset - origin->cut);
    return place_after(origin->start, text, offset);
}

/* A key as it was written, in a string that the caller frees. NULL: no memory. */
static char *decode_key(struct json_tokener *tokener, const char *text, struct json_span key)
{
    json_tokener_reset(tokener);
    CLEANUP(json_object_putp)
    struct json_object *name = json_tokener_parse_ex(tokener, text + key.offset, (int)key.length);
    return name ? strdup(json_object_get_string(name)) : NULL;
}

struct named_key {
    char *name;
    size_t offset;
};

static int named_key_cmp(const void *a, const void *b)
{
    const struct named_key *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order ? order : CMP(left->offset, right->offset);
}

struct named_keys {
    VEC(struct named_key) list;
};

static void named_keys_done(struct named_keys *keys)
{
    vec_each(struct named_key, key, &keys->list)
        free(key->name);
    vec_done(&keys->list);
}

static int read_keys(const char *text, size_t offset, struct named_keys *keys)
{
    CLEANUP(json_tokener_freep) struct json_tokener *tokener = json_tokener_new();
    struct json_cursor cursor;
    if (!tokener)
        return -ENOMEM;
    for (bool more = json_enter(&cursor, text, offset); more; more = json_next(&cursor)) {
        struct named_key key = { decode_key(tokener, text, cursor.key), cursor.key.offset };
        if (!key.name || vec_push(&keys->list, key) < 0) {
            free(key.name);
            return -ENOMEM;
        }
    }
    vec_sort(&keys->list, named_key_cmp);
    return 0;
}

/* Reports the first key that the object at `offset` has for the second time. */
static int report_duplicate(const char *text, size_t offset, const struct json_origin *origin,
                            struct faults *faults)
{
    CLEANUP(named_keys_done) struct named_keys keys = { 0 };
    int r = read_keys(text, offset, &keys);
    if (r < 0)
        return r;
    const struct named_key *first = NULL;
    for (size_t i = 1; i < keys.list.count; i++) {
        const struct named_key *key = &keys.list.items[i];
        if (strcmp(key[-1].name, key->name) == 0 && (!first || key->offset < first->offset))
            first = key;
    }
    char name[QUOTE_LEN];
    return place_raise(origin_place(origin, text, first ? first->offset : offset), origin->file,
                       faults, syntax_key_twice, .key = first ? quote(first->name, name) : "");
}

static int convert(struct conversion *conversion, struct json_object *value, struct doc *ret_node);

static struct doc *add_child(struct conversion *conversion, struct doc *parent,
                             const struct doc ***tail)
{
    struct doc *child = arena_alloc(conversion->arena, sizeof(*child));
    if (!child)
        return NULL;
    child->parent = parent;
    child->index = parent->count++;
    **tail = child;
    *tail = &child->next;
    return child;
}

static int convert_object(struct conversion *conversion, struct json_object *value,
                          struct doc *ret_node)
{
    const struct json_object_scan *written =
        &conversion->scan->objects.items[conversion->objects++];
    if (json_object_object_length(value) != (int)written->members)
        return -EEXIST;

    const struct doc **tail = &ret_node->first;
    ret_node->type = DOC_MAP;
    json_object_object_foreach(value, key, member)
    {
        struct doc *child = add_child(conversion, ret_node, &tail);
        if (!child || !(child->key = arena_strdup(conversion->arena, key)))
            return -ENOMEM;
        int r = convert(conversion, member, child);
        if (r < 0)
            return r;
    }
    return 0;
}

static int convert_array(struct conversion *conversion, struct json_object *value,
                         struct doc *ret_node)
{
    size_t length = json_object_array_length(value);
    const struct doc **tail = &ret_node->first;
    ret_node->type = DOC_LIST;
    for (size_t i = 0; i < length; i++) {
        struct doc *child = add_child(conversion, ret_node, &tail);
        if (!child)
            return -ENOMEM;
        int r = convert(conversion, json_object_array_get_idx(value, i), child);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Fills a node, whose place among others is set, with a value and what is in it. */
static int convert(struct conversion *conversion, struct json_object *value, struct doc *ret_node)
{
    ret_node->type = DOC_SCALAR;
    switch (json_object_get_type(value)) {
    case json_type_null:
        ret_node->type = DOC_NULL;
        return 0;
    case json_type_object:
        return convert_object(conversion, value, ret_node);
    case json_type_array:
        return convert_array(conversion, value, ret_node);
    case json_type_boolean:
        ret_node->text = json_object_get_boolean(value) ? "true" : "false";
        return 0;
    case json_type_int:
    case json_type_double: {
        struct json_span number = conversion->scan->numbers.items[conversion->numbers++];
        ret_node->text =
            arena_strndup(conversion->arena, conversion->text + number.offset, number.length);
        break;
    }
    case json_type_string:
        ret_node->quoted = true;
        ret_node->text = arena_strndup(conversion->arena, json_object_get_string(value),
                                       (size_t)json_object_get_string_len(value));
        break;
    }
    return ret_node->text ? 0 : -ENOMEM;
}

static int new_document(const char *text, size_t length, const struct json_origin *origin,
                        struct document **ret_document)
{
    CLEANUP(document_freep) struct document *document = calloc(1, sizeof(*document));
    if (!document || !(document->arena = arena_new(MIN(4 * length, (size_t)ARENA_MAX))))
        return -ENOMEM;
    document->root = arena_alloc(document->arena, sizeof(*document->root));
    document->source = arena_strndup(document->arena, text, length);
    if (!document->root || !document->source)
        return -ENOMEM;
    document->file = origin->file;
    document->source_line = origin->start.line;
    document->source_column = origin->start.column;
    *ret_document = TAKE_PTR(document);
    return 0;
}

static int parse_text(const char *text, size_t length, const struct json_origin *origin,
                      uint32_t depth, struct json_object **ret_value, struct faults *faults)
{
    /* A scalar counts as one level with json-c. */
    CLEANUP(json_tokener_freep)
    struct json_tokener *tokener = json_tokener_new_ex((int)depth + 1);
    if (!tokener)
        return -ENOMEM;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    /* The NUL behind the text ends a number at its end. */
    struct json_object *value = json_tokener_parse_ex(tokener, text, (int)length + 1);
    enum json_tokener_error error = json_tokener_get_error(tokener);
    if (error == json_tokener_success) {
        *ret_value = value;
        return 0;
    }
    size_t end = MIN(json_tokener_get_parse_end(tokener), length);
    return place_raise(origin_place(origin, text, end), origin->file, faults, syntax_wrong,
                       .error = json_tokener_error_desc(error));
}

int json_value_parse(const char *text, size_t length, const struct json_origin *origin,
                     uint32_t depth, struct document **ret_document, struct faults *faults)
{
    CLEANUP(json_object_putp) struct json_object *value = NULL;
    AUTOSCAN struct json_scan scan = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    size_t offset;
    const struct fault_type *wrong;

    int r = parse_text(text, length, origin, depth, &value, faults);
    if (r < 0)
        return r;
    r = json_scan(text, &scan, &offset, &wrong);
    if (r == -EBADMSG)
        return place_raise_type(origin_place(origin, text, offset), origin->file, faults, wrong,
                                &(const char){ 0 });
    if (r < 0)
        return r;
    r = new_document(text, length, origin, &document);
    if (r < 0)
        return r;

    struct conversion conversion = { .arena = document->arena, .text = text, .scan = &scan };
    r = convert(&conversion, value, document->root);
    if (r == -EEXIST)
        return report_duplicate(text, scan.objects.items[conversion.objects - 1].offset, origin,
                                faults);
    if (r < 0)
        return r;
    if (ret_document)
        *ret_document = TAKE_PTR(document);
    return 0;
}
