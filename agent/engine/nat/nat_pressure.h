/* SPDX-License-Identifier: Apache-2.0 */
/* Exhausted resources: new flows that the programs had to refuse. nat_upkeep.c checks it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct nat_engine;

/* The counters at the last check, and since when nothing is refused. */
struct nat_pressure_watch {
    bool looked; /* refusals from before this agent's start are not reported */
    uint64_t flows_refused, ports_refused;
    /* CLOCK_MONOTONIC of the last check that found new refusals or no room; 0: none */
    int64_t flows_ms, ports_ms;
    uint32_t ports_at; /* ports that the search for a free one has found taken */
};

/*
 * Reports a fault while new flows are refused because the flow table or the source ports to an
 * endpoint are used up, or would be for the next client.
 */
void nat_pressure_report(struct nat_engine *engine, int64_t now_ms);
