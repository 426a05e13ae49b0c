// SPDX-License-Identifier: Apache-2.0
/*
 * What stays in the cluster, whatever destinations the Egresses have: pods, Services, Nodes, what
 * is link-local or multicast, and what egress.inCluster says. Private networks are none by
 * themselves: what is in the cluster is known, and what is beside it may be where an Egress leads.
 *
 * Who is a pod and which networks are ClusterIPs' is decided as for NAT (nat_settings.c), so that
 * both never differ. Where NAT is on, it serves Services' addresses before egress is asked; those
 * that it leaves to another proxy stay. Where it is off, all of them do.
 *
 * A gateway asks the same of what its clients send it (plan_egress_gateway_excluded()), for a
 * client may wrap by itself what it likes. What it serves of Services itself stays, too, or it
 * would serve them to clients under its own address; other addresses of Services may be outside,
 * but for ClusterIPs.
 *
 * A stay and a destination are compared by length. Networks of pods are joined as NAT joins them,
 * else stays are left as they are: even one that lies in another has a length of its own.
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

/* Whether somebody else than our NAT serves it. */
static bool is_others(const struct node_facts *facts, const struct service *service)
{
    return !facts->config->services.enabled ||
           claim_service(facts->config, service) == REASON_OTHER_PROXY;
}

/* Whether an address of a Service stays on the way from a pod to a gateway. */
static bool excluded_for_pods(const struct node_facts *facts, const struct service *service,
                              const struct service_address *address)
{
    (void)address;
    return is_others(facts, service);
}

/* The same where it has come to a gateway. */
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

/* Else a default route takes the packets from pod to pod, too. The type's arguments are those of
 * egress_pod_network_unknown. */
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

/* Those that are NAT's to tell of are told of once. */
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
