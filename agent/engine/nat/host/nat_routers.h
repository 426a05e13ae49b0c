/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the routers that default routes lead to are there: a fault for each that nobody answers
 * for, and for the default route of a family that is gone. Part of the upkeep (nat_upkeep.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/vec.h"

struct nat_engine;

struct nat_router {
    uint32_t ifindex;
    struct ip ip;
    int64_t silent_ms; /* since when nobody answers for it, monotonic; 0: somebody does */
};

/* What a default route of a family led to last, and how many looks have found none since. */
struct nat_lost_default {
    struct nat_router last; /* IP_NONE: a family without one, so far; or no router by address */
    bool known;
    unsigned looks;
};

struct nat_routers {
    VEC(struct nat_router) list;     /* nat_state_done() frees it */
    struct nat_lost_default lost[2]; /* IPv4, IPv6; forgotten at a reload */
};

/* Whether one of them did not answer at the last look. */
bool nat_routers_silent(const struct nat_engine *engine);

/* Default routes that are gone are missed no more. */
void nat_routers_forget(struct nat_engine *engine);

/* Looks at each; to be called about once a second. */
void nat_routers_look(struct nat_engine *engine, int64_t now_ms);
