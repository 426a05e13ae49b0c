/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether the routers of default routes are reachable: raises a fault for each router that
 * answers no neighbour requests, and for the default route of a family that is gone. Part of the
 * upkeep (nat_upkeep.h).
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
    int64_t silent_ms; /* since when no router answers at the address, monotonic; 0: one does */
};

/*
 * The last next hop of a family's default route, and how many checks since then found no default
 * route.
 */
struct nat_lost_default {
    struct nat_router last; /* IP_NONE: none in this family so far, or without an address */
    bool known;
    unsigned looks;
};

struct nat_routers {
    VEC(struct nat_router) list;     /* nat_state_done() frees it */
    struct nat_lost_default lost[2]; /* IPv4, IPv6; forgotten at a reload */
};

/* Whether one of them did not answer at the last check. */
bool nat_routers_silent(const struct nat_engine *engine);

/* Forgets default routes: those that are gone are no longer reported as missing. */
void nat_routers_forget(struct nat_engine *engine);

/* Checks each router; to be called about once a second. */
void nat_routers_look(struct nat_engine *engine, int64_t now_ms);
