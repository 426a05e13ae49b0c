// SPDX-License-Identifier: Apache-2.0
/*
 * The words for why egress drops or answers packets (bpf/egress_abi.h). They appear in JSON
 * documents and in metric labels: they are added to, never changed.
 */
#include "status/egress_status.h"

#include "base/macro.h"
#include "base/net/tunnel.h"

static const struct {
    const char *name, *text;
} causes[] = {
    [EGRESS_CAUSE_HELD] = { "held", "what the pod's annotation asks for is not known yet" },
    [EGRESS_CAUSE_NO_GATEWAY] = { "no-gateway", "no gateway of the Egress is usable" },
    [EGRESS_CAUSE_TOO_BIG] = { "too-big", "larger than the way to the gateway, or back, takes" },
    [EGRESS_CAUSE_OFFLOAD] = { "offload",
                               "the kernel can't wrap or unwrap this kind of large packet" },
    [EGRESS_CAUSE_NO_ROUTE] = { "no-route", "no way to the gateway, to the client or outside" },
    [EGRESS_CAUSE_STRANGER] = { "stranger", TUNNEL_NAME " from somebody who is no client" },
    [EGRESS_CAUSE_SPOOFED] = { "spoofed", TUNNEL_NAME " whose inner source is not its outer one" },
    [EGRESS_CAUSE_NESTED] = { "nested", TUNNEL_NAME " within " TUNNEL_NAME
                                                    ", or a packet for the gateway itself" },
    [EGRESS_CAUSE_PROTOCOL] = { "protocol", "neither TCP, UDP nor ICMP echo" },
    [EGRESS_CAUSE_FRAGMENT] = { "fragment", "a fragment whose first one was not seen" },
    [EGRESS_CAUSE_MALFORMED] = { "malformed", "headers that do not fit" },
    [EGRESS_CAUSE_PORTS] = { "ports", "all source ports of the client to this place are in use" },
    [EGRESS_CAUSE_BLOCKS] = { "blocks", "no block of source ports is left for the client" },
    [EGRESS_CAUSE_FLOWS_FULL] = { "flows-full", "no room for another flow" },
    [EGRESS_CAUSE_UNKNOWN] = { "unknown-flow", "TCP of no flow, answered by a reset" },
    [EGRESS_CAUSE_TTL] = { "ttl", "hop limit used up" },
    [EGRESS_CAUSE_DRAINING] = { "draining", "the gateway takes no new flows" },
    [EGRESS_CAUSE_SOURCE] = { "source",
                              "sent under a pod's address by an interface that is not the pod's" },
    [EGRESS_CAUSE_DESTINATION] = { "destination",
                                   "no destination of the client's Egresses, or one that stays in "
                                   "the cluster" },
    [EGRESS_CAUSE_POD_TUNNEL] = { "pod-tunnel", TUNNEL_NAME
                                  " that a pod itself sends to a gateway; egress.podTunnels lets it" },
};
_Static_assert(ARRAY_SIZE(causes) == EGRESS_CAUSE_COUNT, "every cause has its words");

/* A program of another version may count causes that are unknown here. */
const char *egress_cause_name(enum egress_cause cause)
{
    return cause < EGRESS_CAUSE_COUNT ? causes[cause].name : "unknown";
}

const char *egress_cause_text(enum egress_cause cause)
{
    return cause < EGRESS_CAUSE_COUNT ? causes[cause].text
                                      : "a reason that this version does not know";
}

const char *egress_side_name(enum egress_side side)
{
    return side == EGRESS_SIDE_CLIENT ? "client" : "gateway";
}

const char *egress_phase_name(enum egress_phase phase)
{
    static const char *const names[EGRESS_PHASES] = { "serving", "draining", "withdrawn", "stale" };
    return names[phase];
}
