// SPDX-License-Identifier: Apache-2.0
/*
 * Excluded networks, whose packets stay in the cluster whatever the destinations of Egresses: pods,
 * Services, Nodes, link-local and multicast networks, and egress.inCluster. Private networks are
 * not excluded by default: the cluster's networks are known, and others may be destinations of an
 * Egress.
 *
 * Pod networks and networks of ClusterIPs are determined as for NAT (nat_settings.c), so that both
 * agree. With NAT on, it serves Services' addresses before egress; those of another proxy are
 * excluded. With NAT off, all of them are.
 *
 * A gateway checks the same for its clients' packets (plan_egress_gateway_excluded()), since a
 * client may encapsulate any packet itself. Services that the gateway's node serves are excluded,
 * too, or it would serve them to clients under its own address; other addresses of Services may be
 * outside, except ClusterIPs.
 *
 * An excluded network and a destination are compared by prefix length. Pod networks are aggregated
 * as for NAT, others are not: even one inside another has its own length.
 */
#include <errno.h>

#include "base/macro.h"
#include "faults/egress.h"
#include "faults/raise.h"
#include "model/node.h"
#include "plan/egress/egress.h"
#include "plan/egress/egress_names.h"
#include "plan/nat/nat.h"
#include "plan/routes/claim.h"

static const char *const never_leave[] = { "169.254.0.0/16", "224.0.0.0/4", "fe80::/10",
                                           "ff00::/8" };

static int push_constants(prefix_list *excluded)
{
    for (size_t i = 0; i < ARRAY_SIZE(never_leave); i++) {
        struct prefix prefix;
        if (prefix_parse(never_leave[i], &prefix) == 0 && vec_push(excluded, prefix) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int push_host(prefix_list *excluded, const struct ip *ip)
{
    return vec_push(excluded, ip_host_prefix(ip));
}

static int push_nodes(const struct node_facts *facts, prefix_list *excluded)
{
    AUTOVEC object_list nodes = { 0 };
    int r = store_list(facts->store, KIND_NODE, &nodes);
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &nodes) {
        const struct node *node = to_node(*object);
        for (uint32_t i = 0; i < node->address_count; i++) {
            if (push_host(excluded, &node->addresses[i]) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

/* Whether another proxy than our NAT serves it. */
static bool is_others(const struct node_facts *facts, const struct service *service)
{
    return !facts->config->services.enabled ||
           claim_service(facts->config, service) == REASON_OTHER_PROXY;
}

/* Whether an address of a Service is excluded for packets from a pod to a gateway. */
static bool excluded_for_pods(const struct node_facts *facts, const struct service *service,
                              const struct service_address *address)
{
    (void)address;
    return is_others(facts, service);
}

/* The same for packets at a gateway. */
static bool excluded_for_gateway(const struct node_facts *facts, const struct service *service,
                                 const struct service_address *address)
{
    return address->origin == ADDRESS_CLUSTER ||
           (facts->config->services.enabled &&
            claim_served(facts, service, address) == REASON_ANNOUNCED);
}

typedef bool stay_judge(const struct node_facts *facts, const struct service *service,
                        const struct service_address *address);

static int push_services(const struct node_facts *facts, stay_judge *is_excluded,
                         prefix_list *excluded)
{
    AUTOVEC object_list services = { 0 };
    int r = store_list(facts->store, KIND_SERVICE, &services);
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &services) {
        const struct service *service = to_service(*object);
        for (uint32_t i = 0; i < service->address_count; i++) {
            const struct service_address *address = &service->addresses[i];
            if (is_excluded(facts, service, address) && push_host(excluded, &address->ip) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

static int push_nets(prefix_list *excluded, const struct prefix *nets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (vec_push(excluded, nets[i]) < 0)
            return -ENOMEM;
    }
    return 0;
}

static bool has_net(const struct prefix *nets, size_t count, uint8_t family)
{
    for (size_t i = 0; i < count; i++) {
        if (nets[i].ip.family == family)
            return true;
    }
    return false;
}

static int has_demand(const struct node_facts *facts, uint8_t family)
{
    AUTOVEC object_list egresses = { 0 };
    int r = store_list(facts->store, KIND_EGRESS, &egresses);
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &egresses) {
        if (egress_has_family(to_egress(*object), family))
            return 1;
    }
    return 0;
}

/* Otherwise a default destination also matches packets from pod to pod. The type's arguments are
 * those of egress_pod_network_unknown. */
static int pods_fault(const struct node_facts *facts, const struct nat_settings *settings,
                      const struct fault_type *type, struct faults *faults)
{
    static const uint8_t families[] = { IP_V4, IP_V6 };
    const prefix_list *more = &facts->config->egress.in_cluster;
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        if (has_net(settings->pod_nets, settings->pod_net_count, families[i]) ||
            has_net(more->items, more->count, families[i]))
            continue;
        int r = has_demand(facts, families[i]);
        if (r < 0)
            return r;
        if (r > 0)
            fault_raise_type(faults, "egress", type,
                             &(const struct fault_egress_pod_network_unknown){
                                 .family = families[i] == IP_V4 ? "4" : "6" });
    }
    return 0;
}

/* Faults that NAT reports are not repeated. */
static int find_settings(const struct node_facts *facts, struct nat_settings *ret_settings,
                         struct faults *faults)
{
    AUTOFAULTS struct faults told = { 0 };
    return plan_nat_settings(facts, ret_settings, facts->config->services.enabled ? &told : faults);
}

static int plan_excluded(const struct node_facts *facts, stay_judge *is_excluded,
                         const struct fault_type *without_pods, prefix_list *excluded,
                         struct faults *faults)
{
    CLEANUP(nat_settings_done) struct nat_settings settings = { 0 };
    const prefix_list *more = &facts->config->egress.in_cluster;
    int r = find_settings(facts, &settings, faults);
    if (r < 0)
        return r;
    if (push_nets(excluded, settings.pod_nets, settings.pod_net_count) < 0 ||
        push_nets(excluded, settings.service_nets, settings.service_net_count) < 0 ||
        push_nets(excluded, more->items, more->count) < 0 || push_constants(excluded) < 0)
        return -ENOMEM;
    r = push_nodes(facts, excluded);
    if (r < 0)
        return r;
    r = push_services(facts, is_excluded, excluded);
    if (r < 0)
        return r;
    vec_sort(excluded, prefix_item_cmp);
    vec_drop_equal(excluded, prefix_item_cmp);
    return pods_fault(facts, &settings, without_pods, faults);
}

int plan_egress_excluded(const struct node_facts *facts, prefix_list *excluded,
                         struct faults *faults)
{
    return plan_excluded(facts, excluded_for_pods, &fault_type_egress_pod_network_unknown, excluded,
                         faults);
}

int plan_egress_gateway_excluded(const struct node_facts *facts, prefix_list *excluded,
                                 struct faults *faults)
{
    return plan_excluded(facts, excluded_for_gateway,
                         &fault_type_egress_gateway_pod_network_unknown, excluded, faults);
}
