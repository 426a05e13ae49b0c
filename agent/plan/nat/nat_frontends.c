// SPDX-License-Identifier: Apache-2.0
/*
 * The frontends of one Service in one family: its addresses times its ports, and its node ports on
 * the addresses of this node that serve them.
 *
 * Two Services may want the same port of the same address: the older Service gets it. Every Service
 * that has the address itself with that port takes precedence over a node port, however young,
 * since the program looks up packets by address. Of two Services with the same node port the older
 * gets it. ClusterIPs that an interface of this node has are not frontends here.
 */
#include "plan/nat/nat_frontends.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/text.h"
#include "faults/nat.h"
#include "faults/raise.h"
#include "plan/nat/nat_addresses.h"
#include "plan/object_fault.h"
#include "plan/routes/claim.h"

/* A ClusterIP configured on a local interface is delivered to the local listener: a DNS cache. */
static bool is_left_to_node(const struct node_facts *facts, const struct service_address *address)
{
    return address->origin == ADDRESS_CLUSTER && real_interface_of(facts, &address->ip);
}

static int push_cluster_ips(const struct node_facts *facts, const struct service *service,
                            uint8_t family, bool left, ip_list *list)
{
    for (uint32_t i = 0; i < service->address_count; i++) {
        const struct service_address *address = &service->addresses[i];
        if (address->origin != ADDRESS_CLUSTER || (family && address->ip.family != family) ||
            is_left_to_node(facts, address) != left ||
            claim_cluster_ip_owner(facts, &address->ip) != service)
            continue;
        if (vec_push(list, address->ip) < 0)
            return -ENOMEM;
    }
    ip_list_unite(list);
    return 0;
}

int nat_cluster_ips(const struct node_facts *facts, const struct service *service, uint8_t family,
                    ip_list *list)
{
    return push_cluster_ips(facts, service, family, false, list);
}

int nat_left_cluster_ips(const struct node_facts *facts, const struct service *service,
                         ip_list *list)
{
    return push_cluster_ips(facts, service, IP_NONE, true, list);
}

static int push_frontend(struct nat_family *family, const struct ip *address, uint32_t index,
                         uint16_t port, enum nat_frontend_kind kind)
{
    const struct nat_frontend frontend = {
        .address = *address,
        .protocol = family->ports.items[index].protocol,
        .port = port,
        .kind = kind,
        .port_index = index,
    };
    return vec_push(&family->frontends, frontend);
}

static enum nat_frontend_kind kind_of_origin(enum address_origin origin)
{
    static const enum nat_frontend_kind kinds[] = {
        [ADDRESS_CLUSTER] = NAT_FRONTEND_CLUSTER_IP,
        [ADDRESS_EXTERNAL] = NAT_FRONTEND_EXTERNAL_IP,
        [ADDRESS_LOAD_BALANCER] = NAT_FRONTEND_LOAD_BALANCER,
    };
    return kinds[origin];
}

static int add_address(const struct node_facts *facts, const struct service_address *address,
                       struct nat_family *family)
{
    AUTOVEC candidate_list list = { 0 };
    const struct candidate *self = NULL;
    if (is_left_to_node(facts, address))
        return 0;
    int r = claim_nat_candidates(facts, &address->ip, &list);
    if (r < 0)
        return r;
    vec_each(const struct candidate, candidate, &list) {
        if (candidate->address == address && candidate->reason == REASON_ANNOUNCED)
            self = candidate;
    }
    for (uint32_t i = 0; self && i < family->ports.count; i++) {
        const struct nat_port *port = &family->ports.items[i];
        if (claim_port_owner(&list, self, port->protocol, port->port))
            continue;
        r = push_frontend(family, &address->ip, i, port->port, kind_of_origin(address->origin));
        if (r < 0)
            return r;
    }
    return 0;
}

static bool has_node_ports(const struct service *service)
{
    return service->type == SERVICE_NODE_PORT || service->type == SERVICE_LOAD_BALANCER;
}

