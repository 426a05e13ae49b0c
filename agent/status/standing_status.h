/* SPDX-License-Identifier: Apache-2.0 */
/* How this node stands towards the network, and since when. Part of struct status. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum standing_phase {
    PHASE_SERVING,
    PHASE_DRAINING,    /* announced as draining, new connections go elsewhere */
    PHASE_WITHDRAWING, /* not announced any more, running flows get time to end */
    PHASE_DRAINED,     /* the end of drain; also what withdraw asks for */
};

/* "draining": part of the API and of the state file. */
const char *standing_phase_name(enum standing_phase phase);

enum { STANDING_REASON_MAX = 200 };

struct standing_status {
    enum standing_phase phase;
    char reason[STANDING_REASON_MAX + 1]; /* the operator's words; "": none, or serving */
    int64_t since_wall_ms;                /* 0: always has */
    int64_t ends_mono_ms;                 /* of a phase that ends by itself; 0: it does not */
    bool node_seen;                       /* this node's Node object has been there */
    bool node_gone;                       /* it was deleted, and routes.nodeGone is over */
};
