/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of a gateway for want of room: source ports that all have a living flow, blocks of them
 * that are all given, a full table of flows. The program counts what it refuses. Internal to
 * engine/egress/.
 */
#pragma once

#include "apply/egress/gateway/gateway.h"
#include "base/fault.h"

enum { EGRESS_ROOM_CAUSES = 3 };

struct egress_room {
    bool looked; /* what was refused before this agent began is not told */
    uint64_t refused[EGRESS_ROOM_CAUSES];
    int64_t last_ms[EGRESS_ROOM_CAUSES]; /* monotonic, when there was no room; 0: there is some */
    uint32_t at[EGRESS_ROOM_CAUSES];     /* where the search for room goes on */
};

/* Looks at what was refused since the last look. `now_ms`: monotonic. */
void egress_room_look(struct egress_room *room, const struct egress_gate *gate, int64_t now_ms,
                      struct faults *faults);
