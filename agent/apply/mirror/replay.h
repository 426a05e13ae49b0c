/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Route notifications played back onto the mirror: what the kernel has after them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/mirror/scope.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "plan/routes/route_table.h"

/* One notification. */
struct route_event {
    struct route route;
    uint32_t port;  /* netlink port id of whoever did it; 0: the kernel */
    uint32_t order; /* of arrival */
    bool remove;
    bool replace; /* the route took the place of what stood in its slot */
};

typedef VEC(struct route_event) route_event_list;

/*
 * Plays the events (sorted by this) onto `routes`; the scope decides what is kept.
 * Routes that went without an event of their own, because they were replaced, are appended to
 * `events` as removals. `*ret_doubtful` becomes true if an event does not say which of several
 * routes it hit: the mirror may differ from the kernel then. Returns 0, or -ENOMEM with `routes`
 * unchanged.
 */
int replay_routes(struct sorted *routes, route_event_list *events, const struct kernel_scope *scope,
                  bool *ret_doubtful);
