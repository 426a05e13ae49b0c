/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates numbers 0 .. limit - 1, in blocks of a power of two, each aligned to its size. Ids are
 * allocated one at a time, slots as many as a set has members. Only space_init() allocates memory.
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SPACE_ORDERS = 32 };

struct space {
    uint32_t limit, used;         /* numbers; used: those in allocated blocks */
    uint64_t *free[SPACE_ORDERS]; /* a bit for every block of that order: it is entirely free */
    uint32_t hints[SPACE_ORDERS]; /* no bit is set in the words below */
    uint64_t *memory;
};

/* Everything is free. Returns 0 or -ENOMEM. */
int space_init(struct space *space, uint32_t limit);
void space_done(struct space *space);

/* The size of a block for `count` numbers; count > 0. */
uint32_t space_block(uint32_t count);

/* Allocates the lowest free block with room for `count` numbers. Returns 0 or -ENOSPC. */
int space_take(struct space *space, uint32_t count, uint32_t *ret_first);

/* Allocates exactly this block. False if it is not free, or no block: not aligned, beyond the
 * limit. */
bool space_claim(struct space *space, uint32_t first, uint32_t count);

/* Releases `count` allocated numbers, any number of whole blocks. */
void space_give(struct space *space, uint32_t first, uint32_t count);
