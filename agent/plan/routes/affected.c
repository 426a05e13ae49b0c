// SPDX-License-Identifier: Apache-2.0
/*
 * Which addresses and blocks must be planned again after an object changes; see affected.h.
 *
 * Called by the daemon for every change that the store reports. If a case is missing here, a full
 * pass finds a difference, which tests and daemon both treat as a defect.
 */
#include "plan/routes/affected.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "model/address_block.h"
#include "model/node.h"
#include "model/services/service.h"
#include "plan/pools/advertised.h"

static int push_service(const struct object *object, ip_list *addresses)
{
    const struct service *service = to_service(object);
    for (uint32_t i = 0; i < service->address_count; i++) {
        if (vec_push(addresses, service->addresses[i].ip) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int push_slice(const struct node_facts *facts, const struct object *object,
                      ip_list *addresses)
{
    const struct endpoint_slice *slice = to_endpoint_slice(object);
    const struct object *service =
        store_get(facts->store, KIND_SERVICE, object->namespace, slice->service);
    return service ? push_service(service, addresses) : 0;
}

static int push_node(const struct object *object, ip_list *addresses)
{
    const struct node *node = to_node(object);
    for (uint32_t i = 0; i < node->address_count; i++) {
        if (vec_push(addresses, node->addresses[i]) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* This node's eligibility affects every address. */
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

/*
 * The addresses that one version of the object affects; NULL: the object did not, does not exist.
 */
static int push_version(const struct node_facts *facts, const struct object *version,
                        ip_list *addresses)
{
    if (!version)
        return 0;
    switch (version->kind) {
    case KIND_SERVICE:
        return push_service(version, addresses);
    case KIND_ENDPOINT_SLICE:
        return push_slice(facts, version, addresses);
    case KIND_NODE:
        return push_node(version, addresses);
    default: /* a block is a unit of its own, other kinds do not matter */
        return 0;
    }
}

int plan_affected_addresses(const struct node_facts *facts, const struct change *change,
                            ip_list *addresses, bool *ret_all)
{
    const struct object *any = change->after ? change->after : change->before;
    if ((any->kind == KIND_NODE && node_eligibility_changed(facts, change)) ||
        advertised_affected(facts, change))
        *ret_all = true;
    int r = push_version(facts, change->before, addresses);
    return r < 0 ? r : push_version(facts, change->after, addresses);
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
