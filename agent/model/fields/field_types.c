// SPDX-License-Identifier: Apache-2.0
/* The types of single fields; see field.h. */
#include <string.h>

#include "model/fields/encode_member.h"
#include "model/fields/equal.h"
#include "model/fields/field.h"

static const char *text_at(const struct field *field, const void *base)
{
    return *(const char *const *)field_at(field, base);
}

static DECODE_FIELD(decode_kept_text, node)
{
    *(const char **)field_member(field, base) = decode_string(decoder, node);
    return true;
}

static DECODE_FIELD(decode_text_or_null, node)
{
    *(const char **)field_member(field, base) = decode_keep(decoder, decode_text(decoder, node));
    return true;
}

bool field_texts_equal(const struct field *field, const void *a, const void *b)
{
    return text_equal(text_at(field, a), text_at(field, b));
}

static ENCODE_FIELD(encode_kept_text)
{
    const char *text = text_at(field, base);
    if (*text || field->required || field->written || !field->key)
        json_string(json, field->key, text);
}

static ENCODE_FIELD(encode_text_or_null)
{
    const char *text = text_at(field, base);
    if (text)
        json_string(json, field->key, text);
}

const struct field_type field_text = { decode_kept_text, field_texts_equal, encode_kept_text };
const struct field_type field_text_or_null = { decode_text_or_null, field_texts_equal,
                                               encode_text_or_null };

/* Numbers of four bytes are below 2^31, whether their type has a sign or not. */
static int64_t number_at(const struct field *field, const void *base)
{
    const void *at = field_at(field, base);
    switch (field->size) {
    case sizeof(uint8_t):
        return *(const uint8_t *)at;
    case sizeof(uint16_t):
        return *(const uint16_t *)at;
    case sizeof(int32_t):
        return *(const int32_t *)at;
    default:
        return *(const int64_t *)at;
    }
}

static bool keep_number(const struct field *field, void *base, int64_t number)
{
    void *at = field_member(field, base);
    switch (field->size) {
    case sizeof(uint8_t):
        *(uint8_t *)at = (uint8_t)number;
        break;
    case sizeof(uint16_t):
        *(uint16_t *)at = (uint16_t)number;
        break;
    case sizeof(int32_t):
        *(int32_t *)at = (int32_t)number;
        break;
    default:
        *(int64_t *)at = number;
    }
    return true;
}

bool field_numbers_equal(const struct field *field, const void *a, const void *b)
{
    return number_at(field, a) == number_at(field, b);
}

/* Whether it says more than its absence would. */
static bool is_written(const struct field *field, const void *base)
{
    return field->required || field->written || number_at(field, base) != field->fallback;
}

static DECODE_FIELD(decode_flag, node)
{
    return keep_number(field, base, decode_bool(decoder, node, field->fallback));
}

static ENCODE_FIELD(encode_bool)
{
    if (is_written(field, base))
        json_bool(json, field->key, number_at(field, base));
}

static DECODE_FIELD(decode_number, node)
{
    return keep_number(field, base,
                       decode_int(decoder, node, field->min, field->max, field->fallback));
}

static ENCODE_FIELD(encode_int)
{
    if (is_written(field, base))
        json_int(json, field->key, number_at(field, base));
}

static DECODE_FIELD(decode_annotated, node)
{
    int number =
        decode_annotated_number(decoder, node, (int)field->min, (int)field->max, field->words[0]);
    return keep_number(field, base, number < 0 ? field->fallback : number);
}

static ENCODE_FIELD(encode_annotated)
{
    if (is_written(field, base))
        json_stringf(json, field->key, "%d", (int)number_at(field, base));
}

static DECODE_FIELD(decode_index, node)
{
    return keep_number(field, base, decode_word(decoder, node, field->words) ^ field->fallback);
}

static ENCODE_FIELD(encode_word)
{
    if (is_written(field, base))
        json_string(json, field->key, field->words[number_at(field, base) ^ field->fallback]);
}

const struct field_type field_flag = { decode_flag, field_numbers_equal, encode_bool };
const struct field_type field_number = { decode_number, field_numbers_equal, encode_int };
const struct field_type field_annotated_number = { decode_annotated, field_numbers_equal,
                                                   encode_annotated };
const struct field_type field_word = { decode_index, field_numbers_equal, encode_word };

static DECODE_FIELD(decode_protocol_name, node)
{
    *(enum protocol *)field_member(field, base) = decode_protocol(decoder, node);
    return true;
}

static EQUAL_FIELD(protocols_equal)
{
    return *(const enum protocol *)field_at(field, a) == *(const enum protocol *)field_at(field, b);
}

static ENCODE_FIELD(encode_protocol)
{
    json_string(json, field->key, protocol_name(*(const enum protocol *)field_at(field, base)));
}

const struct field_type field_protocol = { decode_protocol_name, protocols_equal, encode_protocol };

static DECODE_FIELD(decode_address, node)
{
    return decode_ip(decoder, node, field_member(field, base));
}

static EQUAL_FIELD(addresses_equal)
{
    return ip_equal(field_at(field, a), field_at(field, b));
}

static ENCODE_FIELD(encode_address)
{
    encode_ip(json, field->key, field_at(field, base));
}

static DECODE_FIELD(decode_network, node)
{
    return decode_cidr(decoder, node, field_member(field, base));
}

static DECODE_FIELD(decode_one_prefix, node)
{
    (void)decode_prefix(decoder, node, (enum ip_family)field->min, field_member(field, base));
    return true;
}

static EQUAL_FIELD(prefix_equal)
{
    return prefix_cmp(field_at(field, a), field_at(field, b)) == 0;
}

static ENCODE_FIELD(encode_one_prefix)
{
    const struct prefix *prefix = field_at(field, base);
    char buffer[PREFIX_STRLEN];
    if (prefix->ip.family != IP_NONE)
        json_string(json, field->key, prefix_str(prefix, buffer));
}

const struct field_type field_ip = { decode_address, addresses_equal, encode_address };
const struct field_type field_cidr = { decode_network, prefix_equal, encode_one_prefix };
const struct field_type field_prefix = { decode_one_prefix, prefix_equal, encode_one_prefix };

const struct field text_items[] = { { .type = &field_text, .size = sizeof(const char *) },
                                    END(NULL) };
const struct field ip_items[] = { { .type = &field_ip }, END(NULL) };
const struct field cidr_items[] = { { .type = &field_cidr }, END(NULL) };
