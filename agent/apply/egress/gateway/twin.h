/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a gateway's twin ("The gateway's twin" in bpf/egress_abi.h): what becomes of a
 * client's packet. Nothing is sent, and nothing is written.
 */
#pragma once

#include "apply/egress/gateway/gateway.h"
#include "apply/egress/wire.h"
#include "apply/nat/proof/packet.h"

struct egress_question {
    struct ip client, destination; /* of one family; the client may be anybody */
    struct ip source;              /* under which the packet is to leave; one of the gateway's */
    uint32_t ifindex;              /* the uplink that it comes in by */
};

struct egress_answer {
    enum egress_twin found;
    uint32_t what; /* as in cb[1]: by `found` a cause, an answer of the kernel, or ifindex */
    uint32_t home; /* as in cb[2]: the way to our own address; 0: it leads somewhere */
    struct ip source, destination; /* of what came out; IP_NONE: that is no IP packet */
};

/* Returns 0, or -errno: the twin can't be run; -ENOENT: packets do not get this address. */
int egress_gate_ask(struct egress_gate *gate, const struct egress_gate_settings *settings,
                    const struct egress_question *question, struct egress_answer *ret_answer);

struct egress_told_gateway {
    enum egress_twin found;
    uint32_t what; /* as in struct egress_answer */
    enum egress_twin_port port;
    uint32_t back;           /* interface that leads back to the client; 0: none */
    struct egress_wire wire; /* what leaves, if it was sent */
};

/* What becomes of this packet, if it comes by a tunnel of its source. Returns 0 or -errno. */
int egress_gate_ask_live(struct egress_gate *gate, const struct egress_gate_settings *settings,
                         const struct nat_packet *packet, uint32_t ifindex,
                         struct egress_told_gateway *ret_told);

/* Half of a gateway's flow, with these addresses, ports and protocol. False: there is none. */
bool egress_gate_find_flow(struct egress_gate *gate, const struct nat_probe *probe,
                           struct nat_found_flow *ret_flow);
