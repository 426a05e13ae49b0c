// SPDX-License-Identifier: Apache-2.0
/*
 * The hash map of the store; see map.h.
 *
 * At least a quarter of the slots is always free. Removal moves later nodes of the same run back
 * instead of leaving tombstones, so that long churn does not slow lookups down. The table shrinks
 * with its content; if the allocation for that fails, it keeps its size.
 */
#include "store/map.h"

#include <errno.h>
#include <stdlib.h>

enum { CAPACITY_MIN = 16 };

static size_t home(const struct map *map, uint32_t hash)
{
    return hash & (map->capacity - 1);
}

static size_t after(const struct map *map, size_t slot)
{
    return (slot + 1) & (map->capacity - 1);
}

static int resize(struct map *map, size_t capacity)
{
    struct map bigger = { .slots = calloc(capacity, sizeof(*bigger.slots)), .capacity = capacity };
    if (!bigger.slots)
        return -ENOMEM;
    size_t cursor = 0;
    for (struct map_node *node; (node = map_next(map, &cursor));)
        map_add(&bigger, node);
    map_done(map);
    *map = bigger;
    return 0;
}

struct map_node *map_find(const struct map *map, uint32_t hash, map_equal_fn equal, const void *key)
{
    if (map->count == 0)
        return NULL;
    for (size_t at = home(map, hash); map->slots[at]; at = after(map, at)) {
        if (map->slots[at]->hash == hash && equal(map->slots[at], key))
            return map->slots[at];
    }
    return NULL;
}

int map_reserve(struct map *map)
{
    if (map->count + 1 <= map->capacity / 4 * 3)
        return 0;
    return resize(map, map->capacity ? map->capacity * 2 : CAPACITY_MIN);
}

void map_add(struct map *map, struct map_node *node)
{
    size_t at = home(map, node->hash);
    while (map->slots[at])
        at = after(map, at);
    map->slots[at] = node;
    map->count++;
}

/*
 * Moves the next node of the run that may be there into the hole, and repeats this for the new
 * hole.
 */
static void close_hole(struct map *map, size_t hole)
{
    for (size_t at = after(map, hole); map->slots[at]; at = after(map, at)) {
        size_t mask = map->capacity - 1;
        size_t from_home = (at - home(map, map->slots[at]->hash)) & mask;
        if (from_home < ((at - hole) & mask))
            continue;
        map->slots[hole] = map->slots[at];
        hole = at;
    }
    map->slots[hole] = NULL;
}

void map_remove(struct map *map, const struct map_node *node)
{
    size_t at = home(map, node->hash);
    while (map->slots[at] != node)
        at = after(map, at);
    close_hole(map, at);
    map->count--;
    if (map->capacity > CAPACITY_MIN && map->count < map->capacity / 8)
        (void)resize(map, map->capacity / 2);
}

struct map_node *map_next(const struct map *map, size_t *cursor)
{
    while (*cursor < map->capacity) {
        struct map_node *node = map->slots[(*cursor)++];
        if (node)
            return node;
    }
    return NULL;
}

void map_done(struct map *map)
{
    free(map->slots);
    *map = (struct map){ 0 };
}
