// SPDX-License-Identifier: Apache-2.0
/*
 * Networks of objects against those of the configuration; see object_networks.h. Called by the
 * engine of conflicts. They are only reported, as in node_conflicts.c.
 */
#include "plan/conflicts/object_networks.h"

#include "base/net/ip_range.h"
#include "faults/networks.h"
#include "model/address_block.h"
#include "model/egress.h"
#include "model/ip_pool.h"
#include "model/node.h"
#include "plan/object_fault.h"

/* A setting's networks, and the faults for a pool or a destination in them. */
struct ground {
    const prefix_list *nets;
    const struct fault_type *pool, *destination;
};

static struct ground services_of(const struct config *config)
{
    return (struct ground){ &config->services.service_cidrs, &fault_type_pool_in_cluster_ips,
                            &fault_type_egress_destination_in_cluster_ips };
}

static struct ground pods_of(const struct config *config)
{
    return (struct ground){ &config->services.cluster_cidrs, &fault_type_pool_in_pod_networks,
                            &fault_type_egress_destination_in_pod_networks };
}

static struct ip_range range_of(const struct prefix *prefix)
{
    char text[PREFIX_STRLEN];
    struct ip_range range = { 0 };
    (void)ip_range_parse(prefix_str(prefix, text), &range);
    return range;
}

static const struct prefix *find_overlap(const struct ground *ground, const struct ip_range *range)
{
    vec_each(const struct prefix, net, ground->nets) {
        const struct ip_range other = range_of(net);
        if (other.first.family == range->first.family && ip_range_overlaps(&other, range))
            return net;
    }
    return NULL;
}

/* True if a fault was added. */
static bool tell_overlap(const struct object *object, const struct ip_range *range,
                         const struct ground *ground, struct faults *faults)
{
    const struct prefix *net = find_overlap(ground, range);
    char mine[IP_RANGE_STRLEN], theirs[PREFIX_STRLEN];
    if (!net)
        return false;
    object_raise_type(faults, object, ground->pool,
                      &(const struct fault_pool_in_cluster_ips){
                          .range = ip_range_str(range, mine), .network = prefix_str(net, theirs) });
    return true;
}

static bool tell_node(const struct store *store, const struct object *object,
                      const struct ip_range *range, struct faults *faults)
{
    const struct object *other;
    char address[IP_STRLEN];
    for (size_t cursor = 0; (other = store_next(store, KIND_NODE, &cursor));) {
        const struct node *node = to_node(other);
        for (uint32_t i = 0; i < node->address_count; i++) {
            const struct ip *ip = &node->addresses[i];
            if (ip->family != range->first.family || !ip_range_contains(range, ip))
                continue;
            object_raise(faults, object, pool_has_node_address, .address = ip_str(ip, address),
                         .node = other->name);
            return true;
        }
    }
    return false;
}

static void check_ip_pool(const struct store *store, const struct config *config,
                          const struct ip_pool *pool, struct faults *faults)
{
    const struct ground services = services_of(config), pods = pods_of(config);
    for (uint32_t i = 0; i < pool->range_count; i++) {
        const struct ip_range *range = &pool->ranges[i];
        if (tell_overlap(&pool->object, range, &services, faults) ||
            tell_overlap(&pool->object, range, &pods, faults) ||
            (*pool->object.file && tell_node(store, &pool->object, range, faults)))
            return;
    }
}

static void check_address_pool(const struct config *config, const struct address_pool *pool,
                               struct faults *faults)
{
    const struct ground services = services_of(config);
    for (uint32_t i = 0; i < pool->subnet_count; i++) {
        const struct prefix *nets[] = { &pool->subnets[i].ipv4, &pool->subnets[i].ipv6 };
        for (size_t j = 0; j < 2; j++) {
            const struct ip_range range = range_of(nets[j]);
            if (nets[j]->ip.family != IP_NONE &&
                tell_overlap(&pool->object, &range, &services, faults))
                return;
        }
    }
}

/* A wider destination is valid: the cluster's networks are excluded from it. */
static bool tell_destination(const struct egress *egress, const struct prefix *destination,
                             const struct ground *ground, struct faults *faults)
{
    char mine[PREFIX_STRLEN], theirs[PREFIX_STRLEN];
    vec_each(const struct prefix, net, ground->nets) {
        if (destination->length < net->length || !prefix_contains(net, &destination->ip))
            continue;
        object_raise_type(
            faults, &egress->object, ground->destination,
            &(const struct fault_egress_destination_in_cluster_ips){
                .destination = prefix_str(destination, mine), .network = prefix_str(net, theirs) });
        return true;
    }
    return false;
}

static void check_egress(const struct config *config, const struct egress *egress,
                         struct faults *faults)
{
    const struct ground services = services_of(config), pods = pods_of(config);
    for (uint32_t i = 0; i < egress->destination_count; i++) {
        const struct prefix *destination = &egress->destinations[i];
        if (tell_destination(egress, destination, &services, faults) ||
            tell_destination(egress, destination, &pods, faults))
            return;
    }
}

void object_networks(const struct store *store, const struct config *config, struct faults *faults)
{
    const struct object *object;
    for (size_t cursor = 0; (object = store_next(store, KIND_IP_POOL, &cursor));)
        check_ip_pool(store, config, to_ip_pool(object), faults);
    for (size_t cursor = 0; (object = store_next(store, KIND_ADDRESS_POOL, &cursor));)
        check_address_pool(config, to_address_pool(object), faults);
    for (size_t cursor = 0; (object = store_next(store, KIND_EGRESS, &cursor));)
        check_egress(config, to_egress(object), faults);
}
