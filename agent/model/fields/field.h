/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of fields: what an object keeps of its document is one row a field, by which the object is
 * decoded, compared and written back, and by which a misspelt field is found (fields.h). Private to
 * model/.
 *
 * A table is the rows of one map, up to END(). A map or a list in it is a row with a table of its
 * own. What no common type can do is a type of the kind's own file, or a row's `decode`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/json.h"
#include "model/fields/decode.h"

struct field;

/* The structure at `base` is the object, or the item of a list. NULL: nothing is done. */
struct field_type {
    /* `node`: NULL where it is absent or null. False: its item of a list is left out, or, if it is
     * in none, nothing more of the object is looked at. */
    bool (*decode)(struct decoder *decoder, const struct doc *node, const struct field *field,
                   void *base);
    bool (*equal)(const struct field *field, const void *a, const void *b);
    void (*encode)(struct json *json, const struct field *field, const void *base);
};

/* The heads of such functions; `node` is the name that the document's node has there. */
#define UNUSED __attribute__((unused))
#define DECODE_FIELD(name, node)                                             \
    bool name(UNUSED struct decoder *decoder, UNUSED const struct doc *node, \
              UNUSED const struct field *field, UNUSED void *base)
#define EQUAL_FIELD(name) bool name(UNUSED const struct field *field, const void *a, const void *b)
#define ENCODE_FIELD(name) \
    void name(struct json *json, UNUSED const struct field *field, const void *base)

struct field {
    const char *key;               /* NULL: the map itself, or the item of a list */
    const struct field_type *type; /* NULL: only the name is known */
    size_t offset, size;           /* of the member, MEMBER(); of a list's item, ITEMS() */
    size_t count, count_size;      /* of the member with a list's count; 0: no list */
    bool (*decode)(struct decoder *decoder, const struct doc *node, const struct field *field,
                   void *base); /* in place of the type's */
    bool required;              /* an error where it is absent; always written */
    bool written;               /* always written, even if it is the fallback */
    int64_t min, max; /* of numbers; of prefixes, the family; of a list, its items, 0: all */
    int64_t fallback; /* where it is absent, and then it is not written */
    const char *const *words;   /* NULL ends them */
    const struct field *fields; /* of the map, or of a list's items */
    size_t beside;              /* of a label that means something by itself, BESIDE() */
    bool listed;                /* these are items, even if the member is no list */
    const char *others;         /* END() */
};

#define MEMBER(structure, member) \
    .offset = offsetof(structure, member), .size = sizeof(((structure *)NULL)->member)
#define ITEMS(structure, items, number)                                                \
    .offset = offsetof(structure, items), .size = sizeof(*((structure *)NULL)->items), \
    .count = offsetof(structure, number), .count_size = sizeof(((structure *)NULL)->number)

/* Of a label: what has all labels, which is cut where there are too many. */
#define BESIDE(structure, labels, number) \
    .beside = offsetof(structure, labels), .count = offsetof(structure, number)

/* The end of a table. `words`: what else the map may have, with blanks between; NULL: anything. */
#define END(words)        \
    {                     \
        .others = (words) \
    }

/* Tables may be NULL. What `map` has (NULL: nothing) into `base`. Returns as a type's decode(). */
bool fields_decode(struct decoder *decoder, const struct doc *map, const struct field *fields,
                   void *base);
const struct field *field_end(const struct field *fields);
bool fields_equal(const struct field *fields, const void *a, const void *b);
/* Members of the map, which is open. */
void fields_encode(struct json *json, const struct field *fields, const void *base);
/* The map; without members it is written only if it is `required`. */
void fields_encode_map(struct json *json, const char *key, const struct field *fields,
                       bool required, const void *base);

/* A text, "" where it is absent; one that is NULL then. */
extern const struct field_type field_text, field_text_or_null;
extern const struct field_type field_flag, field_number;
/* The index of a word; `fallback` is the value of the first: true turns two words round. */
extern const struct field_type field_word;
extern const struct field_type field_protocol;
/* An address, a CIDR (decode_cidr()): one that can't be used leaves its item out. A prefix of the
 * family `min` is an error then (decode_prefix()). */
extern const struct field_type field_ip, field_cidr, field_prefix;
/* An annotation that is a number; words[0] says how another one is taken. */
extern const struct field_type field_annotated_number;
/* A map of fields of the same structure; its MEMBER(), if any, is whether it is there. A list: one
 * that is required may not be empty. */
extern const struct field_type field_map, field_list;

/* The items of a list of texts, of addresses, of CIDRs; of selectors (object_selector.h). */
extern const struct field text_items[], ip_items[], cidr_items[], selector_items[];

/* Equality of kinds' own types: of a flag, a word or a number; of a text, NULL or not. */
bool field_numbers_equal(const struct field *field, const void *a, const void *b);
bool field_texts_equal(const struct field *field, const void *a, const void *b);

static inline const void *field_at(const struct field *field, const void *base)
{
    return (const char *)base + field->offset;
}

static inline void *field_member(const struct field *field, void *base)
{
    return (char *)base + field->offset;
}
