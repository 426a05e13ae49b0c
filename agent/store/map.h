/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map of pointers to nodes that the caller owns: open addressing with linear probing. A node
 * begins with its hash. Private to store/.
 *
 * Reserving and adding are separate, so that a change of several maps can be prepared and then made
 * without a step that could fail.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_node {
    uint32_t hash;
};

struct map {
    struct map_node **slots;
    size_t count, capacity; /* the capacity is 0 or a power of two */
};

typedef bool (*map_equal_fn)(const struct map_node *node, const void *key);

/* The node of this hash for which `equal` returns true, or NULL. */
struct map_node *map_find(const struct map *map, uint32_t hash, map_equal_fn equal,
                          const void *key);

/* Makes room for one more node. Returns 0 or -ENOMEM. */
int map_reserve(struct map *map);

/* Adds a node that is not in the map, after map_reserve(). Removes one that is in the map. */
void map_add(struct map *map, struct map_node *node);
void map_remove(struct map *map, const struct map_node *node);

/* Every node, in no particular order; the map must not change during the iteration. */
struct map_node *map_next(const struct map *map, size_t *cursor);

void map_done(struct map *map);
