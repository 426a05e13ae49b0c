// SPDX-License-Identifier: Apache-2.0
/*
 * What an operator can do about the reason for which an address is not announced; see
 * explain_remedy.h. Called by verb_explain.c.
 */
#include "agentctl/explain/explain_remedy.h"

#include <string.h>

#include "base/macro.h"

const char *explain_remedy(const char *reason)
{
    static const struct {
        const char *reason, *remedy;
    } remedies[] = {
        { "wrong-type", "make it a Service of type LoadBalancer, or let it release the address" },
        { "headless", "give the Service a clusterIP" },
        { "other-proxy", "remove the label service.kubernetes.io/service-proxy-name or headless" },
        { "special-address", "give it an address that can be routed" },
        { "outside-ranges", "see services.externalIPs and loadBalancerIPs in agentd.yaml, and the "
                            "ranges of IPAddressPools" },
        { "in-service-cidr", "use an external IP outside services.serviceCIDRs" },
        { "ports-taken", "give the Services different ports, or different addresses" },
        { "other-class",
          "see spec.loadBalancerClass, and services.loadBalancerClass in agentd.yaml" },
        { "not-advertised", "see services.advertise in agentd.yaml" },
        { "opted-out", "remove the annotation fingerpost.io/announce from the Service" },
        { "no-advertisement", "let a BGPAdvertisement select its pool and the Service" },
        { "l2-only", "let a BGPAdvertisement select it, too, or have nodes claim it (addresses in "
                     "agentd.yaml)" },
        { "other-nodes", "see nodeSelectors of the BGPAdvertisement, and the labels of this Node" },
        { "node-address", "give the Service an address that no Node has" },
        { "foreign-route",
          "find out who wrote it, and delete it or give that program another table" },
        { "local-address", "give the Service an address that no interface has" },
        { "connected-network", "give the Service an address outside networks of Nodes" },
        { "node-network", "give the Service an address outside networks of Nodes, or name its "
                          "range in an IPAddressPool or services.loadBalancerIPs" },
        { "pod-network", "give the Service an address outside services.clusterCIDRs" },
        { "service-network", "give the Service an address outside services.serviceCIDRs" },
        { "claimed", "agentctl addresses says which node has it" },
        { "node-gone", "add the Node again, or remove the agent from this machine" },
        { "withdrawn", "agentctl undrain" },
        { "node-excluded",
          "remove the label node.kubernetes.io/exclude-from-external-load-balancers "
          "from the Node" },
        { "network-unavailable", "see the condition NetworkUnavailable of the Node" },
        { "no-endpoints", "no pod behind it is ready, or none has the port: see its endpoints" },
        { "no-local-endpoints", "the nodes with a ready endpoint announce it; for this one, run a "
                                "ready pod here" },
        { "ports-elsewhere", "the nodes with a ready endpoint of every port announce it; for this "
                             "one, run a ready pod of that port here" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(remedies); i++)
        if (strcmp(remedies[i].reason, reason) == 0)
            return remedies[i].remedy;
    return NULL;
}
