// SPDX-License-Identifier: Apache-2.0
/*
 * Conflicts of pools; see pool_conflicts.h. Called by the controller's job of blocks when a pool
 * or a Node has changed.
 *
 * They are told and not acted upon: pods may live in such a pool since long before we came. What
 * is acted upon is each block (block_table.h), which never overlaps another one.
 */
#include "plan/pool_conflicts.h"

#include "base/macro.h"
#include "base/text.h"
#include "model/address_block.h"

static bool overlap(const struct prefix *a, const struct prefix *b)
{
    if (a->ip.family == IP_NONE || a->ip.family != b->ip.family)
        return false;
    return prefix_contains(a, &b->ip) || prefix_contains(b, &a->ip);
}

/* What two subnets have in common: the narrower prefix; NULL: nothing. */
static const struct prefix *common(const struct pool_subnet *a, const struct pool_subnet *b)
{
    if (overlap(&a->ipv4, &b->ipv4))
        return a->ipv4.length > b->ipv4.length ? &a->ipv4 : &b->ipv4;
    if (overlap(&a->ipv6, &b->ipv6))
        return a->ipv6.length > b->ipv6.length ? &a->ipv6 : &b->ipv6;
    return NULL;
}

/* The same of two pools, or within one. */
static const struct prefix *shared(const struct address_pool *a, const struct address_pool *b)
{
    for (uint32_t i = 0; i < a->subnet_count; i++) {
        for (uint32_t j = a == b ? i + 1 : 0; j < b->subnet_count; j++) {
            const struct prefix *both = common(&a->subnets[i], &b->subnets[j]);
            if (both)
                return both;
        }
    }
    return NULL;
}

static void add(struct faults *faults, const struct address_pool *pool, const char *remedy,
                const char *message)
{
    AUTOFREE char *place = text_format("AddressPool %s", pool->object.name);
    faults_add(faults, place ? place : "AddressPool", remedy, "%s",
               message ? message : "conflicts");
}

static void check_pools(const struct address_pool *pool, const object_list *pools,
                        struct faults *faults)
{
    char buffer[PREFIX_STRLEN];
    vec_each(const struct object *const, other, pools) {
        bool later = object_precedence_cmp(*other, &pool->object) > 0;
        const struct prefix *both = later ? NULL : shared(pool, to_address_pool(*other));
        if (!both)
            continue;
        bool itself = *other == &pool->object;
        AUTOFREE char *message =
            text_format(itself ? "%s is in two of its subnets" : "%s is also of AddressPool %s",
                        prefix_str(both, buffer), (*other)->name);
        add(faults, pool,
            "pools must not overlap: no block is given twice, and fewer than they say", message);
        return;
    }
}

static bool has(const struct address_pool *pool, const struct ip *ip)
{
    for (uint32_t i = 0; i < pool->subnet_count; i++) {
        if (prefix_contains(&pool->subnets[i].ipv4, ip) ||
            prefix_contains(&pool->subnets[i].ipv6, ip))
            return true;
    }
    return false;
}

static void check_node(const struct address_pool *pool, const struct node *node,
                       const struct ip **ret_ip)
{
    for (uint32_t i = 0; !*ret_ip && i < node->address_count; i++) {
        if (has(pool, &node->addresses[i]))
            *ret_ip = &node->addresses[i];
    }
}

static void check_nodes(const struct store *store, const struct address_pool *pool,
                        struct faults *faults)
{
    char buffer[IP_STRLEN];
    const struct object *object, *first = NULL;
    const struct ip *of_first = NULL;
    for (size_t cursor = 0; (object = store_next(store, KIND_NODE, &cursor));) {
        const struct ip *ip = NULL;
        check_node(pool, to_node(object), &ip);
        if (ip && (!first || object_key_cmp(object, first) < 0)) {
            first = object;
            of_first = ip;
        }
    }
    if (!first)
        return;
    AUTOFREE char *message =
        text_format("has %s, the address of Node %s", ip_str(of_first, buffer), first->name);
    add(faults, pool, "pods would get the addresses of Nodes: make a pool of another network",
        message);
}

void pool_conflicts(const struct store *store, const object_list *pools, struct faults *faults)
{
    vec_each(const struct object *const, pool, pools) {
        check_pools(to_address_pool(*pool), pools, faults);
        check_nodes(store, to_address_pool(*pool), faults);
    }
}
