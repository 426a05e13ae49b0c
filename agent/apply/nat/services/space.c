// SPDX-License-Identifier: Apache-2.0
/*
 * A buddy allocator on bitmaps.
 *
 * Order k has a bit for each aligned block of 2^k numbers, set while the block is free and its
 * buddy is not: two free buddies are one free block of the next order. The map of all orders takes
 * two bits per number. The owner of a block knows its size, so it is not stored here.
 *
 * The lowest free block is allocated, so that the numbers in use are contiguous and low. The search
 * proceeds from large blocks to small ones: in each order it begins at a hint, below which no word
 * has a bit, and ends at the start of the best block so far. So a search never visits numbers
 * beyond those that have been in use.
 */
#include "apply/nat/services/space.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"

static uint32_t order_of(uint32_t count)
{
    return count <= 1 ? 0 : 32 - (uint32_t)__builtin_clz(count - 1);
}

uint32_t space_block(uint32_t count)
{
    return 1u << order_of(count);
}

static bool is_free(const struct space *space, uint32_t order, uint32_t block)
{
    return space->free[order][block / 64] >> (block % 64) & 1;
}

static void set_free(struct space *space, uint32_t order, uint32_t block)
{
    space->free[order][block / 64] |= 1ull << (block % 64);
    space->hints[order] = MIN(space->hints[order], block / 64);
}

static void clear_free(struct space *space, uint32_t order, uint32_t block)
{
    space->free[order][block / 64] &= ~(1ull << (block % 64));
}

static uint32_t blocks_of(const struct space *space, uint32_t order)
{
    return space->limit >> order;
}

static uint32_t words_of(const struct space *space, uint32_t order)
{
    return blocks_of(space, order) / 64 + 1;
}

/* One block becomes free; it is merged with its buddy as long as that is free, too. */
static void join(struct space *space, uint32_t order, uint32_t block)
{
    while (order + 1 < SPACE_ORDERS && (block ^ 1) < blocks_of(space, order) &&
           is_free(space, order, block ^ 1)) {
        clear_free(space, order, block ^ 1);
        block /= 2;
        order++;
    }
    set_free(space, order, block);
}

void space_give(struct space *space, uint32_t first, uint32_t count)
{
    space->used -= count;
    while (count > 0) {
        uint32_t order = order_of(count);
        if (1u << order > count)
            order--;
        if (first > 0)
            order = MIN(order, (uint32_t)__builtin_ctz(first));
        join(space, order, first >> order);
        first += 1u << order;
        count -= 1u << order;
    }
}

int space_init(struct space *space, uint32_t limit)
{
    *space = (struct space){ .limit = limit, .used = limit };
    size_t words = 0;
    for (uint32_t order = 0; order < SPACE_ORDERS; order++)
        words += words_of(space, order);
    space->memory = calloc(words, sizeof(*space->memory));
    if (!space->memory)
        return -ENOMEM;

    words = 0;
    for (uint32_t order = 0; order < SPACE_ORDERS; order++) {
        space->free[order] = space->memory + words;
        words += words_of(space, order);
    }
    space_give(space, 0, limit);
    return 0;
}

void space_done(struct space *space)
{
    free(space->memory);
    *space = (struct space){ 0 };
}

/* The lowest free block of an order that begins below a number; false if there is none. */
static bool find(struct space *space, uint32_t order, uint32_t below, uint32_t *ret_first)
{
    uint32_t words = words_of(space, order), word = space->hints[order];
    while (word < words && (uint64_t)word << (order + 6) < below && !space->free[order][word])
        word++;
    space->hints[order] = word;
    if (word == words || (uint64_t)word << (order + 6) >= below)
        return false;
    uint32_t block = word * 64 + (uint32_t)__builtin_ctzll(space->free[order][word]);
    if ((uint64_t)block << order >= below)
        return false;
    *ret_first = block << order;
    return true;
}

/* Halves a block that was allocated at `from` down to `order`, keeping the half with `first`. */
static void split(struct space *space, uint32_t from, uint32_t order, uint32_t first)
{
    for (; from > order; from--)
        set_free(space, from - 1, first >> (from - 1) ^ 1);
}

int space_take(struct space *space, uint32_t count, uint32_t *ret_first)
{
    uint32_t wanted = order_of(count), best = SPACE_ORDERS, first = space->limit;
    for (uint32_t order = SPACE_ORDERS; order-- > wanted;) {
        if (find(space, order, first, &first))
            best = order;
    }
    if (count == 0 || best == SPACE_ORDERS)
        return -ENOSPC;

    clear_free(space, best, first >> best);
    split(space, best, wanted, first);
    space->used += 1u << wanted;
    *ret_first = first;
    return 0;
}

bool space_claim(struct space *space, uint32_t first, uint32_t count)
{
    if (count == 0 || count > space->limit || first > space->limit - count)
        return false;
    uint32_t wanted = order_of(count);
    if (first & ((1u << wanted) - 1) || first >> wanted >= blocks_of(space, wanted))
        return false;

    uint32_t order = wanted;
    while (order < SPACE_ORDERS &&
           !(first >> order < blocks_of(space, order) && is_free(space, order, first >> order)))
        order++;
    if (order == SPACE_ORDERS)
        return false;
    clear_free(space, order, first >> order);
    split(space, order, wanted, first);
    space->used += 1u << wanted;
    return true;
}
