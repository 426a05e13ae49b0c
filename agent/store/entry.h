/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the store knows of one key: the objects of all origins that know it, in order of origin,
 * of which the first counts; and, while the entry is dirty, the object that counted when the
 * changes were last taken. Private to store/.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "model/object.h"
#include "store/map.h"

/* One origin's object for a key. */
struct offer {
    struct offer *next;
    struct object *object;
    char origin[];
};

struct entry {
    struct map_node node;
    bool dirty;
    struct offer *offers;  /* sorted by origin; NULL only while dirty */
    struct object *before; /* while dirty: what counted; NULL: nothing did */
    LIST_ENTRY(entry) dirty_link;
};

struct object_key {
    const char *namespace, *name;
};

static inline struct entry *to_entry(struct map_node *node)
{
    return (struct entry *)node;
}

/* What counts, or NULL. */
static inline struct object *entry_winner(const struct entry *entry)
{
    return entry->offers ? entry->offers->object : NULL;
}

/* Any object of the entry: they may differ in all but the key. */
static inline const struct object *entry_sample(const struct entry *entry)
{
    return entry->offers ? entry->offers->object : entry->before;
}

struct entry *entry_find(const struct map *entries, const uint8_t seed[16],
                         const struct object_key *key);

/* An entry with the object's key for a map that has room for it. NULL: no memory. */
struct entry *entry_new(struct map *entries, const uint8_t seed[16], const struct object *object);

/* The link that points to the origin's object, or to where it belongs. */
struct offer **entry_place(struct entry *entry, const char *origin, bool *ret_there);

struct offer *offer_new(const char *origin); /* NULL: no memory */

/* Forgets the object that counted before, and frees it if no origin has it. */
void entry_drop_before(struct entry *entry);

void entry_free(struct entry *entry);
