/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted array of plain values of one size: the shape of every wanted and actual table.
 *
 * Look-ups are binary searches; many changes are merged in one walk that moves each stretch
 * between two changes once, so a batch costs its own size plus one pass of memmove.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

typedef int (*compare_fn)(const void *a, const void *b);

struct sorted {
    char *items;
    size_t count, capacity; /* in items */
    size_t size;            /* bytes of one item */
    compare_fn compare;
};

/* One change: `item` replaces what compares equal, or comes in; with `remove` it goes. */
struct sorted_change {
    const void *item;
    bool remove;
};

#define SORTED(type, compare_function)                      \
    {                                                       \
        .size = sizeof(type), .compare = (compare_function) \
    }

/* The index of the first item that is not less than `key`; count if there is none. */
size_t sorted_lower_bound(const struct sorted *table, const void *key);

/* The item that compares equal to `key`, or NULL. Borrowed until the next change. */
void *sorted_find(const struct sorted *table, const void *key);

static inline void *sorted_at(const struct sorted *table, size_t index)
{
    return table->items + index * table->size;
}

/* Every item, in order. */
#define sorted_each(type, it, table)                                                               \
    for (__typeof__(type) *it = (void *)(table)->items, *end_##it = it ? it + (table)->count : it; \
         it < end_##it; it++)

/*
 * Merges changes. They need no order; of several with equal items the last counts.
 * The array `changes` is used as scratch; no item may lie inside the table. Returns 0, or -ENOMEM
 * with the table unchanged.
 */
int sorted_merge(struct sorted *table, struct sorted_change *changes, size_t count);

/*
 * The same in two steps, for who merges into several tables or none: what can fail, then what
 * can't. Between the two the table and the array are left alone. Who does not finish frees
 * `removed`; sorted_merge_finish() does, too.
 */
struct sorted_merging {
    struct sorted_change *changes;
    size_t count, *removed;
};

int sorted_merge_prepare(struct sorted *table, struct sorted_change *changes, size_t count,
                         struct sorted_merging *ret_merging);
void sorted_merge_finish(struct sorted *table, struct sorted_merging *merging);
void sorted_merging_done(struct sorted_merging *merging);

/* Puts one item in (or over its equal); takes one out. Returns 0 or -ENOMEM. */
int sorted_put(struct sorted *table, const void *item);
void sorted_remove(struct sorted *table, const void *key);

/* Whether both have the same items, by the order of the first. */
bool sorted_equal(const struct sorted *a, const struct sorted *b);

/* Takes all items out and keeps the memory. */
void sorted_clear(struct sorted *table);
/* Frees the memory; the table is empty and usable afterwards. */
void sorted_done(struct sorted *table);

/* Frees what `to` has and gives it what `from` has, which is empty and usable afterwards. */
void sorted_move(struct sorted *to, struct sorted *from);

/* For a local; without it the table is a member, and its owner calls sorted_done(). */
#define AUTOSORTED CLEANUP(sorted_done)
