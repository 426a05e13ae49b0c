/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gateways to which no route exists.
 *
 * A routing daemon withdraws the route to a gateway when its session ends, or when BFD detects that
 * the gateway is gone, which is long before the API reports it. The agent stops using such a
 * gateway at the kernel's notification, and uses it again when a route returns. Where a default
 * route covers a gateway's address, routes say nothing about it. This file also finds the gateways
 * that are pods of this node, at the other end of a veth. Internal to engine/egress/.
 */
#pragma once

#include "apply/mirror/kernel.h"
#include "base/fault.h"
#include "plan/egress/egress.h"

struct egress_reach {
    VEC(struct ip) gateways; /* all those of the plan, sorted, no duplicates */
    VEC(struct ip) away;     /* those to which no route exists; sorted */
    VEC(struct ip) peers;    /* pods of this node; sorted */
    bool stale;              /* a route, link or address changed since the last check */
};

void egress_reach_done(struct egress_reach *reach);

/*
 * Checks the gateways again if needed. Returns 1 if the result changed for any gateway, 0, or
 * -errno.
 */
int egress_reach_look(struct egress_reach *reach, struct kernel *kernel);

/*
 * Adopts the gateways of a new plan, and marks in the plan those without a route and those that are
 * pods of this node. Raises a fault for each gateway without a route, and one for each set that has
 * no other gateway. Returns 0 or -errno.
 */
int egress_reach_mark(struct egress_reach *reach, struct kernel *kernel,
                      const struct egress_plan *plan, struct faults *faults);
