// SPDX-License-Identifier: Apache-2.0
/* The words for each reason; see address_reason.h. */
#include "plan/routes/address_reason.h"

#include <stdio.h>

#include "base/macro.h"

static const struct {
    const char *name, *text;
} reasons[] = {
    [REASON_WRONG_TYPE] = { "wrong-type", "the service's type has no such address" },
    [REASON_HEADLESS] = { "headless", "headless, or without a clusterIP of this family" },
    [REASON_OTHER_PROXY] = { "other-proxy", "labelled for another proxy" },
    [REASON_SPECIAL] = { "special-address", "loopback, link-local or multicast" },
    [REASON_PROXY_MODE] = { "proxy-mode", "ipMode Proxy: the balancer itself owns it" },
    [REASON_OUTSIDE_RANGES] = { "outside-ranges", "not in the configured ranges" },
    [REASON_IN_SERVICE_CIDR] = { "in-service-cidr", "an external IP must not be a ClusterIP" },
    [REASON_PORTS_TAKEN] = { "ports-taken", "its ports belong to an older service" },
    [REASON_OTHER_CLASS] = { "other-class", "its loadBalancerClass is not ours" },
    [REASON_NOT_ADVERTISED] = { "not-advertised", "left out by services.advertise" },
    [REASON_OPTED_OUT] = { "opted-out", "annotation fingerpost.io/announce is false" },
    [REASON_NO_ADVERTISEMENT] = { "no-advertisement",
                                  "no BGPAdvertisement selects its pool and the service" },
    [REASON_L2_ONLY] = { "l2-only", "only an L2Advertisement selects it: not announced by BGP" },
    [REASON_OTHER_NODES] = { "other-nodes", "its BGPAdvertisement is for other nodes" },
    [REASON_NODE_ADDRESS] = { "node-address", "it is a Node's own address" },
    [REASON_LOCAL_ADDRESS] = { "local-address", "an interface of this node has it" },
    [REASON_CONNECTED_NETWORK] = { "connected-network", "this node is connected to its network" },
    [REASON_NODE_NETWORK] = { "node-network", "it is in the network of another Node" },
    [REASON_POD_NETWORK] = { "pod-network", "it is in a network of pods" },
    [REASON_SERVICE_NETWORK] = { "service-network", "it is in a network of ClusterIPs" },
    [REASON_CLAIMED] = { "claimed", "one node of its segment has it: no route announces it" },
    [REASON_NODE_GONE] = { "node-gone", "this node's Node object was deleted" },
    [REASON_WITHDRAWN] = { "withdrawn", "withdrawn by the operator" },
    [REASON_NODE_EXCLUDED] = { "node-excluded", "this node is excluded from load balancers" },
    [REASON_NETWORK_UNAVAILABLE] = { "network-unavailable", "this node's network is unavailable" },
    [REASON_NO_ENDPOINTS] = { "no-endpoints", "no usable endpoint" },
    [REASON_NO_LOCAL_ENDPOINTS] = { "no-local-endpoints", "policy Local, no usable endpoint here" },
    [REASON_PORTS_ELSEWHERE] = { "ports-elsewhere",
                                 "a port of the address has its endpoints on other nodes" },
    [REASON_NOT_PROVED] = { "not-proved", "NAT has not proved that it serves" },
    [REASON_GATEWAY_NOT_PROVED] = { "gateway-not-proved",
                                    "this gateway has not proved that it sends on" },
    [REASON_HELD_DOWN] = { "held-down", "withdrawn a moment ago, comes back after hold-down" },
    [REASON_ANNOUNCED] = { "announced", "announced" },
};
_Static_assert(ARRAY_SIZE(reasons) == REASON_COUNT, "a reason has no words");

const char *address_reason_name(enum address_reason reason)
{
    return reasons[reason].name;
}

const char *address_reason_text(enum address_reason reason)
{
    return reasons[reason].text;
}

const char *address_reason_about(enum address_reason reason, const char *of,
                                 char buffer[static REASON_STRLEN])
{
    (void)snprintf(buffer, REASON_STRLEN, "%s%s%s", reasons[reason].text, *of ? ": " : "", of);
    return buffer;
}
