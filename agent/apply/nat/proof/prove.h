/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof that an address is served: packets through the twin on the live maps give, for every
 * frontend, kind of source and endpoint, what the plan demands; and the kernel has a way to each
 * endpoint. (That each hook holds our program is hooks.h's to say.)
 */
#pragma once

#include "apply/nat/datapath.h"

enum { PROBE_VRFS = 4 };

/* Where packets of each origin are seen, and a source address that counts as such. */
struct probe_origins {
    struct {
        bool there; /* no uplink, no pod's interface, ...: that origin is not proved */
        enum nat_hook hook;
        uint32_t ifindex, ingress_ifindex;
        struct ip v4, v6; /* IP_NONE: none of that family */
    } of[NAT_ORIGINS];
    /* One uplink of each further VRF, whose routes are others: from outside by these, too. */
    uint32_t vrf_uplinks[PROBE_VRFS];
    size_t vrf_uplink_count;
    /* Sources in these are pods, as in nat_settings; borrowed. In a family without one, whoever
     * comes in by the pod's interface is. */
    const struct prefix *pod_nets;
    size_t pod_net_count;
    /* Pods in these that are on this node have a veth pair each; borrowed. */
    const struct prefix *own_blocks;
    size_t own_block_count;
    /* Where programs are attached, sorted; borrowed. */
    const struct nat_attachment *attachments;
    size_t attachment_count;
    const struct sorted *links; /* struct link: this node's interfaces; borrowed. NULL: unknown */
    const struct sorted *addresses; /* struct link_address: of these; likewise */
};

/* What bpf_fib_lookup() says of a way, in words: "a blackhole route". */
const char *nat_route_text(int route);

/*
 * Proves every frontend of a row. Appends one nat_proof an address, but for those of node ports
 * alone; what differs from the plan is a fault, too. An address that several Services share has a
 * proof of each. `ret_lost`: whether one of the faults is that there is no way to an endpoint.
 * Returns 0 or -ENOMEM.
 */
int nat_prove(struct nat_datapath *datapath, const struct probe_origins *origins,
              const struct nat_row *row, nat_proof_list *proofs, struct faults *faults,
              bool *ret_lost);
