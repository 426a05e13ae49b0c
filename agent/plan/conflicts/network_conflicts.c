// SPDX-License-Identifier: Apache-2.0
/*
 * Conflicts of networks; see network_conflicts.h. Called by the engine of conflicts.
 *
 * A wide network is often intended: clusterCIDRs of 10.0.0.0/8 also contain the ClusterIPs, which
 * is harmless, and loadBalancerIPs of 0.0.0.0/0 means all. So a network inside another is reported,
 * and not one that contains another.
 */
#include "plan/conflicts/network_conflicts.h"

#include "base/macro.h"
#include "base/text.h"
#include "faults/networks.h"
#include "faults/raise.h"
#include "model/services/service.h"

/* The network of a list that contains another completely, or NULL. */
static const struct prefix *around(const prefix_list *list, const struct prefix *net)
{
    vec_each(const struct prefix, it, list) {
        if (it->ip.family == net->ip.family && it->length <= net->length &&
            prefix_contains(it, &net->ip))
            return it;
    }
    return NULL;
}

static bool has_family(const prefix_list *list, uint8_t family)
{
    vec_each(const struct prefix, it, list) {
        if (it->ip.family == family)
            return true;
    }
    return false;
}

/* A configuration key and the purpose of its networks. */
struct key {
    const char *name, *of;
    const prefix_list *list;
};

static void check_special(const struct key *key, struct faults *faults)
{
    char text[PREFIX_STRLEN];
    vec_each(const struct prefix, net, key->list) {
        if (net->length == 0 || !ip_is_special(&net->ip))
            continue;
        fault_raise(faults, key->name, network_special, .network = prefix_str(net, text),
                    .whose = key->of);
        return;
    }
}

/* All fault types about a network inside another have these arguments. */
static void check_within(const struct key *key, const struct key *other,
                         const struct fault_type *type, struct faults *faults)
{
    char text[PREFIX_STRLEN], wide[PREFIX_STRLEN];
    vec_each(const struct prefix, net, key->list) {
        const struct prefix *outer = around(other->list, net);
        if (!outer || outer->length == 0)
            continue;
        fault_raise_type(faults, key->name, type,
                         &(const struct fault_network_pods_in_services){
                             .network = prefix_str(net, text), .outer = prefix_str(outer, wide) });
        return;
    }
}

/*
 * Checks that pods of this node are identified by their addresses, in a family with a configured
 * network; without one, the interface decides.
 */
static void check_pods(const prefix_list *cluster, const prefix_list *own, uint8_t family,
                       struct faults *faults)
{
    const struct prefix *missed = NULL;
    char text[PREFIX_STRLEN];
    vec_each(const struct prefix, net, own) {
        if (net->ip.family != family)
            continue;
        if (around(cluster, net))
            return;
        missed = missed ? missed : net;
    }
    if (missed && has_family(cluster, family))
        fault_raise(faults, "services.clusterCIDRs", network_pods_outside,
                    .network = prefix_str(missed, text));
}

static void check_all_are_pods(const prefix_list *cluster, struct faults *faults)
{
    char text[PREFIX_STRLEN];
    vec_each(const struct prefix, net, cluster) {
        if (net->length == 0)
            fault_raise(faults, "services.clusterCIDRs", network_all_are_pods,
                        .network = prefix_str(net, text));
    }
}

/*
 * The first ClusterIP of a family outside all of its configured networks, if there are any; NULL:
 * none.
 */
static const struct ip *stray_of(const prefix_list *services, const struct service *service,
                                 uint8_t family)
{
    if (!has_family(services, family))
        return NULL;
    for (uint32_t i = 0; i < service->address_count; i++) {
        const struct ip *ip = &service->addresses[i].ip;
        const struct prefix host = { *ip, ip_bits(ip) };
        if (service->addresses[i].origin == ADDRESS_CLUSTER && ip->family == family &&
            !around(services, &host))
            return ip;
    }
    return NULL;
}

bool network_conflicts_concern(const struct config *config, const struct object *object)
{
    const prefix_list *services = &config->services.service_cidrs;
    return object && object->kind == KIND_SERVICE &&
           (stray_of(services, to_service(object), IP_V4) ||
            stray_of(services, to_service(object), IP_V6));
}

/* Whether a ClusterIP of the family is in one of the networks. */
static bool is_used(const struct store *store, const prefix_list *services, uint8_t family)
{
    const struct object *object;
    for (size_t cursor = 0; (object = store_next(store, KIND_SERVICE, &cursor));) {
        const struct service *service = to_service(object);
        for (uint32_t i = 0; i < service->address_count; i++) {
            const struct ip *ip = &service->addresses[i].ip;
            const struct prefix host = { *ip, ip_bits(ip) };
            if (service->addresses[i].origin == ADDRESS_CLUSTER && ip->family == family &&
                around(services, &host))
                return true;
        }
    }
    return false;
}

/*
 * A cluster may have several networks of ClusterIPs: a ServiceCIDR object adds one at run time, and
 * agents do not read such objects. So a family is reported only if all its ClusterIPs are outside.
 */
static bool check_cluster_ips(const struct store *store, const prefix_list *services,
                              uint8_t family, struct faults *faults)
{
    const struct object *object, *first = NULL;
    const struct ip *stray = NULL;
    char text[IP_STRLEN];
    for (size_t cursor = 0; (object = store_next(store, KIND_SERVICE, &cursor));) {
        const struct ip *ip = stray_of(services, to_service(object), family);
        if (!ip || (first && object_key_cmp(first, object) < 0))
            continue;
        first = object;
        stray = ip;
    }
    if (!first || is_used(store, services, family))
        return false;
    AUTOFREE char *service = text_format("%s/%s", first->namespace, first->name);
    fault_raise(faults, "services.serviceCIDRs", network_cluster_ips_outside,
                .address = ip_str(stray, text), .service = service);
    return true;
}

static void check_egress(const struct config *config, struct faults *faults)
{
    char text[PREFIX_STRLEN];
    vec_each(const struct prefix, net, &config->egress.in_cluster) {
        if (config->egress.enabled && net->length == 0)
            fault_raise(faults, "egress.inCluster", network_all_in_cluster,
                        .network = prefix_str(net, text));
    }
}

bool network_conflicts(const struct store *store, const struct config *config,
                       const prefix_list *own, struct faults *faults)
{
    const struct key cluster = { "services.clusterCIDRs", "pods", &config->services.cluster_cidrs },
                     services = { "services.serviceCIDRs", "ClusterIPs",
                                  &config->services.service_cidrs },
                     balanced = { "services.loadBalancerIPs", "load balancers",
                                  &config->services.load_balancer_ips },
                     external = { "services.externalIPs", "Services",
                                  &config->services.external_ips };
    check_egress(config, faults);
    if (!config->services.enabled)
        return false;
    check_special(&cluster, faults);
    check_special(&services, faults);
    check_special(&balanced, faults);
    check_special(&external, faults);
    check_within(&cluster, &services, &fault_type_network_pods_in_services, faults);
    check_within(&balanced, &services, &fault_type_network_load_balancers_in_services, faults);
    check_within(&balanced, &cluster, &fault_type_network_load_balancers_in_pods, faults);
    check_within(&external, &services, &fault_type_network_external_in_services, faults);
    check_all_are_pods(cluster.list, faults);
    check_pods(cluster.list, own, IP_V4, faults);
    check_pods(cluster.list, own, IP_V6, faults);
    const bool v4 = check_cluster_ips(store, services.list, IP_V4, faults);
    return check_cluster_ips(store, services.list, IP_V6, faults) || v4;
}
