// SPDX-License-Identifier: Apache-2.0
/*
 * Entries of the store; see entry.h. An object is owned by its offer, and by the entry if the offer
 * drops it while it is still `before`; so each checks for the other before it frees the object.
 * Origins are few, so a linked list is sufficient.
 */
#include "store/entry.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/siphash.h"

static bool has_key(const struct map_node *node, const void *key)
{
    const struct object *object = entry_sample((const struct entry *)node);
    const struct object_key *wanted = key;
    return strcmp(object->name, wanted->name) == 0 &&
           strcmp(object->namespace, wanted->namespace) == 0;
}

static uint32_t key_hash(const uint8_t seed[16], const struct object_key *key)
{
    uint64_t namespace = siphash(key->namespace, strlen(key->namespace), seed);
    return (uint32_t)(namespace * 31 + siphash(key->name, strlen(key->name), seed));
}

struct entry *entry_find(const struct map *entries, const uint8_t seed[16],
                         const struct object_key *key)
{
    return to_entry(map_find(entries, key_hash(seed, key), has_key, key));
}

struct entry *entry_new(struct map *entries, const uint8_t seed[16], const struct object *object)
{
    if (map_reserve(entries) < 0)
        return NULL;
    struct entry *entry = calloc(1, sizeof(*entry));
    if (entry)
        entry->node.hash = key_hash(seed, &(struct object_key){ object->namespace, object->name });
    return entry;
}

struct offer **entry_place(struct entry *entry, const char *origin, bool *ret_there)
{
    struct offer **place = &entry->offers;
    while (*place && strcmp((*place)->origin, origin) < 0)
        place = &(*place)->next;
    *ret_there = *place && strcmp((*place)->origin, origin) == 0;
    return place;
}

struct offer *offer_new(const char *origin)
{
    size_t size = strlen(origin) + 1;
    struct offer *offer = malloc(sizeof(*offer) + size);
    if (!offer)
        return NULL;
    *offer = (struct offer){ 0 };
    memcpy(offer->origin, origin, size);
    return offer;
}

void entry_drop_before(struct entry *entry)
{
    struct object *before = TAKE_PTR(entry->before);
    for (const struct offer *offer = entry->offers; offer; offer = offer->next) {
        if (offer->object == before)
            return;
    }
    object_free(before);
}

void entry_free(struct entry *entry)
{
    entry_drop_before(entry);
    for (struct offer *offer = entry->offers; offer;) {
        struct offer *next = offer->next;
        object_free(offer->object);
        free(offer);
        offer = next;
    }
    free(entry);
}
