/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether the pods of this node that Services forward to are reachable: raises a fault for
 * each address that answers no neighbour requests on the interface of its route. Part of the upkeep
 * (nat_upkeep.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/vec.h"

struct nat_engine;

struct nat_silent_pod {
    struct ip ip;
    uint32_t ifindex;  /* the interface of the route */
    int64_t silent_ms; /* since when nothing answers there, monotonic */
};

struct nat_silent_pods {
    VEC(struct nat_silent_pod) list; /* nat_state_done() frees it */
    size_t row;                      /* of the engine's rows: where the next check continues */
    size_t pod;                      /* of that row's pods */
};

/* Checks a few; to be called about twice a second. `now_ms`: monotonic. */
void nat_silent_pods_look(struct nat_engine *engine, int64_t now_ms);
