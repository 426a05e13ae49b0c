/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of a gateway whose resources are exhausted: source ports that all have a live flow, port
 * blocks that are all allocated, a full flow table. The program counts what it refuses. Internal to
 * engine/egress/.
 */
#pragma once

#include "apply/egress/gateway/gateway.h"
#include "base/fault.h"

enum { EGRESS_ROOM_CAUSES = 3 };

struct egress_room {
    bool looked; /* refusals from before this agent's start are not reported */
    uint64_t refused[EGRESS_ROOM_CAUSES];
    int64_t last_ms[EGRESS_ROOM_CAUSES]; /* monotonic, of the last refusal; 0: room is available */
    uint32_t at[EGRESS_ROOM_CAUSES];     /* where the search for room continues */
};

/* Checks what was refused since the last call. `now_ms`: monotonic. */
void egress_room_look(struct egress_room *room, const struct egress_gate *gate, int64_t now_ms,
                      struct faults *faults);
