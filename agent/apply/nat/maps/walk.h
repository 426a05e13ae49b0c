/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks all entries of a hash table or trie, many per system call.
 *
 * Entries that are added or removed meanwhile may be seen or not. The caller may remove entries of
 * a hash table during the walk, but not of a trie.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct nat_walk {
    int fd;
    uint32_t key_size, value_size;
    uint32_t room, count; /* entries that fit into the memory; entries that are in it now */
    char *keys, *values;
    bool started, ended;
    uint64_t token[5]; /* as large as the largest key */
};

/* Allocates nothing before the first step. */
void nat_walk_start(struct nat_walk *walk, int fd, uint32_t key_size, uint32_t value_size);
/* Reads the next entries. Returns 1 (at least one), 0 (no more), or -errno. */
int nat_walk_next(struct nat_walk *walk);
/* Starts again from the beginning, with the same memory. */
void nat_walk_again(struct nat_walk *walk);
void nat_walk_done(struct nat_walk *walk);
#define AUTOWALK CLEANUP(nat_walk_done)

static inline void *nat_walk_key(const struct nat_walk *walk, uint32_t i)
{
    return walk->keys + (size_t)i * walk->key_size;
}

static inline void *nat_walk_value(const struct nat_walk *walk, uint32_t i)
{
    return walk->values + (size_t)i * walk->value_size;
}
