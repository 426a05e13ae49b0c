/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this node serves, drains or is withdrawn, and since when. Part of struct status. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum standing_phase {
    PHASE_SERVING,
    PHASE_DRAINING,    /* announced as draining, new connections go to other nodes */
    PHASE_WITHDRAWING, /* withdrawn, existing flows get time to end */
    PHASE_DRAINED,     /* the final state of drain; also that of withdraw */
};

/* "draining": part of the API and of the state file. */
const char *standing_phase_name(enum standing_phase phase);

enum { STANDING_REASON_MAX = 200 };

struct standing_status {
    enum standing_phase phase;
    char reason[STANDING_REASON_MAX + 1]; /* given by the operator; "": none, or serving */
    int64_t since_wall_ms;                /* 0: since the start */
    int64_t ends_mono_ms;                 /* end of a phase with a time limit; 0: none */
    bool node_seen;                       /* this node's Node object has been seen */
    bool node_gone;                       /* it was deleted, and routes.nodeGone has elapsed */
};
