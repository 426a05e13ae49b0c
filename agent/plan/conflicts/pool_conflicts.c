// SPDX-License-Identifier: Apache-2.0
/*
 * Conflicts of pools; see pool_conflicts.h. Called by the controller's jobs of blocks and of
 * addresses, when a pool, a Node or a clusterIP has changed.
 *
 * They are only reported: pods may have used such a pool since before this program. Only
 * allocations avoid conflicts: a new block (block_table.h) never overlaps another one, and a
 * LoadBalancer address (assignment_choice.c) is never one in use elsewhere.
 */
#include "plan/conflicts/pool_conflicts.h"

#include "base/macro.h"
#include "base/text.h"
#include "faults/networks.h"
#include "faults/pools.h"
#include "model/address_block.h"
#include "model/node.h"
#include "model/pod.h"
#include "plan/object_fault.h"

static bool overlap(const struct prefix *a, const struct prefix *b)
{
    if (a->ip.family == IP_NONE || a->ip.family != b->ip.family)
        return false;
    return prefix_contains(a, &b->ip) || prefix_contains(b, &a->ip);
}

/* The intersection of two subnets: the longer prefix; NULL: none. */
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

static void check_pools(const struct address_pool *pool, const object_list *pools,
                        struct faults *faults)
{
    char buffer[PREFIX_STRLEN];
    vec_each(const struct object *const, other, pools) {
        bool later = object_precedence_cmp(*other, &pool->object) > 0;
        const struct prefix *both = later ? NULL : shared(pool, to_address_pool(*other));
        if (!both)
            continue;
        const char *network = prefix_str(both, buffer);
        if (*other == &pool->object)
            object_raise(faults, &pool->object, address_pool_overlaps_itself, .network = network);
        else
            object_raise(faults, &pool->object, address_pool_overlaps, .network = network,
                         .pool = (*other)->name);
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

/*
 * The object that has an address of a pool which is not for it: the first by name, and the address.
 */
struct intruder {
    const struct object *object; /* NULL: none */
    struct ip ip;
};

static void meet(struct intruder *first, const struct object *object, const struct ip *ip)
{
    if (!first->object || object_key_cmp(object, first->object) < 0)
        *first = (struct intruder){ object, *ip };
}

static void add_node(struct faults *faults, const struct object *pool,
                     const struct intruder *intruder)
{
    char buffer[IP_STRLEN];
    if (!intruder->object)
        return;
    const char *address = ip_str(&intruder->ip, buffer), *name = intruder->object->name;
    if (pool->kind == KIND_ADDRESS_POOL)
        object_raise(faults, pool, address_pool_has_node, .address = address, .node = name);
    else
        object_raise(faults, pool, pool_has_node_address, .address = address, .node = name);
}

static void add_service(struct faults *faults, const struct object *pool,
                        const struct intruder *intruder)
{
    char buffer[IP_STRLEN];
    const struct object *service = intruder->object;
    if (!service)
        return;
    const char *address = ip_str(&intruder->ip, buffer);
    AUTOFREE char *name = text_format("%s/%s", service->namespace, service->name);
    faults->incomplete |= !name;
    if (pool->kind == KIND_ADDRESS_POOL)
        object_raise(faults, pool, address_pool_has_service, .address = address, .service = name);
    else
        object_raise(faults, pool, pool_has_cluster_ip, .address = address, .service = name);
}

/* Calls for each address of each Node, and each clusterIP of each Service. */
static void each_network(const struct store *store,
                         void (*each)(void *context, const struct object *object,
                                      const struct ip *ip),
                         void *context)
{
    const struct object *object;
    for (size_t cursor = 0; (object = store_next(store, KIND_NODE, &cursor));) {
        const struct node *node = to_node(object);
        for (uint32_t i = 0; i < node->address_count; i++)
            each(context, object, &node->addresses[i]);
    }
    for (size_t cursor = 0; (object = store_next(store, KIND_SERVICE, &cursor));) {
        const struct service *service = to_service(object);
        for (uint32_t i = 0; i < service->address_count; i++) {
            if (service->addresses[i].origin == ADDRESS_CLUSTER)
                each(context, object, &service->addresses[i].ip);
        }
    }
}

/* ---- AddressPools ---- */

struct look {
    const struct address_pool *pool;
    struct intruder node, service;
};

static void look_at(void *context, const struct object *object, const struct ip *ip)
{
    struct look *look = context;
    if (has(look->pool, ip))
        meet(object->kind == KIND_NODE ? &look->node : &look->service, object, ip);
}

static void check_networks(const struct store *store, const struct address_pool *pool,
                           struct faults *faults)
{
    struct look look = { .pool = pool };
    each_network(store, look_at, &look);
    add_node(faults, &pool->object, &look.node);
    add_service(faults, &pool->object, &look.service);
}

/* A block without a node is announced by no node, but still allocated. */
static void check_blocks(const struct store *store, struct faults *faults)
{
    const struct object *object;
    for (size_t cursor = 0; (object = store_next(store, KIND_ADDRESS_BLOCK, &cursor));) {
        if (!*to_address_block(object)->node)
            object_raise(faults, object, block_without_node);
    }
}

void pool_conflicts(const struct store *store, const object_list *pools, struct faults *faults)
{
    vec_each(const struct object *const, pool, pools) {
        check_pools(to_address_pool(*pool), pools, faults);
        check_networks(store, to_address_pool(*pool), faults);
    }
    check_blocks(store, faults);
}

/* ---- IPAddressPools ---- */

struct survey {
    const struct pool_table *table;
    VEC(struct intruder) nodes, services; /* by index of the pool */
};

static void survey_done(struct survey *survey)
{
    vec_done(&survey->nodes);
    vec_done(&survey->services);
}

static void survey_address(void *context, const struct object *object, const struct ip *ip)
{
    struct survey *survey = context;
    const struct pool *pool = pool_at(survey->table, ip);
    if (!pool)
        return;
    size_t index = (size_t)(pool - survey->table->pools.items);
    meet(object->kind == KIND_NODE ? &survey->nodes.items[index] : &survey->services.items[index],
         object, ip);
}

/* Of serviceAllocation: a missing Namespace has no Services. */
static void check_namespaces(const struct store *store, const struct ip_pool *pool,
                             struct faults *faults)
{
    for (uint32_t i = 0; i < pool->namespaces.count; i++) {
        const char *name = pool->namespaces.items[i];
        if (store_get(store, KIND_NAMESPACE, "", name))
            continue;
        object_raise(faults, &pool->object, pool_namespace_unknown, .namespace = name);
        return;
    }
}

static bool select_any(const struct store *store, const struct object_selectors *selectors)
{
    const struct object *object;
    for (size_t cursor = 0; (object = store_next(store, KIND_NAMESPACE, &cursor));) {
        const struct namespace *namespace = to_namespace(object);
        if (object_selectors_match(selectors, namespace->labels, namespace->label_count))
            return true;
    }
    return false;
}

/* Without any Namespace this is not checked. */
static void check_allocation(const struct store *store, const struct ip_pool *pool,
                             struct faults *faults)
{
    if (store_count(store, KIND_NAMESPACE) == 0)
        return;
    check_namespaces(store, pool, faults);
    if (pool->namespace_selectors.count && !select_any(store, &pool->namespace_selectors))
        object_raise(faults, &pool->object, pool_selects_no_namespace);
}

/* A subnet of an AddressPool that overlaps the range; NULL: none. */
static const struct prefix *subnet_in(const struct address_pool *pods, const struct ip_range *range)
{
    for (uint32_t i = 0; i < pods->subnet_count; i++) {
        const struct prefix *nets[] = { &pods->subnets[i].ipv4, &pods->subnets[i].ipv6 };
        for (size_t k = 0; k < ARRAY_SIZE(nets); k++) {
            if (nets[k]->ip.family == range->first.family &&
                (prefix_contains(nets[k], &range->first) || ip_range_contains(range, &nets[k]->ip)))
                return nets[k];
        }
    }
    return NULL;
}

static void check_pods(const struct store *store, const struct ip_pool *pool, struct faults *faults)
{
    const struct object *object;
    char first[IP_RANGE_STRLEN], second[PREFIX_STRLEN];
    for (size_t cursor = 0; (object = store_next(store, KIND_ADDRESS_POOL, &cursor));) {
        for (uint32_t i = 0; i < pool->range_count; i++) {
            const struct prefix *subnet = subnet_in(to_address_pool(object), &pool->ranges[i]);
            if (!subnet)
                continue;
            object_raise(faults, &pool->object, pool_overlaps_address_pool,
                         .range = ip_range_str(&pool->ranges[i], first),
                         .subnet = prefix_str(subnet, second), .pool = object->name);
            return;
        }
    }
}

void ip_pool_conflicts(const struct store *store, const struct pool_table *table,
                       struct faults *faults)
{
    static const struct intruder nobody;
    CLEANUP(survey_done) struct survey survey = { .table = table };
    for (size_t i = 0; i < table->pools.count; i++) {
        if (vec_push(&survey.nodes, nobody) < 0 || vec_push(&survey.services, nobody) < 0) {
            faults->incomplete = true;
            return;
        }
    }
    each_network(store, survey_address, &survey);
    for (size_t i = 0; i < table->pools.count; i++) {
        const struct object *pool = &table->pools.items[i].object->object;
        check_allocation(store, to_ip_pool(pool), faults);
        check_pods(store, to_ip_pool(pool), faults);
        add_node(faults, pool, &survey.nodes.items[i]);
        add_service(faults, pool, &survey.services.items[i]);
    }
}
