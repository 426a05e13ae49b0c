// SPDX-License-Identifier: Apache-2.0
/*
 * See holding_nodes.h. Called by holdings.c.
 *
 * Most claims of a cluster are of the same kind: the same advertisements select their addresses,
 * and any node is eligible. So the nodes of a claim are determined once per kind. A kind consists
 * of what decides about other nodes: whether there are endpoints anywhere, which L2Advertisements
 * select the address, and, where the policy is Local, the Service and the family itself.
 */
#include "plan/claims/holding_nodes.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "plan/nat/endpoints.h"
#include "plan/pools/advertised.h"
#include "plan/routes/claim.h"

void claim_kinds_done(claim_kinds *kinds)
{
    vec_each(struct kind_of_claim, kind, kinds) {
        vec_done(&kind->marks);
        contenders_drop(kind->others);
    }
    vec_done(kinds);
}

/* ---- One node ---- */

/* `node` NULL: on any node. */
static int is_at(void *context, const struct backend *backend)
{
    const char *node = context;
    return endpoint_is_usable(backend->endpoint) &&
           (!node || strcmp(backend->endpoint->node_name, node) == 0);
}

static int port_is_at(const struct wanted *wanted, const struct service *service, uint32_t port,
                      const char *node)
{
    return endpoints_each(wanted->inputs->node, service, &service->ports[port], wanted->ip.family,
                          is_at, (void *)node);
}

/* Returns 1, 0, or -ENOMEM. */
static int has_endpoint(const struct wanted *wanted, const struct service *service,
                        const char *node)
{
    const char *where = service->external_local ? node : NULL;
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < service->port_count; i++)
        r = port_is_at(wanted, service, i, where);
    return r;
}

/* Whether the port has usable endpoints, and none of them on the node. */
static int is_elsewhere(const struct wanted *wanted, const struct service *service, uint32_t port,
                        const char *node)
{
    int r = port_is_at(wanted, service, port, node);
    if (r != 0)
        return r < 0 ? r : 0;
    return port_is_at(wanted, service, port, NULL);
}

int wanted_lacks(const struct wanted *wanted, const char *node, struct lost_port *ret_lost)
{
    vec_each(const struct service *const, service, &wanted->services) {
        for (uint32_t i = 0; (*service)->external_local && i < (*service)->port_count; i++) {
            int r = is_elsewhere(wanted, *service, i, node);
            if (r > 0)
                *ret_lost = (struct lost_port){ *service, &(*service)->ports[i] };
            if (r != 0)
                return r;
        }
    }
    return 0;
}

bool wanted_selects(const struct wanted *wanted, const struct service *service,
                    const struct node *node, const char *interface)
{
    const struct node_facts *facts = wanted->inputs->node;
    return claim_in_ranges(&facts->config->addresses.claim, &wanted->ip) ||
           advertised_on_segment(facts->store, service, &wanted->ip, node, interface);
}

int wanted_judge(const struct wanted *wanted, const struct node *node, const char *name)
{
    const struct node_facts *facts = wanted->inputs->node;
    int reason = node || store_count(facts->store, KIND_NODE)
                     ? (int)placement_of_node(node, facts->config->source.manifests != NULL)
                     : PLACEMENT_MAY;
    if (reason != PLACEMENT_MAY || wanted->services.count == 0)
        return reason;
    reason = PLACEMENT_OTHER_NODES;
    vec_each(const struct service *const, service, &wanted->services) {
        if (!wanted_selects(wanted, *service, node, NULL))
            continue;
        int r = has_endpoint(wanted, *service, name);
        if (r != 0)
            return r < 0 ? r : PLACEMENT_MAY;
        reason = PLACEMENT_NO_ENDPOINT;
    }
    return reason;
}

/* ---- Kinds ---- */

/* Adds the key for one Service; nothing if it has no endpoint anywhere. */
static int mark_service(const struct wanted *wanted, const struct service *service,
                        mark_list *marks)
{
    static const char ranges, families[2];
    const struct node_facts *facts = wanted->inputs->node;
    int r = service->external_local ? 1 : has_endpoint(wanted, service, NULL);
    if (r <= 0)
        return r;
    r = claim_in_ranges(&facts->config->addresses.claim, &wanted->ip)
            ? vec_push(marks, &ranges)
            : advertised_by(facts->store, service, &wanted->ip, marks);
    if (r < 0)
        return r;
    if (service->external_local) {
        r = vec_push(marks, service);
        r = r < 0 ? r : vec_push(marks, &families[wanted->ip.family == IP_V4]);
    }
    return r < 0 ? r : vec_push(marks, NULL);
}

static int mark(const struct wanted *wanted, mark_list *marks)
{
    static const char own;
    if (wanted->services.count == 0)
        return vec_push(marks, &own);
    vec_each(const struct service *const, service, &wanted->services) {
        int r = mark_service(wanted, *service, marks);
        if (r < 0)
            return r;
    }
    return 0;
}

static struct contenders *known_kind(const claim_kinds *kinds, const mark_list *marks)
{
    vec_each(const struct kind_of_claim, kind, kinds) {
        if (kind->marks.count == marks->count &&
            (marks->count == 0 ||
             memcmp(kind->marks.items, marks->items, marks->count * sizeof(*marks->items)) == 0))
            return kind->others;
    }
    return NULL;
}

static int add_contender(const struct wanted *wanted, const struct node *node, const char *name,
                         struct contenders *others)
{
    struct lost_port lost;
    int r = wanted_judge(wanted, node, name);
    if (r != PLACEMENT_MAY)
        return MIN(r, 0);
    r = contenders_add(others, name, 0);
    if (r < 0)
        return r;
    r = wanted_lacks(wanted, name, &lost);
    if (r > 0)
        contenders_lacks(others);
    return MIN(r, 0);
}

static int find_others(const struct wanted *wanted, struct contenders *others)
{
    const struct node_facts *facts = wanted->inputs->node;
    const struct object *object;
    for (size_t cursor = 0; (object = store_next(facts->store, KIND_NODE, &cursor));) {
        if (strcmp(object->name, facts->config->node) == 0)
            continue;
        int r = add_contender(wanted, to_node(object), object->name, others);
        if (r < 0)
            return r;
    }
    contenders_sort(others);
    return 0;
}

int wanted_others(const struct wanted *wanted, claim_kinds *kinds, struct contenders **ret_others)
{
    AUTOVEC mark_list marks = { 0 };
    int r = mark(wanted, &marks);
    if (r < 0)
        return r;
    struct contenders *known = known_kind(kinds, &marks);
    if (known) {
        *ret_others = contenders_share(known);
        return 0;
    }
    CLEANUP(contenders_dropp) struct contenders *others = contenders_new();
    r = others ? find_others(wanted, others) : -ENOMEM;
    r = r < 0 ? r : vec_reserve(kinds, 1);
    if (r < 0)
        return r;
    struct kind_of_claim kind = { .others = contenders_share(others) };
    vec_move(&kind.marks, &marks);
    kinds->items[kinds->count++] = kind;
    *ret_others = TAKE_PTR(others);
    return 0;
}
