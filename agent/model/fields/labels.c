// SPDX-License-Identifier: Apache-2.0
/*
 * The labels of Nodes, Services, Namespaces and pools: all are kept, because it is not known yet
 * which of them a selector will ask for. Their types were checked with the metadata (object.c).
 */
#include "model/fields/labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

const struct label *decode_labels(struct decoder *decoder, uint32_t *ret_count)
{
    const struct doc *metadata = doc_get(decoder->document->root, "metadata");
    return decode_label_map(decoder, doc_get(metadata, "labels"), ret_count);
}

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

bool labels_have(const struct label *labels, uint32_t count, const char *name)
{
    const struct label key = { .name = name };
    return count && bsearch(&key, labels, count, sizeof(key), label_cmp);
}

void encode_labels(struct json *json, const struct label *labels, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        json_string(json, labels[i].name, labels[i].value);
}
