/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof that an address is served: packets through the twin on the live maps get, for every
 * frontend, kind of source and endpoint, the verdict that the plan demands; and the kernel has a
 * route to each endpoint. (hooks.h checks that each hook has our program.)
 */
#pragma once

#include "apply/nat/datapath.h"

enum { PROBE_VRFS = 4 };

/* Where packets of each origin arrive, and a source address of that origin. */
struct probe_origins {
    struct {
        bool there; /* false: no uplink, no pod interface, ...: that origin is not proved */
        enum nat_hook hook;
        uint32_t ifindex, ingress_ifindex;
        struct ip v4, v6; /* IP_NONE: none of that family */
    } of[NAT_ORIGINS];
    /* One uplink of each further VRF, whose routes differ: packets from outside are proved by
     * these, too. */
    uint32_t vrf_uplinks[PROBE_VRFS];
    size_t vrf_uplink_count;
    /* Sources in these are pods, as in nat_settings; borrowed. In a family without one, every
     * source on the pod's interface is a pod. */
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

/* The result of bpf_fib_lookup() as text: "a blackhole route". */
const char *nat_route_text(int route);

/*
 * Proves every frontend of a row. Appends one nat_proof for each address, except addresses of node
 * ports alone; a difference from the plan is also a fault. An address that several Services share
 * has a proof for each. `ret_lost`: whether one of the faults is a missing route to an endpoint.
 * Returns 0 or -ENOMEM.
 */
int nat_prove(struct nat_datapath *datapath, const struct probe_origins *origins,
              const struct nat_row *row, nat_proof_list *proofs, struct faults *faults,
              bool *ret_lost);
