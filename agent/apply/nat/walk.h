/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All entries of a hash table or trie, many with each system call.
 *
 * Entries that come or go meanwhile may be seen or not. Of a hash table, entries may be removed
 * while it is walked; of a trie not.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct nat_walk {
    int fd;
    uint32_t key_size, value_size;
    uint32_t room, count; /* entries: for which there is memory; which are there now */
    char *keys, *values;
    bool started, ended;
    uint64_t token[5]; /* as large as the largest key */
};

/* Nothing is allocated before the first step. */
void nat_walk_start(struct nat_walk *walk, int fd, uint32_t key_size, uint32_t value_size);
/* The next entries: returns 1, 0 when there are no more, or -errno. Never 1 without an entry. */
int nat_walk_next(struct nat_walk *walk);
/* From the beginning once more, with the memory that is there. */
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
