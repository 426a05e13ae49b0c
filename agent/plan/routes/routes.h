/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses and blocks this node announces, which it guards, and why.
 *
 * Pure: no system call, clock, log or global. The unit of planning is one address or one block;
 * a change of an object is turned into the units it touches (affected.h), and only these are
 * planned again. Every address that some service names gets a row with a reason, announced or not.
 */
#pragma once

#include "plan/nat/svc0_route.h"
#include "plan/pods/block_row.h"
#include "plan/routes/address_row.h"
#include "plan/routes/direct_row.h"
#include "plan/routes/route_inputs.h"

/* The plan: sorted tables of rows. Owned by whoever calls plan_routes(). */
struct route_plan {
    struct sorted addresses; /* struct address_row * */
    struct sorted blocks;    /* struct block_row */
    struct sorted nets;      /* struct net_row */
    struct sorted direct;    /* struct direct_row */
    size_t foreign;          /* addresses of which the row says so */
    /*
     * What is led to svc0 stands in the guard table behind our rule, not in main: because there
     * are other rules already, which might pass main by, or addresses that are left out (foreign).
     * plan_svc0_route() decides.
     */
    bool svc0_by_rule;
};

void route_plan_init(struct route_plan *plan);
void route_plan_done(struct route_plan *plan);

/*
 * Where what is led to svc0 stands, for route_plan.svc0_by_rule: true if in the guard table. Of the
 * plan `foreign` is read. When the answer changes, every route that leads to svc0 changes too.
 */
bool plan_svc0_route(const struct node_facts *facts, const struct route_plan *plan);

/* What of a plan is to be planned again. */
struct route_scope {
    bool all; /* everything: each address that a row or a Service names, and so on */
    const ip_list *addresses;           /* these; NULL: none. In any order, duplicates allowed */
    bool blocks;                        /* the blocks */
    bool direct;                        /* all of other nodes' blocks */
    const direct_row_list *direct_rows; /* these of them, by prefix and block; NULL: none */
};

/* One address that was planned again. */
struct address_update {
    struct ip address;
    struct address_row *before; /* the row that was in the plan, owned by the update; NULL: none */
    struct address_row *after;  /* the row that is in the plan now, owned by the plan; NULL: none */
    struct faults faults;       /* all that is wrong with the address, in place of what was */
};

/* How a plan has changed. */
struct route_update {
    /*
     * Every route may be another one: everything was planned, or the lead is elsewhere now, which
     * moves routes of addresses that were not planned again.
     */
    bool all;
    VEC(struct address_update) addresses; /* sorted by address */
    bool blocks, nets, direct;            /* all of these were planned again */
    struct sorted blocks_before, nets_before;
    /*
     * Of other nodes' blocks, the rows that were planned again: as they were in the plan, and as
     * they are. With `direct` those that are now are the plan's, and `direct_after` is empty.
     */
    struct sorted direct_before, direct_after; /* struct direct_row */
    struct faults net_faults;                  /* all that is wrong with networks, if `nets` */
};

/*
 * Plans what the scope names again and puts it into the plan. This is the one composition of a
 * route plan: from an empty plan with `all` it is plan_routes(). Returns 0, then the caller ends
 * with route_update_done(); or -ENOMEM with the plan as it was.
 */
int route_plan_update(struct route_plan *plan, const struct route_inputs *inputs,
                      const struct route_scope *scope, struct route_update *ret_update);
void route_update_done(struct route_update *update);

/*
 * The whole plan from nothing. Faults come in order of addresses, then those of networks. Returns 0
 * or -ENOMEM.
 */
int plan_routes(const struct route_inputs *inputs, struct route_plan *ret_plan,
                struct faults *faults);
