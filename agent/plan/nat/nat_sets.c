// SPDX-License-Identifier: Apache-2.0
/*
 * Which endpoints a flow may be sent to: the cluster set and the local set of one service port.
 *
 * The rules are those of kube-proxy's CategorizeEndpoints(). A set has the ready endpoints; of
 * these the cluster set keeps the near ones, by their hints. A set that is then empty uses the
 * endpoints that serve while they terminate, near or not; each set separately. Hints count only if
 * every ready endpoint has a hint of the kind and one of them names this node or its zone. Hints
 * for nodes are tried first, then hints for zones. So hints never make a set empty, and the cluster
 * set is empty only if no endpoint is usable anywhere.
 *
 * A third list has all serving endpoints. A UDP flow, which has no explicit end, stays with its
 * endpoint while the endpoint is in that list, even if it gets no new flows.
 */
#include "plan/nat/nat_sets.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "plan/nat/endpoints.h"
#include "plan/nat/nat_addresses.h"

typedef VEC(struct backend) backend_list;

enum nearness { ANYWHERE, SAME_NODE, SAME_ZONE };

/* The node for which sets are determined. */
struct here {
    const char *node, *zone; /* zone "": unknown, no hint is for it */
};

static int keep(void *context, const struct backend *backend)
{
    return vec_push((backend_list *)context, *backend);
}

static bool names_one(const char *const *names, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (*name && strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static bool is_near(const struct endpoint *endpoint, enum nearness nearness,
                    const struct here *here)
{
    const struct endpoint_hints *hints = endpoint->hints;
    switch (nearness) {
    case ANYWHERE:
        return true;
    case SAME_NODE:
        return hints && names_one(hints->nodes, hints->node_count, here->node);
    case SAME_ZONE:
        return hints && names_one(hints->zones, hints->zone_count, here->zone);
    }
    return false;
}

static bool has_hints(const struct endpoint *endpoint, enum nearness nearness)
{
    const struct endpoint_hints *hints = endpoint->hints;
    return hints && (nearness == SAME_NODE ? hints->node_count : hints->zone_count) > 0;
}

/* The conditions: every ready endpoint has a hint of the kind, and one of them is for this node. */
static bool is_believed(const backend_list *list, enum nearness nearness, const struct here *here)
{
    bool found = false;
    vec_each(const struct backend, backend, list) {
        if (!backend->endpoint->ready)
            continue;
        if (!has_hints(backend->endpoint, nearness))
            return false;
        found |= is_near(backend->endpoint, nearness, here);
    }
    return found;
}

static enum nearness nearness_of(const backend_list *list, const struct here *here)
{
    if (is_believed(list, SAME_NODE, here))
        return SAME_NODE;
    return is_believed(list, SAME_ZONE, here) ? SAME_ZONE : ANYWHERE;
}

static void unite(nat_endpoint_list *set)
{
    vec_sort(set, nat_endpoint_cmp);
    vec_drop_equal(set, nat_endpoint_cmp);
}

/* Selects the ready and near endpoints, or all terminating ones; only of this node, if `local`. */
static int select_set(const backend_list *list, bool ready, bool local, enum nearness nearness,
                      const struct here *here, nat_endpoint_list *set)
{
    vec_each(const struct backend, backend, list) {
        const struct endpoint *endpoint = backend->endpoint;
        if (!endpoint_is_usable(endpoint) || endpoint->ready != ready ||
            (local && !backend->local) || !is_near(endpoint, nearness, here))
            continue;
        struct nat_endpoint chosen = { .ip = endpoint->ip, .port = backend->port };
        if (vec_push(set, chosen) < 0)
            return -ENOMEM;
    }
    unite(set);
    return 0;
}

static int fill_set(const backend_list *list, bool local, enum nearness nearness,
                    const struct here *here, nat_endpoint_list *set)
{
    int r = select_set(list, true, local, nearness, here, set);
    if (r < 0 || set->count > 0)
        return r;
    return select_set(list, false, local, ANYWHERE, here, set);
}

static int fill_serving(const backend_list *list, nat_endpoint_list *serving)
{
    vec_each(const struct backend, backend, list) {
        if (vec_push(serving, (struct nat_endpoint){ backend->endpoint->ip, backend->port }) < 0)
            return -ENOMEM;
    }
    unite(serving);
    return 0;
}

int nat_port_sets(const struct node_facts *facts, const struct service *service,
                  const struct service_port *port, uint8_t family, struct nat_port *ret_port)
{
    const struct node *node = nat_this_node(facts);
    const struct here here = { facts->config->node, node ? node->zone : "" };
    AUTOVEC backend_list list = { 0 };
    nat_endpoint_list *sets = ret_port->sets;

    int r = endpoints_each(facts, service, port, family, keep, &list);
    if (r < 0)
        return r;
    r = fill_set(&list, false, nearness_of(&list, &here), &here, &sets[NAT_SET_CLUSTER]);
    if (r < 0)
        return r;
    r = fill_set(&list, true, ANYWHERE, &here, &sets[NAT_SET_LOCAL]);
    if (r < 0)
        return r;
    return fill_serving(&list, &ret_port->serving);
}

static int keep_local_ready(void *context, const struct backend *backend)
{
    if (!backend->local || !backend->endpoint->ready)
        return 0;
    return vec_push((nat_endpoint_list *)context,
                    (struct nat_endpoint){ backend->endpoint->ip, 0 });
}

int nat_local_ready(const struct node_facts *facts, const struct service *service, uint8_t family,
                    uint32_t *ret_count)
{
    AUTOVEC nat_endpoint_list found = { 0 };
    int r = endpoints_each_of_any(facts, service, family, keep_local_ready, &found);
    if (r < 0)
        return r;
    unite(&found);
    *ret_count = (uint32_t)found.count;
    return 0;
}
