/* SPDX-License-Identifier: Apache-2.0 */
/* Where the sweep over the flows is. nat_plane_sweep() goes on from there; see sweep.c. */
#pragma once

#include <stdint.h>

#include "apply/nat/walk.h"

struct nat_sweep {
    enum { NAT_SWEEP_IDLE, NAT_SWEEP_NEW, NAT_SWEEP_FLOWS } phase;
    struct nat_walk walk;
    int64_t next_refill_ms; /* the filter is not filled anew before this time */
    /* Entries of "flows", and connections, in this round and in the one before. */
    uint64_t seen, established, last_seen, last_established;
};
