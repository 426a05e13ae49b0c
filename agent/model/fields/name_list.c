// SPDX-License-Identifier: Apache-2.0
/* Lists of names in MetalLB's kinds: from a document, compared, and written back. */
#include "model/fields/name_list.h"

#include <string.h>

#include "model/fields/decode_lists.h"

struct name_list decode_names(struct decoder *decoder, const struct doc *node)
{
    struct name_list names = { 0 };
    const struct doc *list = decode_list(decoder, node);
    const char **items = decode_alloc(decoder, list ? list->count : 0, sizeof(*items));
    if (!items)
        return names;
    doc_each(item, list)
        items[names.count++] = decode_string(decoder, item);
    names.items = items;
    return names;
}

bool names_equal(const struct name_list *a, const struct name_list *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    }
    return true;
}

void encode_names(struct json *json, const char *key, const struct name_list *names)
{
    if (names->count == 0)
        return;
    json_begin_array(json, key);
    for (size_t i = 0; i < names->count; i++)
        json_string(json, NULL, names->items[i]);
    json_end_array(json);
}

bool name_list_has(const struct name_list *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->items[i], name) == 0)
            return true;
    }
    return false;
}
