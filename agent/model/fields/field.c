// SPDX-License-Identifier: Apache-2.0
/* Tables of fields: the walks through them, and maps and lists; see field.h. */
#include "model/fields/field.h"

#include "base/macro.h"

static bool is_end(const struct field *field)
{
    return !field || (!field->key && !field->type);
}

const struct field *field_end(const struct field *fields)
{
    while (!is_end(fields))
        fields++;
    return fields;
}

static DECODE_FIELD(decode_field, map)
{
    const bool own = field->decode || (field->type && field->type->decode);
    if (!own)
        return true;
    const struct doc *node = map;
    if (field->key)
        node = field->required && map ? decode_need(decoder, map, field->key)
                                      : doc_get(map, field->key);
    return (field->decode ? field->decode : field->type->decode)(decoder, node, field, base);
}

bool fields_decode(struct decoder *decoder, const struct doc *map, const struct field *fields,
                   void *base)
{
    for (; !is_end(fields); fields++) {
        decoder->map = map;
        if (!decode_field(decoder, map, fields, base))
            return false;
    }
    return true;
}

bool fields_equal(const struct field *fields, const void *a, const void *b)
{
    for (; !is_end(fields); fields++) {
        if (fields->type && fields->type->equal && !fields->type->equal(fields, a, b))
            return false;
    }
    return true;
}

void fields_encode(struct json *json, const struct field *fields, const void *base)
{
    for (; !is_end(fields); fields++) {
        if (fields->type && fields->type->encode)
            fields->type->encode(json, fields, base);
    }
}

void fields_encode_map(struct json *json, const char *key, const struct field *fields,
                       bool required, const void *base)
{
    if (!fields)
        return;
    const size_t before = json->out->length;
    const bool comma = json->comma;
    json_begin_object(json, key);
    const size_t begin = json->out->length;
    fields_encode(json, fields, base);
    if (json->out->length > begin || required) {
        json_end_object(json);
    } else {
        text_truncate(json->out, before);
        json->comma = comma;
    }
}

static DECODE_FIELD(decode_fields_map, node)
{
    const struct doc *map = decode_map(decoder, node);
    if (field->size)
        *(bool *)field_member(field, base) = map != NULL;
    return (map || !field->required) && fields_decode(decoder, map, field->fields, base);
}

static bool is_there(const struct field *field, const void *base)
{
    return field->required || (field->size && *(const bool *)field_at(field, base));
}

static EQUAL_FIELD(map_equal)
{
    return is_there(field, a) == is_there(field, b) && fields_equal(field->fields, a, b);
}

static ENCODE_FIELD(encode_map)
{
    fields_encode_map(json, field->key, field->fields, is_there(field, base), base);
}

const struct field_type field_map = { decode_fields_map, map_equal, encode_map };

static size_t count_of(const struct field *field, const void *base)
{
    const void *count = (const char *)base + field->count;
    return field->count_size == sizeof(size_t) ? *(const size_t *)count : *(const uint32_t *)count;
}

static const char *items_of(const struct field *field, const void *base)
{
    return *(const char *const *)field_at(field, base);
}

static void set_items(const struct field *field, void *base, const void *items, size_t count)
{
    *(const void **)field_member(field, base) = items;
    if (field->count_size == sizeof(size_t))
        *(size_t *)((char *)base + field->count) = count;
    else
        *(uint32_t *)((char *)base + field->count) = (uint32_t)count;
}

/* An item that is no map keeps its place: it refuses the object, but in a list with a maximum, from
 * which nothing is planned. */
static DECODE_FIELD(decode_items, node)
{
    const struct doc *list = decode_list(decoder, node);
    const bool maps = field->fields->key && !field->max;
    size_t count = 0;
    if (list && list->count == 0 && field->required)
        decode_error(decoder, list, object_field_empty);
    const size_t room = !list ? 0 : field->max ? MIN(list->count, (size_t)field->max) : list->count;
    char *items = decode_alloc(decoder, room, field->size);
    doc_each(item, items ? list : NULL) {
        if (count == room)
            break;
        count += (maps && !decode_map(decoder, item)) ||
                 fields_decode(decoder, item, field->fields, items + count * field->size);
    }
    set_items(field, base, items, count);
    return true;
}

static EQUAL_FIELD(items_equal)
{
    const char *left = items_of(field, a), *right = items_of(field, b);
    size_t count = count_of(field, a);
    if (count != count_of(field, b))
        return false;
    for (; count > 0; count--, left += field->size, right += field->size) {
        if (!fields_equal(field->fields, left, right))
            return false;
    }
    return true;
}

static ENCODE_FIELD(encode_items)
{
    const char *item = items_of(field, base);
    size_t count = count_of(field, base);
    if (count == 0 && !field->required && !field->written)
        return;
    json_begin_array(json, field->key);
    for (; count > 0; count--, item += field->size) {
        if (field->fields->key)
            fields_encode_map(json, NULL, field->fields, true, item);
        else
            fields_encode(json, field->fields, item);
    }
    json_end_array(json);
}

const struct field_type field_list = { decode_items, items_equal, encode_items };
