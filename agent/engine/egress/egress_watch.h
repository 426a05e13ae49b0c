/* SPDX-License-Identifier: Apache-2.0 */
/* Whether egress' programs are still on their interfaces, of which the kernel tells nobody. */
#pragma once

#include <stdint.h>

#include "engine/engine.h"
#include "loop/timer.h"

struct egress_engine;

struct egress_watch {
    struct timer *timer; /* NULL: nothing is watched */
    int64_t looked_ms;   /* monotonic */
    void (*wake)(void *context);
    void *context;
};

/* Looks from now on, and has a round see to programs that are away. Returns 0 or -errno. */
int egress_watch_start(struct egress_engine *egress, const struct engine_setup *setup);
void egress_watch_done(struct egress_watch *watch);
