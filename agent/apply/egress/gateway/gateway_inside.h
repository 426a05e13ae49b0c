/* SPDX-License-Identifier: Apache-2.0 */
/* The datapath of a gateway itself, for the files that make it up. Others take gateway.h. */
#pragma once

#include "apply/egress/client/policies.h"
#include "apply/egress/gateway/gateway.h"
#include "apply/egress/gateway/layout.h"

struct egress_gateway_programs; /* of bpf/egress_gateway.skel.h */

struct installed_client {
    struct ip address;
    uint32_t id;
    uint32_t policy; /* of the map's */
    char *pod;       /* "namespace/name"; NULL: an earlier agent's, not named yet */
};

struct egress_idle; /* of idle.h */

struct egress_gate {
    struct nat_datapath *nat;
    struct egress_gateway_programs *programs;
    struct egress_gateway_programs
        *bare;      /* of uplinks without Ethernet headers; NULL: not needed */
    int bare_error; /* why they can't be loaded: that is not tried again */
    char *folder;   /* of the pinned maps; NULL: nothing is pinned */

    /* Arrays, mapped. */
    struct egress_control *control;
    struct egress_ports_value *ports;
    __u64 *blocks;
    uint64_t *told;           /* what the journal was told of each block */
    struct egress_idle *idle; /* of each block; idle.h */
    struct egress_drop_value *drops;
    uint32_t client_limit, block_limit; /* entries of the arrays */

    struct egress_layout layout; /* under which all blocks were given that clients have */

    uint32_t last_id;
    struct sorted clients; /* struct installed_client */
    struct egress_policies policies;
};

/* Gives a gateway's programs, which are not loaded yet, the maps of the NAT datapath, and the
 * length of its filter. Returns 0 or -errno. */
int egress_gate_share(const struct egress_gate *gate, struct egress_gateway_programs *programs);
