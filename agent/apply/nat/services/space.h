/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers 0 .. limit - 1, given out in blocks of a power of two, each aligned to its size. Ids are
 * taken one at a time, slots as many as a set has members. Memory is allocated by space_init()
 * only. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SPACE_ORDERS = 32 };

struct space {
    uint32_t limit, used;         /* numbers; used: those in blocks that are out */
    uint64_t *free[SPACE_ORDERS]; /* a bit for every block of that order: it is free as a whole */
    uint32_t hints[SPACE_ORDERS]; /* no bit is set in the words before */
    uint64_t *memory;
};

/* All is free. Returns 0 or -ENOMEM. */
int space_init(struct space *space, uint32_t limit);
void space_done(struct space *space);

/* How many numbers a block for `count` has; count > 0. */
uint32_t space_block(uint32_t count);

/* The lowest free block with room for `count` numbers. Returns 0 or -ENOSPC. */
int space_take(struct space *space, uint32_t count, uint32_t *ret_first);

/* Takes just this block. False if it is not free, or is none: not aligned, beyond the limit. */
bool space_claim(struct space *space, uint32_t first, uint32_t count);

/* Gives back `count` numbers that are out, whole blocks, however many. */
void space_give(struct space *space, uint32_t first, uint32_t count);