/* The older Service with the same node port, or NULL. */
static const struct service *node_port_owner(const struct node_facts *facts,
                                             const struct service *service, uint8_t family,
                                             const struct nat_port *port)
{
    size_t count;
    const struct service *const *services =
        store_services_on(facts->store, port->protocol, port->node_port, &count);
    for (size_t i = 0; i < count && services[i] != service; i++) {
        if (has_node_ports(services[i]) && claim_has_cluster_ip(services[i], family) &&
            claim_service(facts->config, services[i]) == REASON_ANNOUNCED)
            return services[i];
    }
    return NULL;
}

static void node_port_fault(struct faults *faults, const struct service *loser,
                            const struct ip *address, const struct nat_port *port,
                            const struct service *owner)
{
    char text[IP_STRLEN], number[8];
    (void)snprintf(number, sizeof(number), "%u", port->node_port);
    object_raise(faults, &loser->object, nat_node_port_taken, .port = number,
                 .protocol = protocol_name(port->protocol), .address = ip_str(address, text),
                 .namespace = owner->object.namespace, .name = owner->object.name);
}

static int add_node_ports(const struct node_facts *facts, const struct service *service,
                          const struct ip *address, struct nat_family *family,
                          struct faults *faults)
{
    AUTOVEC candidate_list list = { 0 };
    int r = claim_nat_candidates(facts, address, &list);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < family->ports.count; i++) {
        const struct nat_port *port = &family->ports.items[i];
        if (port->node_port == 0)
            continue;
        const struct service *owner =
            claim_port_owner(&list, NULL, port->protocol, port->node_port);
        if (!owner)
            owner = node_port_owner(facts, service, family->family, port);
        if (owner && owner != service)
            node_port_fault(faults, service, address, port, owner);
        if (owner)
            continue;
        r = push_frontend(family, address, i, port->node_port, NAT_FRONTEND_NODE_PORT);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_all_node_ports(const struct node_facts *facts, const struct service *service,
                              struct nat_family *family, struct faults *faults)
{
    AUTOVEC ip_list addresses = { 0 };
    int r = nat_node_port_addresses(facts, family->family, &addresses);
    if (r < 0)
        return r;
    vec_each(const struct ip, address, &addresses) {
        r = add_node_ports(facts, service, address, family, faults);
        if (r < 0)
            return r;
    }
    return 0;
}

static int place_cmp(const void *a, const void *b)
{
    const struct nat_frontend *left = a, *right = b;
    int r = nat_frontend_cmp(left, right);
    r = r ? r : CMP(left->kind, right->kind);
    return r ? r : CMP(left->port_index, right->port_index);
}

/* A Service may have an address in two fields, or a node port twice: the first kind counts. */
static void unite(struct nat_family *family)
{
    vec_sort(&family->frontends, place_cmp);
    vec_drop_equal(&family->frontends, nat_frontend_cmp);
}

int nat_ports(const struct service *service, struct nat_family *family)
{
    for (uint32_t i = 0; i < service->port_count; i++) {
        const struct service_port *from = &service->ports[i];
        struct nat_port port = {
            .name = strdup(from->name),
            .protocol = from->protocol,
            .port = from->port,
            .node_port = from->node_port,
        };
        if (!port.name)
            return -ENOMEM;
        if (vec_push(&family->ports, port) < 0) {
            free(port.name);
            return -ENOMEM;
        }
    }
    return 0;
}

int nat_frontends(const struct node_facts *facts, const struct service *service,
                  struct nat_family *family, struct faults *faults)
{
    for (uint32_t i = 0; i < service->address_count; i++) {
        if (service->addresses[i].ip.family != family->family)
            continue;
        int r = add_address(facts, &service->addresses[i], family);
        if (r < 0)
            return r;
    }
    int r = has_node_ports(service) ? add_all_node_ports(facts, service, family, faults) : 0;
    if (r < 0)
        return r;
    unite(family);
    return 0;
}
