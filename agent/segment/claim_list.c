// SPDX-License-Identifier: Apache-2.0
/* The list of claims, by key; for claims.c, which owns it, and claim_records.c. */
#include <string.h>

#include "segment/claims_inside.h"

size_t claims_place(const struct claims *claims, const char *key)
{
    size_t low = 0, high = claims->list.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(claims->list.items[middle]->key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct own_claim *claims_find(const struct claims *claims, const char *key)
{
    size_t place = claims_place(claims, key);
    bool there = place < claims->list.count && strcmp(claims->list.items[place]->key, key) == 0;
    return there ? claims->list.items[place] : NULL;
}
