/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What service NAT does beside its rounds: it sweeps the flows, which begin and end without the
 * agent, and looks at what the kernel gives no notification of.
 */
#pragma once

#include <stdint.h>

#include "engine/engine.h"
#include "loop/timer.h"

struct nat_engine;

struct nat_upkeep {
    struct timer *timer; /* of the sweep */
    struct looks *looks;
    sd_event *event;
    sd_event_source *news; /* of nftables' rules; NULL: nobody tells */
    int64_t hooks_ms;      /* monotonic: when the hooks were asked last */
    bool may_pin;          /* at the last look */
    void (*wake)(void *context);
    void *context;
};

/* Starts the sweep and the looks, if there are maps. Returns 0 or -errno. */
int nat_upkeep_start(struct nat_engine *engine, const struct engine_setup *setup);
void nat_upkeep_done(struct nat_engine *engine);
