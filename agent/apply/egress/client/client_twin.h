/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the clients' twin ("The client's twin" in bpf/egress_abi.h): what happens to a pod's packet
 * behind service NAT. No packet is sent, and no map is written.
 */
#pragma once

#include "apply/egress/datapath.h"
#include "apply/egress/wire.h"
#include "apply/nat/proof/packet.h"

struct egress_told_client {
    enum egress_told found;
    enum egress_cause cause; /* EGRESS_CAUSE_COUNT: none */
    uint32_t flags;          /* EGRESS_TOLD_* */
    /* Lengths of the prefixes that contain the destination: of the policy, and of the excluded
     * networks; -1: none does. */
    int bits, stay_bits;
    const char *egress;      /* of the set, borrowed until the maps are written; NULL: none */
    bool by_client;          /* the pod's address selects the gateway; otherwise the flow does */
    struct ip gateway;       /* IP_NONE: none */
    uint32_t active;         /* gateways of the set that take new flows */
    uint32_t out;            /* interface; 0: none */
    uint32_t mtu;            /* of that route */
    struct egress_wire wire; /* the packet that would leave if it was sent */
    uint32_t size;           /* of the input packet, from the IP header on */
};

/* `ifindex`: the host's end of the pod's interface. Returns 0, or -errno: the twin can't be
 * loaded or run. */
int egress_datapath_ask(struct egress_datapath *datapath, const struct nat_packet *packet,
                        uint32_t ifindex, struct egress_told_client *ret_told);
