// SPDX-License-Identifier: Apache-2.0
/*
 * Objects that contradict each other, or this node. Conflicts: other nodes or Services with
 * addresses or pod networks of this node, advertisements that select nothing, networks that
 * overlap. The detector checks all Nodes and blocks if one of them changed, or a Service in one of
 * this node's networks, or a Service outside services.serviceCIDRs.
 */
#include "detect/detector.h"

#include "faults/networks.h"
#include "faults/pools.h"
#include "model/services/service.h"
#include "plan/conflicts/advertisement_conflicts.h"
#include "plan/conflicts/block_conflicts.h"
#include "plan/conflicts/network_conflicts.h"
#include "plan/conflicts/node_conflicts.h"
#include "plan/conflicts/object_networks.h"

static bool is_inside(const prefix_list *own, const struct object *object)
{
    const struct service *service = object ? to_service(object) : NULL;
    for (uint32_t i = 0; service && i < service->address_count; i++) {
        vec_each(const struct prefix, net, own) {
            if (prefix_contains(net, &service->addresses[i].ip))
                return true;
        }
    }
    return false;
}

static bool conflicts_touched(const struct detector_facts *facts, const struct change *change)
{
    const struct conflict_scope *scope = facts->conflicts;
    const enum kind kind = (change->after ? change->after : change->before)->kind;
    if (kind != KIND_SERVICE)
        return kind != KIND_ENDPOINT_SLICE && kind != KIND_POD;
    return scope->unowned || is_inside(&scope->own, change->before) ||
           is_inside(&scope->own, change->after) ||
           network_conflicts_concern(facts->config, change->before) ||
           network_conflicts_concern(facts->config, change->after);
}

static void detect_conflicts(const struct detector_facts *facts, struct faults *faults)
{
    AUTOVEC prefix_list own = { 0 };
    const struct store *store = facts->store;
    const struct config *config = facts->config;
    if (node_conflicts(store, config, &own, faults) < 0) {
        faults->incomplete = true;
        return;
    }
    advertisement_conflicts(store, faults);
    facts->conflicts->unowned = network_conflicts(store, config, &own, faults);
    object_networks(store, config, faults);
    block_conflicts(store, config, faults);
    block_link_conflicts(store, config, facts->link_addresses, facts->links, faults);
    vec_move(&facts->conflicts->own, &own);
}

const struct detector object_detectors[] = {
    {
        .name = "conflicts",
        .subsystem = "node",
        .group = "conflicts",
        .codes = DETECTOR_CODES(
            &fault_type_node_network_overlaps, &fault_type_block_overlaps_other,
            &fault_type_node_address_shared, &fault_type_pod_network_overlaps_services,
            &fault_type_block_has_service_address, &fault_type_advertisement_pool_unknown,
            &fault_type_advertisement_selects_no_pool, &fault_type_advertisement_selects_no_node,
            &fault_type_network_special, &fault_type_network_pods_outside,
            &fault_type_network_all_are_pods, &fault_type_network_cluster_ips_outside,
            &fault_type_network_all_in_cluster, &fault_type_network_pods_in_services,
            &fault_type_network_load_balancers_in_services,
            &fault_type_network_load_balancers_in_pods, &fault_type_network_external_in_services,
            &fault_type_pool_in_cluster_ips, &fault_type_egress_destination_in_cluster_ips,
            &fault_type_pool_in_pod_networks, &fault_type_egress_destination_in_pod_networks,
            &fault_type_pool_has_node_address, &fault_type_block_outside_setting,
            &fault_type_block_has_node_address, &fault_type_block_overlaps_own,
            &fault_type_block_index_unknown, &fault_type_block_index_wrong,
            &fault_type_block_pool_unknown, &fault_type_block_outside_pool,
            &fault_type_block_node_missing, &fault_type_block_without_node,
            &fault_type_namespace_pool_unknown, &fault_type_block_overlaps_link),
        .facts = FACT_OBJECTS,
        .detect = detect_conflicts,
        .touched = conflicts_touched,
    },
    { .name = NULL },
};
