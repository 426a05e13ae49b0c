/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the routers that default routes lead to are there: a fault for each that nobody answers
 * for. Part of the upkeep (nat_upkeep.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/vec.h"

struct nat_engine;

struct nat_router {
    uint32_t ifindex;
    struct ip ip;
    int64_t silent_ms; /* since when nobody answers for it, monotonic; 0: somebody does */
};

struct nat_routers {
    VEC(struct nat_router) list;     /* nat_state_done() frees it */
};

/* Whether one of them did not answer at the last look. */
bool nat_routers_silent(const struct nat_engine *engine);

/* Looks at each; to be called about once a second. */
void nat_routers_look(struct nat_engine *engine, int64_t now_ms);
