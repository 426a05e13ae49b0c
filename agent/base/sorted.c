// SPDX-License-Identifier: Apache-2.0
/* Sorted arrays with batch merge; see sorted.h. */
#include "base/sorted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/vec.h"

static size_t lower_bound_in(const struct sorted *table, size_t low, size_t high, const void *key)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->compare(sorted_at(table, middle), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t sorted_lower_bound(const struct sorted *table, const void *key)
{
    return lower_bound_in(table, 0, table->count, key);
}

void *sorted_find(const struct sorted *table, const void *key)
{
    size_t at = sorted_lower_bound(table, key);
    if (at == table->count || table->compare(sorted_at(table, at), key) != 0)
        return NULL;
    return sorted_at(table, at);
}

static int change_cmp(const struct sorted *table, const struct sorted_change *a,
                      const struct sorted_change *b)
{
    return table->compare(a->item, b->item);
}

/*
 * A stable sort that then drops all but the last of equals. qsort() of glibc is a merge sort only
 * while memory is plenty, and later versions never; so the sort is ours: runs merged bottom-up.
 */
static int changes_sort(const struct sorted *table, struct sorted_change *changes, size_t *count)
{
    AUTOFREE struct sorted_change *spare = reallocarray(NULL, *count, sizeof(*spare));
    if (!spare)
        return -ENOMEM;

    struct sorted_change *from = changes, *to = spare;
    for (size_t width = 1; width < *count; width *= 2) {
        for (size_t start = 0; start < *count; start += 2 * width) {
            size_t middle = MIN(start + width, *count), end = MIN(start + 2 * width, *count);
            size_t left = start, right = middle;
            for (size_t out = start; out < end; out++) {
                bool take_left = left < middle && (right == end || change_cmp(table, &from[left],
                                                                              &from[right]) <= 0);
                to[out] = from[take_left ? left++ : right++];
            }
        }
        struct sorted_change *swap = from;
        from = to;
        to = swap;
    }

    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        if (i + 1 < *count && change_cmp(table, &from[i], &from[i + 1]) == 0)
            continue;
        changes[kept++] = from[i];
    }
    *count = kept;
    return 0;
}

/* Takes out the items at `count` ascending indexes, moving each stretch between two of them once.
 */
static void compact(struct sorted *table, const size_t *removed, size_t count)
{
    size_t write = count ? removed[0] : table->count;
    for (size_t i = 0; i < count; i++) {
        size_t from = removed[i] + 1, to = i + 1 < count ? removed[i + 1] : table->count;
        memmove(sorted_at(table, write), sorted_at(table, from), (to - from) * table->size);
        write += to - from;
    }
    table->count = write;
}

/* Brings in `count` items that are not there yet, from the last to the first; room is reserved. */
static void insert(struct sorted *table, const struct sorted_change *changes, size_t count)
{
    size_t end = table->count;
    for (size_t left = count; left > 0; left--) {
        size_t at = lower_bound_in(table, 0, end, changes[left - 1].item);
        memmove(sorted_at(table, at + left), sorted_at(table, at), (end - at) * table->size);
        memcpy(sorted_at(table, at + left - 1), changes[left - 1].item, table->size);
        end = at;
    }
    table->count += count;
}

int sorted_merge_prepare(struct sorted *table, struct sorted_change *changes, size_t count,
                         struct sorted_merging *ret_merging)
{
    *ret_merging = (struct sorted_merging){ 0 };
    if (count == 0)
        return 0;
    int r = changes_sort(table, changes, &count);
    if (r < 0)
        return r;
    AUTOFREE size_t *removed = reallocarray(NULL, count, sizeof(*removed));
    if (!removed)
        return -ENOMEM;
    r = vec_reserve_raw((void **)&table->items, table->count, &table->capacity, table->size, count);
    if (r < 0)
        return r;
    *ret_merging = (struct sorted_merging){ changes, count, TAKE_PTR(removed) };
    return 0;
}

void sorted_merge_finish(struct sorted *table, struct sorted_merging *merging)
{
    struct sorted_change *changes = merging->changes;
    size_t removes = 0, inserts = 0, at = 0;
    for (size_t i = 0; i < merging->count; i++) {
        at = lower_bound_in(table, at, table->count, changes[i].item);
        bool found =
            at < table->count && table->compare(sorted_at(table, at), changes[i].item) == 0;
        if (found && changes[i].remove)
            merging->removed[removes++] = at;
        else if (found)
            memcpy(sorted_at(table, at), changes[i].item, table->size);
        else if (!changes[i].remove)
            changes[inserts++] = changes[i];
    }
    compact(table, merging->removed, removes);
    insert(table, changes, inserts);
    sorted_merging_done(merging);
}

void sorted_merging_done(struct sorted_merging *merging)
{
    free(merging->removed);
    *merging = (struct sorted_merging){ 0 };
}

int sorted_merge(struct sorted *table, struct sorted_change *changes, size_t count)
{
    struct sorted_merging merging;
    int r = sorted_merge_prepare(table, changes, count, &merging);
    if (r < 0)
        return r;
    sorted_merge_finish(table, &merging);
    return 0;
}

int sorted_put(struct sorted *table, const void *item)
{
    return sorted_merge(table, &(struct sorted_change){ .item = item }, 1);
}

void sorted_remove(struct sorted *table, const void *key)
{
    size_t at = sorted_lower_bound(table, key);
    if (at < table->count && table->compare(sorted_at(table, at), key) == 0)
        compact(table, &at, 1);
}

void sorted_clear(struct sorted *table)
{
    table->count = 0;
}

void sorted_done(struct sorted *table)
{
    free(table->items);
    table->items = NULL;
    table->count = table->capacity = 0;
}

bool sorted_equal(const struct sorted *a, const struct sorted *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->compare(sorted_at(a, i), sorted_at(b, i)) != 0)
            return false;
    return true;
}

void sorted_move(struct sorted *to, struct sorted *from)
{
    sorted_done(to);
    *to = *from;
    from->items = NULL;
    from->count = from->capacity = 0;
}
