/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What service NAT does beside its rounds: it sweeps the flows, which begin and end without the
 * agent, and asks the kernel for what the kernel gives no notification of.
 */
#pragma once

#include <stdint.h>

#include "engine/engine.h"
#include "loop/timer.h"

struct nat_engine;

struct nat_upkeep {
    struct timer *timer, *look_timer, *pins_timer;
    int64_t limits_read_ms; /* monotonic */
    bool may_pin;           /* at the last look */
    void (*wake)(void *context);
    void *context;
};

/* Starts the sweep, if there are maps. Returns 0 or -errno. */
int nat_upkeep_start(struct nat_engine *engine, const struct engine_setup *setup);
void nat_upkeep_done(struct nat_upkeep *upkeep);
