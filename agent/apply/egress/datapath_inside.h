/* SPDX-License-Identifier: Apache-2.0 */
/* The datapath itself, for the files that implement it. Others include datapath.h. */
#pragma once

#include "apply/egress/client/policies.h"
#include "apply/egress/datapath.h"
#include "apply/egress/installed.h"

struct egress_client_programs; /* of bpf/egress_client.skel.h */

struct egress_datapath {
    struct egress_client_programs *programs;
    struct egress_client_programs *twin; /* client_twin.h; NULL: not needed yet */
    struct egress_client_programs *bare; /* of uplinks without Ethernet headers; NULL: not needed */
    int bare_error;                      /* why they can't be loaded: loading is not retried */
    char *folder;                        /* of the pinned maps; NULL: nothing is pinned */
    int fds[EGRESS_MAP_COUNT]; /* borrowed from the programs; -1: a map of the gateway's */

    /* Arrays, mapped. */
    struct egress_control *control;
    __u64 *set_words;
    struct egress_gateway_value *gateways;
    struct egress_drop_value *drops;
    uint32_t set_limit; /* one more than the highest id of a set */

    /* What is in the maps. */
    struct sorted sets; /* struct egress_installed_set */
    struct egress_policies policies;
    struct sorted pods;         /* struct egress_installed_pod */
    struct sorted seen;         /* uint32_t: of interfaces */
    struct sorted doors;        /* struct ip: of gateways */
    struct sorted bridges;      /* struct egress_port */
    const struct sorted *homes; /* struct egress_home; borrowed; NULL: not set */

    const char *sets_left; /* an Egress for which there was no room; borrowed while it is written */
    uint32_t last_set;     /* given out last */
    uint32_t generation;   /* of gateways, the last one allocated */
    int64_t known_ms;      /* of struct egress_wanted */
};
