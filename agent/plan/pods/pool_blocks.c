// SPDX-License-Identifier: Apache-2.0
/* See pool_blocks.h. */
#include "plan/pods/pool_blocks.h"

#include "base/macro.h"

/* The family whose size is used: the decoder refuses a subnet whose families differ in size. */
static const struct prefix *measure_of(const struct pool_subnet *subnet)
{
    return subnet->ipv4.ip.family != IP_NONE ? &subnet->ipv4 : &subnet->ipv6;
}

static uint32_t subnet_block_count(const struct address_pool *pool,
                                   const struct pool_subnet *subnet)
{
    const struct prefix *measure = measure_of(subnet);
    int bits = ip_bits(&measure->ip) - measure->length - pool->block_size_bits;
    if (bits < 0)
        return 0;
    return bits < 31 ? UINT32_C(1) << bits : POOL_BLOCKS_MAX;
}

uint32_t pool_block_count(const struct address_pool *pool)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < pool->subnet_count; i++)
        count += subnet_block_count(pool, &pool->subnets[i]);
    return (uint32_t)MIN(count, (uint64_t)POOL_BLOCKS_MAX);
}

/* Adds number * 2^shift to an address, from its last byte on. */
static void add_shifted(struct ip *ip, uint32_t number, unsigned shift)
{
    uint64_t carry = (uint64_t)number << (shift % 8);
    for (size_t i = ip_size(ip) - shift / 8; i-- > 0 && carry;) {
        carry += ip->bytes[i];
        ip->bytes[i] = (uint8_t)carry;
        carry >>= 8;
    }
}

static struct prefix block_prefix(const struct address_pool *pool, const struct prefix *subnet,
                                  uint32_t number)
{
    struct prefix prefix = *subnet;
    if (subnet->ip.family == IP_NONE)
        return prefix;
    prefix.length = (uint8_t)(ip_bits(&subnet->ip) - pool->block_size_bits);
    add_shifted(&prefix.ip, number, pool->block_size_bits);
    return prefix;
}

bool pool_block_at(const struct address_pool *pool, uint32_t index, struct pool_block *ret_block)
{
    if (index >= POOL_BLOCKS_MAX)
        return false;
    uint32_t number = index;
    for (uint32_t i = 0; i < pool->subnet_count; i++) {
        const struct pool_subnet *subnet = &pool->subnets[i];
        uint32_t count = subnet_block_count(pool, subnet);
        if (number < count) {
            *ret_block = (struct pool_block){
                .index = index,
                .ipv4 = block_prefix(pool, &subnet->ipv4, number),
                .ipv6 = block_prefix(pool, &subnet->ipv6, number),
            };
            return true;
        }
        number -= count;
    }
    return false;
}

/*
 * The number of an address's block in a subnet: the bits between the subnet's length and the
 * block's.
 */
static uint64_t number_in(const struct address_pool *pool, const struct prefix *subnet,
                          const struct ip *ip)
{
    uint64_t number = 0;
    for (int bit = subnet->length; bit < ip_bits(ip) - pool->block_size_bits; bit++) {
        if (number >= POOL_BLOCKS_MAX)
            break;
        number = number << 1 | (ip->bytes[bit / 8] >> (7 - bit % 8) & 1);
    }
    return number;
}

bool pool_block_of(const struct address_pool *pool, const struct ip *ip,
                   struct pool_block *ret_block)
{
    uint64_t before = 0;
    for (uint32_t i = 0; i < pool->subnet_count; i++) {
        const struct pool_subnet *subnet = &pool->subnets[i];
        const struct prefix *prefix = ip->family == IP_V4 ? &subnet->ipv4 : &subnet->ipv6;
        if (prefix->ip.family == ip->family && prefix_contains(prefix, ip)) {
            uint64_t index = before + number_in(pool, prefix, ip);
            return index < POOL_BLOCKS_MAX && pool_block_at(pool, (uint32_t)index, ret_block);
        }
        before += subnet_block_count(pool, subnet);
    }
    return false;
}
