/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which gateways no route leads to. A routing daemon takes the route of a gateway back when its
 * session ends, or when BFD finds that it is gone: long before anybody tells the API. Such a
 * gateway is left at the kernel's notification, and taken again when a route is back.
 *
 * Where a default route covers a gateway's address, routes say nothing of it.
 *
 * Beside that: which gateways are pods of this node, at the other end of a veth. Internal to
 * engine/egress/.
 */
#pragma once

#include "apply/mirror/kernel.h"
#include "base/fault.h"
#include "plan/egress/egress.h"

struct egress_reach {
    VEC(struct ip) gateways; /* all of the plan's, sorted, no duplicates */
    VEC(struct ip) away;     /* of these, where no route leads to; sorted */
    VEC(struct ip) peers;    /* pods of this node; sorted */
    bool stale;              /* a route, link or address changed since they were looked at */
};

void egress_reach_done(struct egress_reach *reach);

/* Looks at them again if need be. Returns 1 if it stands otherwise with any, 0, or -errno. */
int egress_reach_look(struct egress_reach *reach, struct kernel *kernel);

/*
 * Takes over the gateways of a new plan, and marks those that are away, and those that are pods of
 * this node, in the plan. A fault for each that is away, and one for each set that has no other.
 * Returns 0 or -errno.
 */
int egress_reach_mark(struct egress_reach *reach, struct kernel *kernel,
                      const struct egress_plan *plan, struct faults *faults);
