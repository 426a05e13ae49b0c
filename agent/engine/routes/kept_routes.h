/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes of an earlier agent that nobody names, kept while some manifest has been broken ever since
 * this agent started: that file may be what names them, and its last good content, which would
 * stay in force, is known to nobody any more. All other routes follow the objects as always. When
 * every file has been read well once, or is gone, what is still not named goes.
 */
#pragma once

#include "base/sorted.h"
#include "plan/route_table.h"
#include "plan/routes.h"
#include "status/status.h"

struct kept_routes {
    bool chosen;         /* the first pass that may remove has been */
    struct sorted slots; /* struct route, by slot: kept so far */
};

void kept_routes_init(struct kept_routes *kept);
void kept_routes_done(struct kept_routes *kept);

/* True if something is kept, and need not be any more: a pass over everything is due. */
bool kept_routes_are_free(const struct kept_routes *kept, const struct status *status);

/*
 * Takes the deletions that must wait out of a difference of the plan and the kernel. `everything`:
 * the pass is over everything and may remove. Keeps the fault about it true. Returns 0 or -ENOMEM.
 */
int kept_routes_take_out(struct kept_routes *kept, const struct route_plan *plan,
                         struct status *status, bool everything, struct route_diff *diff);
