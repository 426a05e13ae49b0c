// SPDX-License-Identifier: Apache-2.0
/*
 * This node's blocks against pools, Nodes and each other, and Namespaces against pools; see
 * block_conflicts.h. Called by the engine of conflicts. Other nodes report their own blocks
 * (node_conflicts.c); a block that belongs to no Node is reported at its line of the file.
 */
#include "plan/conflicts/block_conflicts.h"

#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "faults/networks.h"
#include "model/address_block.h"
#include "model/node.h"
#include "model/pod.h"
#include "plan/link_table.h"
#include "plan/object_fault.h"
#include "plan/pods/pool_blocks.h"

struct look {
    const struct store *store;
    const struct config *config;
    struct faults *faults;
};

static bool is_inside(const struct prefix *outer, const struct prefix *inner)
{
    return outer->ip.family == inner->ip.family && outer->length <= inner->length &&
           prefix_contains(outer, &inner->ip);
}

static bool overlap(const struct prefix *a, const struct prefix *b)
{
    return is_inside(a, b) || is_inside(b, a);
}

static bool is_in_setting(const struct look *look, const struct prefix *prefix)
{
    vec_each(const struct prefix, net, &look->config->services.cluster_cidrs) {
        if (is_inside(net, prefix))
            return true;
    }
    return false;
}

/*
 * Whether the setting has another block of this node of that family: if it has none of them, the
 * setting is wrong (network_conflicts.c).
 */
static bool has_others(const struct look *look, uint8_t family)
{
    const struct object *object;
    for (size_t cursor = 0; (object = store_next(look->store, KIND_ADDRESS_BLOCK, &cursor));) {
        const struct address_block *block = to_address_block(object);
        const struct prefix *prefix = family == IP_V4 ? &block->ipv4 : &block->ipv6;
        if (strcmp(block->node, look->config->node) == 0 && is_in_setting(look, prefix))
            return true;
    }
    return false;
}

static void check_setting(const struct look *look, const struct address_block *block,
                          const struct prefix *prefix)
{
    char buffer[PREFIX_STRLEN];
    if (!look->config->services.enabled || is_in_setting(look, prefix) ||
        !has_others(look, prefix->ip.family))
        return;
    object_raise(look->faults, &block->object, block_outside_setting,
                 .network = prefix_str(prefix, buffer));
}

static void check_nodes(const struct look *look, const struct address_block *block,
                        const struct prefix *prefix)
{
    const struct object *object;
    char buffer[IP_STRLEN];
    for (size_t cursor = 0; (object = store_next(look->store, KIND_NODE, &cursor));) {
        const struct node *node = to_node(object);
        for (uint32_t i = 0; i < node->address_count; i++) {
            if (!prefix_contains(prefix, &node->addresses[i]))
                continue;
            object_raise(look->faults, &block->object, block_has_node_address,
                         .address = ip_str(&node->addresses[i], buffer), .node = object->name);
            return;
        }
    }
}

/* Of two overlapping blocks the later one by name is reported. Returns whether it is this one. */
static bool check_twins(const struct look *look, const struct address_block *block,
                        const struct prefix *prefix)
{
    const struct object *object;
    char buffer[PREFIX_STRLEN];
    for (size_t cursor = 0; (object = store_next(look->store, KIND_ADDRESS_BLOCK, &cursor));) {
        const struct address_block *other = to_address_block(object);
        if (strcmp(other->node, block->node) != 0 ||
            strcmp(object->name, block->object.name) >= 0 ||
            (!overlap(&other->ipv4, prefix) && !overlap(&other->ipv6, prefix)))
            continue;
        object_raise(look->faults, &block->object, block_overlaps_own,
                     .network = prefix_str(prefix, buffer), .other = object->name);
        return true;
    }
    return false;
}

static bool same(const struct prefix *a, const struct prefix *b)
{
    return prefix_cmp(a, b) == 0;
}

/*
 * The index determines the block's part of the pool. In files the index is not used for allocation.
 */
static void check_index(const struct look *look, const struct address_block *block,
                        const struct address_pool *pool)
{
    struct pool_block wanted;
    char v4[PREFIX_STRLEN], v6[PREFIX_STRLEN];
    const bool known = pool_block_at(pool, block->index, &wanted);
    if (*block->object.file ||
        (known && same(&wanted.ipv4, &block->ipv4) && same(&wanted.ipv6, &block->ipv6)))
        return;
    if (!known) {
        object_raise(look->faults, &block->object, block_index_unknown, .index = block->index,
                     .pool = block->pool);
        return;
    }
    AUTOFREE char *networks =
        text_format("%s%s%s", wanted.ipv4.ip.family ? prefix_str(&wanted.ipv4, v4) : "",
                    wanted.ipv4.ip.family && wanted.ipv6.ip.family ? " and " : "",
                    wanted.ipv6.ip.family ? prefix_str(&wanted.ipv6, v6) : "");
    object_raise(look->faults, &block->object, block_index_wrong, .index = block->index,
                 .pool = block->pool, .networks = networks);
}

