/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One key of the store: the objects of all origins that have the key, in order of origin, of which
 * the first is effective; and, while the entry is dirty, the object that was effective when the
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
    struct object *before; /* while dirty: the object that was effective; NULL: none */
    LIST_ENTRY(entry) dirty_link;
};

struct object_key {
    const char *namespace, *name;
};

static inline struct entry *to_entry(struct map_node *node)
{
    return (struct entry *)node;
}

/* The effective object, or NULL. */
static inline struct object *entry_winner(const struct entry *entry)
{
    return entry->offers ? entry->offers->object : NULL;
}

/* Any object of the entry, for its key: the objects may differ in everything else. */
static inline const struct object *entry_sample(const struct entry *entry)
{
    return entry->offers ? entry->offers->object : entry->before;
}

struct entry *entry_find(const struct map *entries, const uint8_t seed[16],
                         const struct object_key *key);

/*
 * A new entry with the object's key; reserves room for it in the map, but does not add it. NULL: no
 * memory.
 */
struct entry *entry_new(struct map *entries, const uint8_t seed[16], const struct object *object);

/* The link that points to the origin's offer, or to the place where it is to be inserted. */
struct offer **entry_place(struct entry *entry, const char *origin, bool *ret_there);

struct offer *offer_new(const char *origin); /* NULL: no memory */

/* Clears `before`, and frees the object if no origin has it. */
void entry_drop_before(struct entry *entry);

void entry_free(struct entry *entry);
