/* SPDX-License-Identifier: Apache-2.0 */
/* The position of the sweep over the flows, from which nat_datapath_sweep() continues; see
 * sweep.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/nat/maps/walk.h"
#include "bpf/abi.h"

/* The counts of a round. */
struct nat_sweep_count {
    uint64_t seen; /* entries of "flows" */
    /* Connections for which a drain waits: of service NAT, of an egress gateway. */
    uint64_t established[2];
    uint64_t states[NAT_STATES]; /* flows */
    uint64_t egress;             /* of these, an egress gateway's */
};

struct nat_sweep {
    bool under_way;
    int64_t last_ms; /* monotonic: the end of the last round; 0: none has ended */
    struct nat_walk walk;
    int64_t next_refill_ms; /* the filter is not refilled before this time */
    struct nat_sweep_count now, last;
};
