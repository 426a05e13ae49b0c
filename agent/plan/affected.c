// SPDX-License-Identifier: Apache-2.0
/*
 * From a changed object to the addresses that must be planned again. This is what keeps the work in
 * proportion to the change; a missing case here shows as a full pass that finds something, which
 * the tests and the daemon both treat as a defect.
 */
#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "model/node.h"
#include "plan/routes.h"

static int push_service(const struct object *object, ip_list *addresses)
{
    const struct service *service = object ? to_service(object) : NULL;
    for (uint32_t i = 0; service && i < service->address_count; i++) {
        if (vec_push(addresses, service->addresses[i].ip) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int push_slice(const struct node_facts *facts, const struct object *object,
                      ip_list *addresses)
{
    if (!object)
        return 0;
    const struct endpoint_slice *slice = to_endpoint_slice(object);
    return push_service(store_get(facts->store, KIND_SERVICE, object->namespace, slice->service),
                        addresses);
}

static int push_node(const struct object *object, ip_list *addresses)
{
    const struct node *node = object ? to_node(object) : NULL;
    for (uint32_t i = 0; node && i < node->address_count; i++) {
        if (vec_push(addresses, node->addresses[i]) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* This node's eligibility decides over every address. */
static bool node_eligibility_changed(const struct node_facts *facts, const struct change *change)
{
    static const struct node absent = { 0 };
    const struct object *any = change->after ? change->after : change->before;
    if (strcmp(any->name, facts->config->node) != 0)
        return false;
    const struct node *before = change->before ? to_node(change->before) : &absent;
    const struct node *after = change->after ? to_node(change->after) : &absent;
    return before->excluded != after->excluded ||
           before->network_unavailable != after->network_unavailable;
}

int plan_affected_addresses(const struct node_facts *facts, const struct change *change,
                            ip_list *addresses, bool *ret_all)
{
    const struct object *any = change->after ? change->after : change->before;
    int r = 0, second = 0;

    switch (any->kind) {
    case KIND_SERVICE:
        r = push_service(change->before, addresses);
        second = push_service(change->after, addresses);
        break;
    case KIND_ENDPOINT_SLICE:
        r = push_slice(facts, change->before, addresses);
        second = push_slice(facts, change->after, addresses);
        break;
    case KIND_NODE:
        if (node_eligibility_changed(facts, change))
            *ret_all = true;
        r = push_node(change->before, addresses);
        second = push_node(change->after, addresses);
        break;
    case KIND_ADDRESS_BLOCK: /* a unit of its own */
    case KIND_NAMESPACE:
    case KIND_POD:
    case KIND_ADDRESS_POOL:
    case KIND_EGRESS:
    case KIND_COUNT:
        break;
    }
    return r < 0 ? r : second;
}

bool plan_affected_blocks(const struct node_facts *facts, const struct change *change)
{
    const struct object *versions[] = { change->before, change->after };
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        if (versions[i] && versions[i]->kind == KIND_ADDRESS_BLOCK &&
            strcmp(to_address_block(versions[i])->node, facts->config->node) == 0)
            return true;
    }
    return false;
}
