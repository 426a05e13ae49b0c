/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a gateway's twin ("The gateway's twin" in bpf/egress_abi.h): what happens to a client's
 * packet. No packet is sent, and no map is written.
 */
#pragma once

#include "apply/egress/gateway/gateway.h"
#include "apply/egress/wire.h"
#include "apply/nat/proof/packet.h"

struct egress_question {
    struct ip client, destination; /* of one family; the client may be any address */
    struct ip source; /* the source with which the packet should leave; one of the gateway's */
    uint32_t ifindex; /* the uplink by which the packet arrives */
};

struct egress_answer {
    enum egress_twin found;
    uint32_t what; /* as in cb[1]: by `found` a cause, an answer of the kernel, or ifindex */
    uint32_t home; /* as in cb[2]: result of bpf_fib_lookup() to our own address; 0: found */
    struct ip source, destination; /* of the resulting packet; IP_NONE: it is no IP packet */
};

/* Returns 0, or -errno: the twin can't be run; -ENOENT: this address is no source of packets. */
int egress_gate_ask(struct egress_gate *gate, const struct egress_gate_settings *settings,
                    const struct egress_question *question, struct egress_answer *ret_answer);

struct egress_told_gateway {
    enum egress_twin found;
    uint32_t what; /* as in struct egress_answer */
    enum egress_twin_port port;
    uint32_t back;           /* interface that is routed back to the client; 0: none */
    struct egress_wire wire; /* the packet that would leave if it was sent */
};

/* What happens to this packet if it arrives in FoU from its source. Returns 0 or -errno. */
int egress_gate_ask_live(struct egress_gate *gate, const struct egress_gate_settings *settings,
                         const struct nat_packet *packet, uint32_t ifindex,
                         struct egress_told_gateway *ret_told);

/* Finds half of a gateway's flow, with these addresses, ports and protocol. False: there is
 * none. */
bool egress_gate_find_flow(struct egress_gate *gate, const struct nat_probe *probe,
                           struct nat_found_flow *ret_flow);
