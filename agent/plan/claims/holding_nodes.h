/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes may have one claimed address, by their objects and the Services that name it.
 * Internal to plan/. */
#pragma once

#include "plan/claims/contenders.h"
#include "plan/claims/placement.h"
#include "plan/pools/advertised.h"
#include "plan/routes/route_inputs.h"

/* A claimed address, and the Services that claim it; none: it is the node's own. */
struct wanted {
    const struct route_inputs *inputs;
    struct ip ip;
    VEC(const struct service *) services;
};

/* A port whose clients fail on a node. */
struct lost_port {
    const struct service *service;
    const struct service_port *port;
};

/* The key of a kind of claims, and the nodes of each kind in this plan. */
struct kind_of_claim {
    mark_list marks;
    struct contenders *others;
};
typedef VEC(struct kind_of_claim) claim_kinds;

void claim_kinds_done(claim_kinds *kinds);

/*
 * Whether an advertisement or the configuration selects the address for a node and one of its
 * interfaces (NULL: any).
 */
bool wanted_selects(const struct wanted *wanted, const struct service *service,
                    const struct node *node, const char *interface);

/* Checks a node by its object (NULL: none) and the Services alone. Returns an enum
 * placement_reason, or -ENOMEM. */
int wanted_judge(const struct wanted *wanted, const struct node *node, const char *name);

/*
 * The first port of policy Local that has endpoints on other nodes and none on this one, of a node
 * that has any: `ret_lost` names none if there is no such port. Returns 1 if there is one, 0, or
 * -ENOMEM.
 */
int wanted_lacks(const struct wanted *wanted, const char *node, struct lost_port *ret_lost);

/* The eligible nodes other than this one. Returns 0 or -ENOMEM. */
int wanted_others(const struct wanted *wanted, claim_kinds *kinds, struct contenders **ret_others);
