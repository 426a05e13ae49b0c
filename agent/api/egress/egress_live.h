/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the live maps of egress say: a table of functions that the program hands in, as nat_live.h.
 * Each answers from the kernel, never from memory of what was written.
 */
#pragma once

#include "status/egress_status.h"

struct egress_live {
    void *context; /* of all functions */
    /* Each cause that has occurred on a side; returns how many, 0 where the side is off. */
    size_t (*refusals)(void *context, enum egress_side side,
                       struct egress_refusal ret[static EGRESS_CAUSE_COUNT]);
    /* How many packets a gateway of an Egress was sent from this node. */
    uint64_t (*sent)(void *context, const char *egress, const struct ip *gateway);
    /* What this node is as a gateway. False: it is none. */
    bool (*gateway)(void *context, struct egress_gateway_use *ret_use);
    /* What a client of this gateway does. False: it is none. */
    bool (*client)(void *context, const struct ip *address, struct egress_client_use *ret_use);
};
