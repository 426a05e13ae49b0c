// SPDX-License-Identifier: Apache-2.0
/*
 * The hash of hashstructure; see export_hash.h. Called by plan/export/exported.c.
 *
 * A value is hashed by its bytes, little-endian. For ordered values the pair of the previous hash
 * and the next one is hashed; unordered ones, members of a map and fields of a struct, are combined
 * by XOR.
 */
#include "plan/export/export_hash.h"

#include <string.h>

#include "format/json_go.h"

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME  UINT64_C(0x100000001b3)

enum { WORD = 8 };

static uint64_t fnv(uint64_t hash, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash * FNV_PRIME) ^ at[i];
    return hash;
}

static void put_word(uint8_t bytes[static WORD], uint64_t value)
{
    for (int i = 0; i < WORD; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t hash_word(uint64_t value, size_t size)
{
    uint8_t bytes[WORD];
    put_word(bytes, value);
    return fnv(FNV_OFFSET, bytes, size);
}

static uint64_t hash_pair(uint64_t a, uint64_t b)
{
    uint8_t bytes[2 * WORD];
    put_word(bytes, a);
    put_word(bytes + WORD, b);
    return fnv(FNV_OFFSET, bytes, sizeof(bytes));
}

uint64_t export_hash_text(const char *text)
{
    return fnv(FNV_OFFSET, text, strlen(text));
}

uint64_t export_hash_bool(bool value)
{
    return hash_word(value, 1);
}

uint64_t export_hash_int32(int32_t value)
{
    return hash_word((uint32_t)value, sizeof(value));
}

uint64_t export_hash_int64(int64_t value)
{
    return hash_word((uint64_t)value, sizeof(value));
}

static uint64_t hash_scalar(const struct doc *scalar)
{
    double number;
    uint64_t bits;
    if (scalar->quoted)
        return export_hash_text(scalar->text);
    if (!json_go_number(scalar, &number))
        return export_hash_bool(*scalar->text == 't');
    memcpy(&bits, &number, sizeof(bits));
    return hash_word(bits, sizeof(bits));
}

/* Recursion is as deep as the reader's limit of nesting. */
uint64_t export_hash_json(const struct doc *value)
{
    uint64_t hash = 0;
    if (!value)
        return 0;
    switch (value->type) {
    case DOC_NULL:
        return export_hash_int64(0);
    case DOC_SCALAR:
        return hash_scalar(value);
    case DOC_LIST:
        doc_each(item, value)
            hash = hash_pair(hash, export_hash_json(item));
        break;
    case DOC_MAP:
        doc_each(member, value)
            hash ^= hash_pair(export_hash_text(member->key), export_hash_json(member));
        break;
    }
    return hash;
}

uint64_t export_hash_struct(const char *name)
{
    return export_hash_text(name);
}

uint64_t export_hash_field(uint64_t hash, const char *field, uint64_t value)
{
    return hash ^ hash_pair(export_hash_text(field), value);
}
