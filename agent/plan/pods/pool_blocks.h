/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an AddressPool is divided into blocks, by Coil's rules, so that Coil's programs and ours
 * agree on the meaning of each index. The table of allocated blocks (block_table.h) uses it; pure.
 *
 * The indexes of a pool cover its subnets in the order of the list: the first has 0 to n-1, the
 * second starts at n. Block i of a subnet begins i blocks after the subnet's first address; with
 * two families both have the same index. Every address of a block is used, its first and last too.
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

/* The number of blocks of a pool, at most POOL_BLOCKS_MAX. */
uint32_t pool_block_count(const struct address_pool *pool);

/* The block of an index; false if the pool has no such index. */
bool pool_block_at(const struct address_pool *pool, uint32_t index, struct pool_block *ret_block);

/* The block that an address of the pool is in; false if it is none of the pool's. */
bool pool_block_of(const struct address_pool *pool, const struct ip *ip,
                   struct pool_block *ret_block);
