/* SPDX-License-Identifier: Apache-2.0 */
/* Applies route notifications to the mirror, so that it has the kernel's routes after them. */
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
    uint32_t port;  /* netlink port id of the sender of the request; 0: the kernel */
    uint32_t order; /* of arrival */
    bool remove;
    bool replace; /* the route replaced the one in its slot */
};

typedef VEC(struct route_event) route_event_list;

/*
 * Applies the events (which this function sorts) to `routes`; the scope decides which routes are
 * kept. Routes that were replaced, and so deleted without an event, are appended to `events` as
 * removals. `*ret_doubtful` becomes true if an event does not identify one of several routes: the
 * mirror may then differ from the kernel. Returns 0, or -ENOMEM with `routes` unchanged.
 */
int replay_routes(struct sorted *routes, route_event_list *events, const struct kernel_scope *scope,
                  bool *ret_doubtful);
