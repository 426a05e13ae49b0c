/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to the clients' twin ("The client's twin" in bpf/egress_abi.h): what becomes of a pod's
 * packet behind service NAT. Nothing is sent, and nothing is written.
 */
#pragma once

#include "apply/egress/datapath.h"
#include "apply/egress/wire.h"
#include "apply/nat/proof/packet.h"

struct egress_told_client {
    enum egress_told found;
    enum egress_cause cause; /* EGRESS_CAUSE_COUNT: none */
    uint32_t flags;          /* EGRESS_TOLD_* */
    /* How long the prefixes are that have the destination, of the policy and of what stays; -1:
     * there is none. */
    int bits, stay_bits;
    const char *egress;      /* of the set, borrowed until the maps are written; NULL: none */
    bool by_client;          /* the pod's address chooses the gateway; else the flow does */
    struct ip gateway;       /* IP_NONE: none */
    uint32_t active;         /* gateways of the set that take new flows */
    uint32_t out;            /* interface; 0: none */
    uint32_t mtu;            /* of that way */
    struct egress_wire wire; /* what leaves, if it was sent */
    uint32_t size;           /* of what was asked about, from the IP header on */
};

/* `ifindex`: the host's end of the pod. Returns 0, or -errno: the twin can't be had, or be run. */
int egress_datapath_ask(struct egress_datapath *datapath, const struct nat_packet *packet,
                        uint32_t ifindex, struct egress_told_client *ret_told);
