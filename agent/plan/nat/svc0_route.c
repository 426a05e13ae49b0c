// SPDX-License-Identifier: Apache-2.0
/*
 * Which networks are routed to svc0, and how; see svc0_route.h.
 *
 * A network that overlaps one of this node's own is not routed: the route would redirect packets to
 * the node's neighbours. Its ClusterIPs then get one route each. Single addresses of this node
 * inside it are harmless, such as those of kube-proxy's IPVS mode or of a DNS cache on the node.
 *
 * Called by the route planner: for a whole plan, and for each address.
 */
#include "plan/nat/svc0_route.h"
#include "faults/nat.h"
#include "faults/raise.h"

struct svc0_route svc0_route_of(const struct node_facts *facts, uint8_t family)
{
    const struct nat_svc0 *leads = facts->nat_svc0;
    if (!leads)
        return (struct svc0_route){ 0 };
    return (struct svc0_route){ leads->ifindex, family == IP_V4 ? leads->v4 : leads->v6 };
}

/*
 * A network of this node that a prefix overlaps, or NULL. A single address does not count: the
 * kernel checks local addresses before other routes. It is not among these networks, since this
 * function is called for each ClusterIP, and kube-proxy's IPVS mode adds all of them to the node.
 */
static const struct prefix *overlapped(const struct node_facts *facts, const struct prefix *prefix)
{
    for (size_t i = 0; facts->local_networks && i < facts->local_networks->count; i++) {
        const struct prefix *local = sorted_at(facts->local_networks, i);
        if (prefix_contains(local, &prefix->ip) || prefix_contains(prefix, &local->ip))
            return local;
    }
    return NULL;
}

bool svc0_route_covers(const struct node_facts *facts, const struct ip *address)
{
    vec_each(const struct prefix, net, &facts->config->services.service_cidrs) {
        if (prefix_contains(net, address) && !overlapped(facts, net))
            return true;
    }
    return false;
}

int net_row_cmp(const void *a, const void *b)
{
    return prefix_cmp(&((const struct net_row *)a)->prefix, &((const struct net_row *)b)->prefix);
}

static void overlap_fault(struct faults *faults, const struct prefix *net, const struct prefix *own)
{
    char text[PREFIX_STRLEN], network[PREFIX_STRLEN];
    fault_raise(faults, "services.serviceCIDRs", nat_service_network_overlaps,
                .network = prefix_str(net, text), .own = prefix_str(own, network));
}

int plan_nets(const struct node_facts *facts, struct sorted *ret_rows, struct faults *faults)
{
    AUTOSORTED struct sorted rows = SORTED(struct net_row, net_row_cmp);
    vec_each(const struct prefix, net, &facts->config->services.service_cidrs) {
        const struct net_row row = { *net, svc0_route_of(facts, net->ip.family) };
        if (row.svc0_route.ifindex == 0)
            continue;
        const struct prefix *own = overlapped(facts, net);
        if (own) {
            overlap_fault(faults, net, own);
            continue;
        }
        int r = sorted_put(&rows, &row);
        if (r < 0)
            return r;
    }
    *ret_rows = TAKE_STRUCT(rows);
    return 0;
}
