// SPDX-License-Identifier: Apache-2.0
/*
 * Walking a document, and converting its scalars where a field's type is known.
 *
 * Everybody who decodes (config, model) reads through these functions, so that a wrong value is
 * reported in one form: the place in the file, the path, what was expected, what was found.
 *
 * A JSON node's place is found by going down its path in the text again, child by child: only a
 * report pays for it. The recursions over parents are as deep as the reader lets a document nest.
 */
#include "format/doc.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "format/json_text.h"
#include "format/place.h"
#include "format/quote.h"

void document_free(struct document *document)
{
    if (!document)
        return;
    arena_free(document->arena);
    free(document);
}

const struct doc *doc_get(const struct doc *map, const char *key)
{
    if (!map || map->type != DOC_MAP)
        return NULL;
    doc_each(child, map) {
        if (strcmp(child->key, key) == 0)
            return child->type == DOC_NULL ? NULL : child;
    }
    return NULL;
}

static size_t json_offset(const struct document *document, const struct doc *node);

/* Puts the cursor on a node that has a parent. */
static void json_find(const struct document *document, const struct doc *node,
                      struct json_cursor *ret_cursor)
{
    bool more = json_enter(ret_cursor, document->source, json_offset(document, node->parent));
    for (uint32_t i = 0; more && i < node->index; i++)
        more = json_next(ret_cursor);
}

/* The offset of a node's value in the document's text. */
static size_t json_offset(const struct document *document, const struct doc *node)
{
    struct json_cursor cursor;
    if (!node->parent)
        return json_skip_space(document->source, 0);
    json_find(document, node, &cursor);
    return cursor.offset;
}

static struct place key_place(const struct document *document, const struct doc *member)
{
    struct place place = { member->key_line, member->key_column };
    if (place.line == 0 && document->source && member->parent) {
        struct json_cursor cursor;
        json_find(document, member, &cursor);
        place = (struct place){ document->source_line, document->source_column };
        place = place_after(place, document->source, cursor.key.offset);
    }
    return place;
}

void doc_where(const struct document *document, const struct doc *node, uint32_t *ret_line,
               uint32_t *ret_column)
{
    struct place place = { document->source_line, document->source_column };
    if (!node)
        node = document->root;
    if (node && node->line > 0)
        place = (struct place){ node->line, node->column };
    else if (node && document->source)
        place = place_after(place, document->source, json_offset(document, node));
    *ret_line = place.line;
    *ret_column = place.column;
}

static bool is_plain_key(const char *key)
{
    if (!*key)
        return false;
    for (; *key; key++)
        if (!isalnum((unsigned char)*key) && *key != '-' && *key != '_')
            return false;
    return true;
}

static void add_path(const struct doc *node, struct text *path)
{
    char name[QUOTE_LEN];
    if (!node || !node->parent)
        return;
    add_path(node->parent, path);
    if (!node->key)
        text_addf(path, "[%" PRIu32 "]", node->index);
    else if (!is_plain_key(node->key) || strlen(node->key) >= QUOTE_LEN)
        text_addf(path, "[%s]", quote(node->key, name));
    else
        text_addf(path, "%s%s", path->length ? "." : "", node->key);
}

char *doc_path(const struct doc *node)
{
    struct text path = { 0 };
    add_path(node, &path);
    return text_take(&path);
}

/* Raises a fault whose first argument is the path of a node. */
static void raise_at(const struct document *document, struct place place, const struct doc *path_of,
                     struct faults *faults, const struct fault_type *type, void *arguments)
{
    AUTOFREE char *path = doc_path(path_of);
    if (!path) {
        faults->incomplete = true;
        return;
    }
    memcpy(arguments, &path, sizeof(path));
    (void)place_raise_type(place, document->file, faults, type, arguments);
}

void doc_raise_type(const struct document *document, const struct doc *node, struct faults *faults,
                    const struct fault_type *type, void *arguments)
{
    struct place place;
    doc_where(document, node, &place.line, &place.column);
    raise_at(document, place, node, faults, type, arguments);
}

void doc_raise_key_type(const struct document *document, const struct doc *member,
                        struct faults *faults, const struct fault_type *type, void *arguments)
{
    raise_at(document, key_place(document, member), member->parent, faults, type, arguments);
}

static const char *type_name(const struct doc *node)
{
    switch (node->type) {
    case DOC_NULL:
        return "nothing";
    case DOC_LIST:
        return "a list";
    case DOC_MAP:
        return "a map";
    case DOC_SCALAR:
        break;
    }
    return node->quoted ? "a string" : "a plain value";
}

int doc_expect(const struct document *document, const struct doc *node, enum doc_type type,
               struct faults *faults)
{
    static const char *const wanted[] = {
        [DOC_NULL] = "nothing",
        [DOC_SCALAR] = "a single value",
        [DOC_LIST] = "a list",
        [DOC_MAP] = "a map",
    };
    if (!node || node->type == DOC_NULL)
        return 0;
    if (node->type == type)
        return 1;
    doc_raise(document, node, faults, document_value_unexpected, .expected = wanted[type],
              .found = type_name(node));
    return -EBADMSG;
}

int doc_string(const struct document *document, const struct doc *node, const char **ret,
               struct faults *faults)
{
    int r = doc_expect(document, node, DOC_SCALAR, faults);
    if (r > 0)
        *ret = node->text;
    return r;
}

/* What stands in place of a plain value of another form. */
static int refuse_scalar(const struct document *document, const struct doc *node,
                         const char *expected, struct faults *faults)
{
    char text[QUOTE_LEN];
    AUTOTEXT struct text found = { 0 };
    text_addf(&found, "%s%s", node->quoted ? "the string " : "", quote(node->text, text));
    doc_raise(document, node, faults, document_value_unexpected, .expected = expected,
              .found = text_str(&found));
    return -EBADMSG;
}

int doc_bool(const struct document *document, const struct doc *node, bool *ret,
             struct faults *faults)
{
    int r = doc_expect(document, node, DOC_SCALAR, faults);
    if (r <= 0)
        return r;
    bool yes = strcmp(node->text, "true") == 0;
    if (node->quoted || (!yes && strcmp(node->text, "false") != 0))
        return refuse_scalar(document, node, "true or false", faults);
    *ret = yes;
    return 1;
}

/* True for an optional sign and digits without needless zeros. */
static bool is_whole_number(const char *text)
{
    text += *text == '-';
    if (*text == '0')
        return text[1] == '\0';
    return *text && text[strspn(text, "0123456789")] == '\0';
}

int doc_int(const struct document *document, const struct doc *node, int64_t min, int64_t max,
            int64_t *ret, struct faults *faults)
{
    int r = doc_expect(document, node, DOC_SCALAR, faults);
    if (r <= 0)
        return r;
    if (node->quoted || !is_whole_number(node->text))
        return refuse_scalar(document, node, "a whole number", faults);
    errno = 0;
    int64_t value = strtoll(node->text, NULL, 10);
    if (errno == ERANGE || value < min || value > max) {
        /* The number as it was written, but not a page of digits. */
        AUTOTEXT struct text number = { 0 };
        text_addf(&number, "%.40s%s", node->text, strlen(node->text) > 40 ? "..." : "");
        doc_raise(document, node, faults, document_number_out_of_range, .number = text_str(&number),
                  .min = min, .max = max);
        return -EBADMSG;
    }
    *ret = value;
    return 1;
}
