// SPDX-License-Identifier: Apache-2.0
/*
 * Lookups of pools and advertisements for the planners of routes and NAT; called by claim.c.
 *
 * There are few of these objects and many addresses, so each lookup iterates over the objects and
 * caches nothing. An advertisement selects pools, Services and Nodes; empty lists select
 * everything, as in MetalLB. BGP follows BGPAdvertisements: an L2Advertisement affects only the
 * reason.
 */
#include "plan/pools/advertised.h"

#include <errno.h>
#include <string.h>

#include "model/advertisement.h"

static bool has_address(const struct ip_pool *pool, const struct ip *ip)
{
    for (uint32_t i = 0; i < pool->range_count; i++) {
        if (ip_range_contains(&pool->ranges[i], ip))
            return true;
    }
    return false;
}

const struct ip_pool *advertised_pool(const struct store *store, const struct ip *ip)
{
    const struct object *oldest = NULL, *object;
    for (size_t cursor = 0; (object = store_next(store, KIND_IP_POOL, &cursor));) {
        if (has_address(to_ip_pool(object), ip) &&
            (!oldest || object_precedence_cmp(object, oldest) < 0))
            oldest = object;
    }
    return oldest ? to_ip_pool(oldest) : NULL;
}

static bool selects_pool(const struct advertisement *advertisement, const struct ip_pool *pool)
{
    if (advertisement->pools.count == 0 && advertisement->pool_selectors.count == 0)
        return true;
    return name_list_has(&advertisement->pools, pool->object.name) ||
           object_selectors_match(&advertisement->pool_selectors, pool->labels, pool->label_count);
}

static bool selects_service(const struct advertisement *advertisement,
                            const struct service *service)
{
    return advertisement->service_selectors.count == 0 ||
           object_selectors_match(&advertisement->service_selectors, service->labels,
                                  service->label_count);
}

static bool selects_node(const struct advertisement *advertisement, const struct node *node)
{
    return advertisement->node_selectors.count == 0 ||
           object_selectors_match(&advertisement->node_selectors, node ? node->labels : NULL,
                                  node ? node->label_count : 0);
}

/* Which checks the address has passed among the advertisements of a kind. */
struct selected {
    bool at_all, here;
};

static struct selected select_by(const struct store *store, enum kind kind,
                                 const struct ip_pool *pool, const struct service *service,
                                 const struct node *node)
{
    const struct object *object;
    struct selected selected = { 0 };
    for (size_t cursor = 0; (object = store_next(store, kind, &cursor));) {
        const struct advertisement *advertisement = to_advertisement(object);
        if (!selects_pool(advertisement, pool) || !selects_service(advertisement, service))
            continue;
        selected.at_all = true;
        selected.here |= selects_node(advertisement, node);
    }
    return selected;
}

static bool has_advertisements(const struct store *store)
{
    return store_count(store, KIND_BGP_ADVERTISEMENT) || store_count(store, KIND_L2_ADVERTISEMENT);
}

enum address_reason advertised_at(const struct store *store, const struct service *service,
                                  const struct ip *ip, const struct node *node)
{
    const struct ip_pool *pool = has_advertisements(store) ? advertised_pool(store, ip) : NULL;
    if (!pool)
        return REASON_ANNOUNCED;
    struct selected bgp = select_by(store, KIND_BGP_ADVERTISEMENT, pool, service, node);
    if (bgp.here)
        return REASON_ANNOUNCED;
    if (bgp.at_all)
        return REASON_OTHER_NODES;
    struct selected l2 = select_by(store, KIND_L2_ADVERTISEMENT, pool, service, node);
    return l2.at_all ? REASON_L2_ONLY : REASON_NO_ADVERTISEMENT;
}

enum address_reason advertised_here(const struct node_facts *facts, const struct service *service,
                                    const struct ip *ip)
{
    const struct object *own = store_get(facts->store, KIND_NODE, "", facts->config->node);
    return advertised_at(facts->store, service, ip, own ? to_node(own) : NULL);
}

static bool selects_interface(const struct advertisement *advertisement, const char *interface)
{
    return advertisement->interfaces.count == 0 ||
           name_list_has(&advertisement->interfaces, interface);
}

bool advertised_on_segment(const struct store *store, const struct service *service,
                           const struct ip *ip, const struct node *node, const char *interface)
{
    const struct object *object;
    const struct ip_pool *pool =
        store_count(store, KIND_L2_ADVERTISEMENT) ? advertised_pool(store, ip) : NULL;
    for (size_t cursor = 0; pool && (object = store_next(store, KIND_L2_ADVERTISEMENT, &cursor));) {
        const struct advertisement *advertisement = to_advertisement(object);
        if (selects_pool(advertisement, pool) && selects_service(advertisement, service) &&
            (!node || selects_node(advertisement, node)) &&
            (!interface || selects_interface(advertisement, interface)))
            return true;
    }
    return false;
}

int advertised_by(const struct store *store, const struct service *service, const struct ip *ip,
                  mark_list *ret_marks)
{
    const struct object *object;
    const struct ip_pool *pool =
        store_count(store, KIND_L2_ADVERTISEMENT) ? advertised_pool(store, ip) : NULL;
    for (size_t cursor = 0; pool && (object = store_next(store, KIND_L2_ADVERTISEMENT, &cursor));) {
        const struct advertisement *advertisement = to_advertisement(object);
        if (selects_pool(advertisement, pool) && selects_service(advertisement, service) &&
            vec_push(ret_marks, advertisement) < 0)
            return -ENOMEM;
    }
    return 0;
}

bool advertised_affected(const struct node_facts *facts, const struct change *change)
{
    const struct object *any = change->after ? change->after : change->before;
    switch (any->kind) {
    case KIND_IP_POOL:
    case KIND_BGP_ADVERTISEMENT:
    case KIND_L2_ADVERTISEMENT:
        return true;
    case KIND_NODE: /* selectors may match its labels */
        return strcmp(any->name, facts->config->node) == 0 && has_advertisements(facts->store);
    default:
        return false;
    }
}
