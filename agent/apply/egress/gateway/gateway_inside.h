/* SPDX-License-Identifier: Apache-2.0 */
/* The datapath of a gateway itself, for the files that implement it. Others include gateway.h. */
#pragma once

#include "apply/egress/client/policies.h"
#include "apply/egress/gateway/gateway.h"
#include "apply/egress/gateway/layout.h"

struct egress_gateway_programs; /* of bpf/egress_gateway.skel.h */

struct installed_client {
    struct ip address;
    uint32_t id;
    uint32_t policy; /* of the map's */
    char *pod;       /* "namespace/name"; NULL: of an earlier agent, not named yet */
};

struct egress_idle; /* of idle.h */

struct egress_gate {
    struct nat_datapath *nat;
    struct egress_gateway_programs *programs;
    struct egress_gateway_programs
        *bare;      /* of uplinks without Ethernet headers; NULL: not needed */
    int bare_error; /* why they can't be loaded: loading is not retried */
    char *folder;   /* of the pinned maps; NULL: nothing is pinned */

    /* Arrays, mapped. */
    struct egress_control *control;
    struct egress_ports_value *ports;
    __u64 *blocks;
    uint64_t *told;           /* what was logged of each block */
    struct egress_idle *idle; /* of each block; idle.h */
    struct egress_drop_value *drops;
    uint32_t client_limit, block_limit; /* entries of the arrays */

    struct egress_layout layout; /* the layout under which all blocks in use were allocated */

    uint32_t last_id;
    struct sorted clients; /* struct installed_client */
    struct egress_policies policies;
};

/* Shares the maps of the NAT datapath, and the length of its filter, with a gateway's programs
 * that are not loaded yet. Returns 0 or -errno. */
int egress_gate_share(const struct egress_gate *gate, struct egress_gateway_programs *programs);
