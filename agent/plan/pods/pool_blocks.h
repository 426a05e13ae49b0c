/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an AddressPool is cut into blocks, by Coil's rules, so that any mix of Coil's programs and
 * ours agrees on what each index means. The table of taken blocks (block_table.h) gives them by it;
 * pure.
 *
 * The indexes of a pool run through its subnets in the order of the list: the first has 0 to n-1,
 * the second goes on from n. Block i of a subnet begins i blocks above the subnet's first address;
 * of two families both advance in step. Every address of a block is used, its first and last too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "model/address_block.h"

/* An AddressBlock's index is a positive int32. */
enum { POOL_BLOCKS_MAX = INT32_MAX };

struct pool_block {
    uint32_t index;
    struct prefix ipv4, ipv6; /* family IP_NONE: the subnet has none */
};

/* How many blocks a pool has, POOL_BLOCKS_MAX at most. */
uint32_t pool_block_count(const struct address_pool *pool);

/* The block of an index; false if the pool has none of it. */
bool pool_block_at(const struct address_pool *pool, uint32_t index, struct pool_block *ret_block);

/* The block that an address of the pool is in; false if it is none of the pool's. */
bool pool_block_of(const struct address_pool *pool, const struct ip *ip,
                   struct pool_block *ret_block);
