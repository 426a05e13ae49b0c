// SPDX-License-Identifier: Apache-2.0
/*
 * What happens to a new flow: the policies, the short circuits and masquerading, as kube-proxy's
 * nftables backend has them.
 *
 *   to             policy   from outside          from a pod            from this node
 *   ClusterIP      Cluster  cluster, masqueraded  cluster               cluster, masqueraded
 *   ClusterIP      Local    local, masqueraded    local                 local, masqueraded
 *   the rest       Cluster  cluster, masqueraded  cluster, masqueraded  cluster, masqueraded
 *   the rest       Local    local                 cluster               cluster, masqueraded
 *
 * (masqueradeAll: pods to a ClusterIP, too.) Whoever is inside the cluster reaches an external
 * address as if a load balancer had sent him to a better node: policy Local does not hold for him.
 * The node is masqueraded then because the address it comes from may be the Service's own.
 *
 * A Service without external addresses and node ports has no frontend that asks for the external
 * policy, which is how that policy is ignored there.
 */
#include "base/macro.h"
#include "plan/nat_parts.h"

const char *nat_kind_name(enum nat_kind kind)
{
    static const char *const names[] = { "clusterIP", "loadBalancer", "externalIP", "nodePort" };
    return names[kind];
}

const char *nat_source_name(enum nat_source source)
{
    static const char *const names[] = { "outside", "pod", "node" };
    return names[source];
}

const char *nat_verdict_name(enum nat_verdict verdict)
{
    static const char *const names[] = { "forward", "reject", "drop" };
    return names[verdict];
}

const char *nat_reason_name(enum nat_reason reason)
{
    static const char *const names[] = { "none", "no-endpoints", "no-local-endpoints" };
    return names[reason];
}

/* The cluster set is empty only if there is nothing usable anywhere. */
static struct nat_outcome send(const struct nat_port *port, enum nat_set set, bool masquerade)
{
    if (port->sets[set].count)
        return (struct nat_outcome){ .set = set, .masquerade = masquerade };
    if (port->sets[NAT_CLUSTER_SET].count)
        return (struct nat_outcome){ NAT_DROP, NAT_NO_LOCAL_ENDPOINTS, set, false };
    return (struct nat_outcome){ NAT_REJECT, NAT_NO_ENDPOINTS, set, false };
}

struct nat_outcome nat_outcome(const struct config *config, const struct service *service,
                               const struct nat_port *port, enum nat_kind kind,
                               enum nat_source source)
{
    if (kind == NAT_CLUSTER_IP) {
        return send(port, service->internal_local ? NAT_LOCAL_SET : NAT_CLUSTER_SET,
                    source != NAT_FROM_POD || config->services.masquerade_all);
    }
    if (!service->external_local)
        return send(port, NAT_CLUSTER_SET, true);
    return send(port, source == NAT_FROM_OUTSIDE ? NAT_LOCAL_SET : NAT_CLUSTER_SET,
                source == NAT_FROM_NODE);
}
