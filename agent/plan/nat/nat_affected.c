// SPDX-License-Identifier: Apache-2.0
/*
 * Which Services' NAT must be planned again after an object changes; affected.c is the same for
 * routes.
 *
 * A change of a Service alters the rows of the Service itself, of Services with which it shares an
 * address or a node port (the older one has the port, and a ClusterIP refuses an external IP), and
 * of Services whose node ports are among its ports, since its address may be one of this node. A
 * slice affects its Service. This node's own Node object affects all: its zone is used for hints,
 * its addresses are those of every node port. The pod networks of any Node, blocks and pools affect
 * no Service, only the settings: which addresses are pods, if not configured.
 */
#include <errno.h>
#include <string.h>

#include "model/address_block.h"
#include "model/node.h"
#include "plan/nat/nat.h"

static int push_object(const struct object *object, nat_key_list *keys)
{
    return vec_push(keys, (struct nat_key){ object->namespace, object->name });
}

static int push_services(const struct service *const *services, size_t count, nat_key_list *keys)
{
    for (size_t i = 0; i < count; i++) {
        if (push_object(&services[i]->object, keys) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int push_on_node_port(const struct node_facts *facts, enum protocol protocol,
                             uint16_t node_port, nat_key_list *keys)
{
    size_t count = 0;
    const struct service *const *services =
        node_port ? store_services_on(facts->store, protocol, node_port, &count) : NULL;
    return push_services(services, count, keys);
}

static int push_service(const struct node_facts *facts, const struct object *object,
                        nat_key_list *keys)
{
    if (!object)
        return 0;
    const struct service *service = to_service(object);
    if (push_object(object, keys) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < service->address_count; i++) {
        const struct ip *ip = &service->addresses[i].ip;
        size_t count;
        const struct service *const *services = store_services_at(facts->store, ip, &count);
        if (push_services(services, count, keys) < 0)
            return -ENOMEM;
    }
    for (uint32_t i = 0; i < service->port_count; i++) {
        const struct service_port *port = &service->ports[i];
        if (push_on_node_port(facts, port->protocol, port->node_port, keys) < 0 ||
            push_on_node_port(facts, port->protocol, port->port, keys) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int push_slice(const struct object *object, nat_key_list *keys)
{
    if (!object || !*to_endpoint_slice(object)->service)
        return 0;
    return vec_push(keys,
                    (struct nat_key){ object->namespace, to_endpoint_slice(object)->service });
}

static bool this_node_changed(const struct node_facts *facts, const struct change *change)
{
    static const struct node absent = { .zone = "" };
    const struct object *any = change->after ? change->after : change->before;
    if (strcmp(any->name, facts->config->node) != 0)
        return false;
    const struct node *before = change->before ? to_node(change->before) : &absent;
    const struct node *after = change->after ? to_node(change->after) : &absent;
    if (strcmp(before->zone, after->zone) != 0 || before->address_count != after->address_count ||
        !ip_equal(&before->primary_v4, &after->primary_v4) ||
        !ip_equal(&before->primary_v6, &after->primary_v6))
        return true;
    for (uint32_t i = 0; i < before->address_count; i++) {
        if (!ip_equal(&before->addresses[i], &after->addresses[i]))
            return true;
    }
    return false;
}

static bool pod_nets_changed(const struct change *change)
{
    static const struct node absent = { 0 };
    const struct node *before = change->before ? to_node(change->before) : &absent;
    const struct node *after = change->after ? to_node(change->after) : &absent;
    return !prefixes_equal(before->pod_nets, before->pod_net_count, after->pod_nets,
                           after->pod_net_count);
}

static bool peer_changed(const struct node_facts *facts, const struct change *change)
{
    static const struct node absent = { 0 };
    const struct object *any = change->after ? change->after : change->before;
    const struct node *before = change->before ? to_node(change->before) : &absent;
    const struct node *after = change->after ? to_node(change->after) : &absent;
    return strcmp(any->name, facts->config->node) != 0 &&
           (!ip_equal(&before->primary_v4, &after->primary_v4) ||
            !ip_equal(&before->primary_v6, &after->primary_v6));
}

static bool block_nets_changed(const struct change *change)
{
    static const struct address_block absent = { 0 };
    const struct address_block *before =
        change->before ? to_address_block(change->before) : &absent;
    const struct address_block *after = change->after ? to_address_block(change->after) : &absent;
    return prefix_cmp(&before->ipv4, &after->ipv4) != 0 ||
           prefix_cmp(&before->ipv6, &after->ipv6) != 0;
}

int plan_nat_affected(const struct node_facts *facts, const struct change *change,
                      nat_key_list *keys, bool *ret_all, bool *ret_settings)
{
    const struct object *any = change->after ? change->after : change->before;
    int r = 0, second = 0;

    switch (any->kind) {
    case KIND_SERVICE:
        r = push_service(facts, change->before, keys);
        second = push_service(facts, change->after, keys);
        break;
    case KIND_ENDPOINT_SLICE:
        r = push_slice(change->before, keys);
        second = push_slice(change->after, keys);
        break;
    case KIND_NODE:
        if (this_node_changed(facts, change))
            *ret_all = true;
        *ret_settings |= peer_changed(facts, change) ||
                         (!facts->config->services.cluster_cidrs_set && pod_nets_changed(change));
        break;
    case KIND_IP_POOL: /* addresses of a pool are served */
        *ret_all = true;
        break;
    case KIND_ADDRESS_POOL:
        *ret_settings |= !facts->config->services.cluster_cidrs_set;
        break;
    case KIND_ADDRESS_BLOCK:
        *ret_settings |= !facts->config->services.cluster_cidrs_set && block_nets_changed(change);
        break;
    default: /* other kinds do not matter */
        break;
    }
    return r < 0 ? r : second;
}