/* Returns false if the block is not in its pool. */
static bool check_pool(const struct look *look, const struct address_block *block)
{
    const struct object *object = store_get(look->store, KIND_ADDRESS_POOL, "", block->pool);
    const struct prefix *prefix = block->ipv4.ip.family ? &block->ipv4 : &block->ipv6;
    char buffer[PREFIX_STRLEN];
    if (store_count(look->store, KIND_ADDRESS_POOL) == 0 || !*block->pool)
        return true;
    if (!object) {
        object_raise(look->faults, &block->object, block_pool_unknown, .pool = block->pool);
        return false;
    }
    const struct address_pool *pool = to_address_pool(object);
    for (uint32_t i = 0; i < pool->subnet_count; i++) {
        if (is_inside(&pool->subnets[i].ipv4, prefix) ||
            is_inside(&pool->subnets[i].ipv6, prefix)) {
            check_index(look, block, pool);
            return true;
        }
    }
    object_raise(look->faults, &block->object, block_outside_pool,
                 .network = prefix_str(prefix, buffer), .pool = block->pool);
    return false;
}

static void check_own(const struct look *look, const struct address_block *block)
{
    const struct prefix *const prefixes[] = { &block->ipv4, &block->ipv6 };
    const bool of_pool = check_pool(look, block);
    bool is_twin = false;
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
        if (prefixes[i]->ip.family == IP_NONE)
            continue;
        if (of_pool)
            check_setting(look, block, prefixes[i]);
        check_nodes(look, block, prefixes[i]);
        is_twin = is_twin || check_twins(look, block, prefixes[i]);
    }
}

/* Without any Node this is not checked. */
static void check_stray(const struct look *look, const struct address_block *block)
{
    if (!*block->object.file || store_count(look->store, KIND_NODE) == 0 ||
        (*block->node && store_get(look->store, KIND_NODE, "", block->node)))
        return;
    if (*block->node)
        object_raise(look->faults, &block->object, block_node_missing, .node = block->node);
    else
        object_raise(look->faults, &block->object, block_without_node);
}

/* A pool may be known only by its blocks. */
static bool has_pool(const struct store *store, const char *name)
{
    const struct object *object;
    if (store_get(store, KIND_ADDRESS_POOL, "", name))
        return true;
    for (size_t cursor = 0; (object = store_next(store, KIND_ADDRESS_BLOCK, &cursor));) {
        if (strcmp(to_address_block(object)->pool, name) == 0)
            return true;
    }
    return false;
}

/* A missing pool that is only the Namespace's default is not in use yet. */
static void check_namespace(const struct look *look, const struct namespace *namespace)
{
    if (strcmp(namespace->pool, "default") == 0 || has_pool(look->store, namespace->pool))
        return;
    object_raise(look->faults, &namespace->object, namespace_pool_unknown,
                 .pool = *namespace->pool ? namespace->pool : "\"\"");
}

void block_conflicts(const struct store *store, const struct config *config, struct faults *faults)
{
    const struct look look = { store, config, faults };
    const struct object *object;
    for (size_t cursor = 0; (object = store_next(store, KIND_ADDRESS_BLOCK, &cursor));) {
        const struct address_block *block = to_address_block(object);
        if (strcmp(block->node, config->node) == 0)
            check_own(&look, block);
        check_stray(&look, block);
    }
    if (!config->pods.enabled && store_count(store, KIND_ADDRESS_POOL) == 0)
        return;
    for (size_t cursor = 0; (object = store_next(store, KIND_NAMESPACE, &cursor));)
        check_namespace(&look, to_namespace(object));
}

static bool is_of_node(const struct node *node, const struct ip *ip)
{
    for (uint32_t i = 0; i < node->address_count; i++) {
        if (ip_equal(&node->addresses[i], ip))
            return true;
    }
    return false;
}

static void check_link(const struct look *look, const struct address_block *block,
                       const struct link_address *own, const struct sorted *links)
{
    const struct prefix network = ip_network(&own->ip, own->length);
    const struct prefix *const prefixes[] = { &block->ipv4, &block->ipv6 };
    const struct link *link = link_find(links, own->ifindex);
    char prefix[PREFIX_STRLEN], net[PREFIX_STRLEN], ip[IP_STRLEN];
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
        if (prefixes[i]->ip.family == IP_NONE || !overlap(prefixes[i], &network))
            continue;
        object_raise(look->faults, &block->object, block_overlaps_link,
                     .network = prefix_str(prefixes[i], prefix),
                     .connected = prefix_str(&network, net), .address = ip_str(&own->ip, ip),
                     .interface = link ? link->name : "an interface");
    }
}

void block_link_conflicts(const struct store *store, const struct config *config,
                          const struct sorted *link_addresses, const struct sorted *links,
                          struct faults *faults)
{
    const struct look look = { store, config, faults };
    const struct object *self = store_get(store, KIND_NODE, "", config->node), *object;
    for (size_t cursor = 0; self && (object = store_next(store, KIND_ADDRESS_BLOCK, &cursor));) {
        const struct address_block *block = to_address_block(object);
        if (strcmp(block->node, config->node) != 0)
            continue;
        sorted_each(const struct link_address, own, link_addresses) {
            if (own->length < ip_bits(&own->ip) && is_of_node(to_node(self), &own->ip))
                check_link(&look, block, own, links);
        }
    }
}
