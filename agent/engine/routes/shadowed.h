/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of this node's own that go astray: a route or rule of somebody's leads them away from
 * svc0, where NAT serves them. What pods and others ask meets NAT's programs before any route.
 *
 * The routes of others are not held, since they may be a million. The kernel is asked where it
 * would lead an address: a few in each network to which a route came, and all of them, some at a
 * time, where rules changed, or nobody has looked yet.
 */
#pragma once

#include "base/net/ip.h"
#include "base/vec.h"
#include "plan/routes/routes.h"

struct kernel_events;
struct route_engine;
struct route_work;

struct shadowed {
    prefix_list nets; /* to which others' routes came */
    bool all;         /* whatever the addresses are */
    bool walking;     /* over all: some are left to ask for */
    struct ip next;   /* the first of those */
    int64_t all_ms;   /* when the next walk may begin, monotonic */
    ip_list found;    /* are led away */
};

void shadowed_done(struct shadowed *shadowed);

/* Takes over what others did to routes and rules. Returns 0 or -ENOMEM. */
int shadowed_hear(struct route_engine *engine, const struct kernel_events *events);

/* Asks for what is in doubt, and replaces the fault that tells of it. Returns 0 or -errno. */
int shadowed_judge(struct route_engine *engine, const struct route_work *work, int64_t now_ms);

/* When there is more to ask for, monotonic; INT64_MAX: nothing is in doubt. */
int64_t shadowed_next_ms(const struct shadowed *shadowed);
