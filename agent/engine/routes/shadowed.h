/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of this node that do not reach NAT: a foreign route or rule leads them away from svc0,
 * where NAT serves them. Requests of pods and other clients reach NAT's programs before any route.
 *
 * The agent does not hold foreign routes, since there may be a million. It queries the kernel for
 * the route of an address instead: for a few addresses in each network to which a route was added,
 * and for all addresses, some at a time, where rules changed or no check has run yet.
 */
#pragma once

#include "base/net/ip.h"
#include "base/vec.h"
#include "plan/routes/routes.h"

struct kernel_events;
struct route_engine;
struct route_work;

struct shadowed {
    prefix_list nets; /* to which foreign routes were added */
    bool all;         /* all addresses are to be checked */
    bool walking;     /* a check of all is in progress: some are left to query */
    struct ip next;   /* the first of those */
    int64_t all_ms;   /* when the next check of all may begin, monotonic */
    ip_list found;    /* addresses that are routed away from svc0 */
};

void shadowed_done(struct shadowed *shadowed);

/* Takes in foreign changes of routes and rules. Returns 0 or -ENOMEM. */
int shadowed_hear(struct route_engine *engine, const struct kernel_events *events);

/*
 * Queries the routes of the addresses in doubt, and replaces the fault about them. Returns 0 or
 * -errno.
 */
int shadowed_judge(struct route_engine *engine, const struct route_work *work, int64_t now_ms);

/* When the next query is due, monotonic; INT64_MAX: no address is in doubt. */
int64_t shadowed_next_ms(const struct shadowed *shadowed);
