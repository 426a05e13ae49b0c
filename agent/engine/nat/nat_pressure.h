/* SPDX-License-Identifier: Apache-2.0 */
/* Want of room: new flows that the programs had to refuse. nat_upkeep.c looks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct nat_engine;

/* What was counted when it was looked at last, and since when nobody is refused any more. */
struct nat_pressure_watch {
    bool looked; /* what an earlier agent's time has counted is no news */
    uint64_t flows_refused, ports_refused;
    /* CLOCK_MONOTONIC of the last look that found more, or no room for more; 0: none */
    int64_t flows_ms, ports_ms;
    uint32_t ports_at; /* how many ports were found taken since */
};

/*
 * Reports a fault while new flows are refused because the flow table or the source ports to an
 * endpoint are used up, or would be if a client came.
 */
void nat_pressure_report(struct nat_engine *engine, int64_t now_ms);
