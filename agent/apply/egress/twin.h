/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a gateway's twin ("The gateway's twin" in bpf/egress_abi.h): what becomes of a
 * client's packet. Nothing is sent, and nothing is written.
 */
#pragma once

#include "apply/egress/gateway.h"

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
