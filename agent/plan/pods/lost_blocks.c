// SPDX-License-Identifier: Apache-2.0
/* Finds the block from which a pod's address was allocated; see lost_blocks.h. */
#include "plan/pods/lost_blocks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool overlap(const struct prefix *a, const struct prefix *b)
{
    return a->ip.family != IP_NONE && a->ip.family == b->ip.family &&
           (prefix_contains(a, &b->ip) || prefix_contains(b, &a->ip));
}

/* The block with the name, or else one with some of its addresses. */
static const struct address_block *taker_of(const struct store *store,
                                            const struct lost_block *lost)
{
    const struct object *object = store_get(store, KIND_ADDRESS_BLOCK, "", lost->name);
    if (object)
        return to_address_block(object);
    for (size_t cursor = 0; (object = store_next(store, KIND_ADDRESS_BLOCK, &cursor));) {
        const struct address_block *block = to_address_block(object);
        if (overlap(&block->ipv4, &lost->block.ipv4) || overlap(&block->ipv6, &lost->block.ipv6))
            return block;
    }
    return NULL;
}

static bool is_listed(const lost_block_list *blocks, const char *name)
{
    vec_each(const struct lost_block, block, blocks) {
        if (strcmp(block->name, name) == 0)
            return true;
    }
    return false;
}

/* Whether all addresses of a pod interface lie in the block. */
static bool has_both(const struct pool_block *block, const struct pod_interface *pod_interface)
{
    return (pod_interface->v4.family == IP_NONE ||
            prefix_contains(&block->ipv4, &pod_interface->v4)) &&
           (pod_interface->v6.family == IP_NONE ||
            prefix_contains(&block->ipv6, &pod_interface->v6));
}

/* Returns 0 or -ENOMEM. */
static int add_block_of(const struct pod_interface *pod_interface, const struct store *store,
                        lost_block_list *blocks)
{
    const struct ip *ip =
        pod_interface->v4.family != IP_NONE ? &pod_interface->v4 : &pod_interface->v6;
    const struct object *pool = store_get(store, KIND_ADDRESS_POOL, "", pod_interface->pool);
    struct lost_block lost = { .pool = pool ? to_address_pool(pool) : NULL };
    if (!pool || pool->deleting || !pool_block_of(lost.pool, ip, &lost.block) ||
        !has_both(&lost.block, pod_interface))
        return 0;
    int length = snprintf(lost.name, sizeof(lost.name), "%s-%u", pod_interface->pool,
                          (unsigned)lost.block.index);
    if (length >= (int)sizeof(lost.name) || is_listed(blocks, lost.name))
        return 0;
    lost.taken = taker_of(store, &lost);
    return vec_push(blocks, lost);
}

int plan_lost_blocks(const struct pod_addresses *addresses, const struct store *store,
                     lost_block_list *ret_blocks)
{
    int r = 0;
    sorted_each(const struct pod_interface, pod_interface, &addresses->pod_interfaces) {
        const struct ip *ip =
            pod_interface->v4.family != IP_NONE ? &pod_interface->v4 : &pod_interface->v6;
        if (ip->family != IP_NONE && !pod_block_at(addresses, ip))
            r = add_block_of(pod_interface, store, ret_blocks);
        if (r < 0)
            return r;
    }
    return 0;
}
