/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kept routes: routes of an earlier agent that no object names, and that are kept nevertheless.
 *
 * A manifest that has been broken ever since this agent started has no last good content known to
 * the agent. That manifest may name those routes, so the first pass that may remove routes keeps
 * them instead. They are removed as soon as every manifest was read well once, or is gone. A kept
 * route that an object names in the meantime is no longer kept: it follows the objects like all
 * other routes.
 */
#pragma once

#include "base/sorted.h"
#include "plan/routes/route_table.h"
#include "plan/routes/routes.h"
#include "status/status.h"

struct kept_routes {
    bool chosen;         /* the first pass that may remove has run, and selected what to keep */
    struct sorted slots; /* struct route, by slot: those that are still kept */
};

void kept_routes_init(struct kept_routes *kept);
void kept_routes_done(struct kept_routes *kept);

/* True if routes are kept that no longer need to be: a pass over everything must follow. */
bool kept_routes_are_free(const struct kept_routes *kept, const struct status *status);

/*
 * Removes the deletions of kept routes from `diff`, the difference between plan and kernel.
 * `everything`: the pass is over everything and may remove. Replaces the fault about kept routes.
 * Returns 0 or -ENOMEM.
 */
int kept_routes_take_out(struct kept_routes *kept, const struct route_plan *plan,
                         struct status *status, bool everything, struct route_diff *diff);
