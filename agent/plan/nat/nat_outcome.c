// SPDX-License-Identifier: Apache-2.0
/*
 * What happens to a new flow: the policies, the short circuits and masquerading, as in kube-proxy's
 * nftables backend.
 *
 *   to             policy   from outside          from a pod            from this node
 *   ClusterIP      Cluster  cluster, masqueraded  cluster               cluster, masqueraded
 *   ClusterIP      Local    local, masqueraded    local                 local, masqueraded
 *   the rest       Cluster  cluster, masqueraded  cluster, masqueraded  cluster, masqueraded
 *   the rest       Local    local                 cluster               cluster, masqueraded
 *
 * With masqueradeAll packets of pods to a ClusterIP are masqueraded, too. A sender inside the
 * cluster reaches an external address as if a load balancer had selected a better node, so policy
 * Local does not apply to it. This node is masqueraded then, because its source may be the
 * Service's own address.
 *
 * A Service without external addresses and node ports has no frontend that uses the external
 * policy, so that policy has no effect there.
 */
#include "plan/nat/nat_outcome.h"

/* The cluster set is empty only if no endpoint is usable anywhere. */
static struct nat_outcome send(const struct nat_port *port, enum nat_set_kind set, bool masquerade)
{
    if (port->sets[set].count)
        return (struct nat_outcome){ NAT_ACT_FORWARD, NAT_CAUSE_NONE, set, masquerade };
    if (port->sets[NAT_SET_CLUSTER].count)
        return (struct nat_outcome){ NAT_ACT_DROP, NAT_CAUSE_NO_LOCAL, set, false };
    return (struct nat_outcome){ NAT_ACT_REJECT, NAT_CAUSE_NO_ENDPOINTS, set, false };
}

struct nat_outcome nat_outcome(const struct config *config, const struct service *service,
                               const struct nat_port *port, enum nat_frontend_kind kind,
                               enum nat_origin origin)
{
    if (kind == NAT_FRONTEND_CLUSTER_IP) {
        return send(port, service->internal_local ? NAT_SET_LOCAL : NAT_SET_CLUSTER,
                    origin != NAT_ORIGIN_POD || config->services.masquerade_all);
    }
    if (!service->external_local)
        return send(port, NAT_SET_CLUSTER, true);
    return send(port, origin == NAT_ORIGIN_OUTSIDE ? NAT_SET_LOCAL : NAT_SET_CLUSTER,
                origin == NAT_ORIGIN_NODE);
}
