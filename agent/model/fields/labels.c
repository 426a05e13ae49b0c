// SPDX-License-Identifier: Apache-2.0
/*
 * The labels of Nodes, Services, Namespaces and pools: all are kept, because it is not known yet
 * which of them a selector will ask for. Their types were checked with the metadata (object.c).
 */
#include "model/fields/labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

const struct label *decode_label_map(struct decoder *decoder, const struct doc *list,
                                     uint32_t *ret_count)
{
    uint32_t room = list && list->type == DOC_MAP ? MIN(list->count, (uint32_t)LABELS_MAX) : 0;
    struct label *labels = decode_alloc(decoder, room, sizeof(*labels));
    uint32_t count = 0;
    *ret_count = 0;
    if (!labels)
        return NULL;
    if (list->count > room)
        decode_warning(decoder, list, object_labels_cut, .max = room);
    doc_each(label, list) {
        if (count < room)
            labels[count++] = (struct label){
                .name = decode_keep(decoder, label->key),
                .value = decode_keep(decoder, label->type == DOC_SCALAR ? label->text : ""),
            };
    }
    qsort(labels, count, sizeof(*labels), label_cmp);
    *ret_count = count;
    return labels;
}

bool labels_equal(const struct label *a, uint32_t a_count, const struct label *b, uint32_t b_count)
{
    if (a_count != b_count)
        return false;
    for (uint32_t i = 0; i < a_count; i++) {
        if (label_cmp(&a[i], &b[i]) != 0 || strcmp(a[i].value, b[i].value) != 0)
            return false;
    }
    return true;
}

static bool labels_have(const struct label *labels, uint32_t count, const char *name)
{
    const struct label key = { .name = name };
    return count && bsearch(&key, labels, count, sizeof(key), label_cmp);
}

void encode_labels(struct json *json, const struct label *labels, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        json_string(json, labels[i].name, labels[i].value);
}

/* Of labels, presence counts: null is "". */
static DECODE_FIELD(decode_label_text, node)
{
    const char *text = decode_label(decoder, field->key);
    *(const char **)field_member(field, base) =
        decode_keep(decoder, !text && field->type == &field_label ? "" : text);
    return true;
}

static uint32_t count_of(const struct field *field, const void *base)
{
    return *(const uint32_t *)((const char *)base + field->count);
}

/* Whether it was written with all labels. Of more than are kept it may be missing there. */
static bool is_among_all(const struct field *field, const void *base)
{
    const void *labels = (const char *)base + field->beside;
    return field->beside &&
           labels_have(*(const struct label *const *)labels, count_of(field, base), field->key);
}

static ENCODE_FIELD(encode_label)
{
    const char *text = *(const char *const *)field_at(field, base);
    if (text && (*text || field->type != &field_label) && !is_among_all(field, base))
        json_string(json, field->key, text);
}

static DECODE_FIELD(decode_presence, node)
{
    *(bool *)field_member(field, base) = decode_label(decoder, field->key) != NULL;
    return true;
}

static ENCODE_FIELD(encode_presence)
{
    if (*(const bool *)field_at(field, base) && !is_among_all(field, base))
        json_string(json, field->key, "");
}

const struct field_type field_label = { decode_label_text, field_texts_equal, encode_label };
const struct field_type field_label_or_null = { decode_label_text, field_texts_equal,
                                                encode_label };
const struct field_type field_label_flag = { decode_presence, field_numbers_equal,
                                             encode_presence };

static DECODE_FIELD(decode_all, node)
{
    const struct label **labels = field_member(field, base);
    *labels = decode_label_map(decoder, node, (uint32_t *)((char *)base + field->count));
    return true;
}

static const struct label *labels_of(const struct field *field, const void *base)
{
    return *(const struct label *const *)field_at(field, base);
}

static EQUAL_FIELD(all_equal)
{
    return labels_equal(labels_of(field, a), count_of(field, a), labels_of(field, b),
                        count_of(field, b));
}

static ENCODE_FIELD(encode_all)
{
    encode_labels(json, labels_of(field, base), count_of(field, base));
}

const struct field_type field_labels = { decode_all, all_equal, encode_all };
