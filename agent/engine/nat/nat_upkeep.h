/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work of service NAT outside its rounds: it sweeps the flows, which begin and end without the
 * agent, and checks what the kernel gives no notification of.
 */
#pragma once

#include <stdint.h>

#include "engine/engine.h"
#include "loop/timer.h"

struct nat_engine;

struct nat_upkeep {
    struct timer *timer; /* for the sweep */
    struct looks *looks;
    sd_event *event;
    sd_event_source *news; /* changes of nftables' rules; NULL: no notifications */
    int64_t hooks_ms;      /* monotonic: when the hooks were last queried */
    bool may_pin;          /* at the last check */
    void (*wake)(void *context);
    void *context;
};

/* Starts the sweep and the checks, if there are maps. Returns 0 or -errno. */
int nat_upkeep_start(struct nat_engine *engine, const struct engine_setup *setup);
void nat_upkeep_done(struct nat_engine *engine);
