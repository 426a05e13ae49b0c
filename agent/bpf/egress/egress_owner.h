/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The client of a gateway's flow. When a client is deleted, the generation of its id is
 * incremented, and all its flows are clientless from that moment on: nothing follows them, and any
 * new flow may take their slot or source port (flow.h). So the agent may allocate the client's
 * blocks of ports to others at once, and leaves the flows to its sweep. Included before flow.h.
 */
#pragma once

#include "bpf/egress/egress_gateway_maps.h"
#include "bpf/packet/parse.h"

ALWAYS_INLINE struct egress_ports_value *ports_of(__u32 client)
{
    return bpf_map_lookup_elem(&egress_ports, &client);
}

/* Whether a gateway's flow has a client. */
ALWAYS_INLINE int has_client(const struct nat_flow *flow)
{
    const struct egress_ports_value *ports = ports_of(flow->port);
    return ports && egress_flow_has_client(flow, ports);
}

ALWAYS_INLINE int is_flow_of(const struct nat_flow *flow, __u32 client)
{
    return flow->port == client && has_client(flow);
}

ALWAYS_INLINE int egress_is_clientless(const struct nat_flow *flow)
{
    return flow->delivery == NAT_DELIVER_EGRESS && !has_client(flow);
}
#define flow_is_clientless egress_is_clientless
