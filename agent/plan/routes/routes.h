/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses and blocks this node announces, which have a guard, and why.
 *
 * Pure: no system call, clock, log or global. The unit of planning is one address or one block; a
 * change of an object is mapped to the affected units (affected.h), and only these are planned
 * again. Every address that some service names gets a row with a reason, announced or not.
 */
#pragma once

#include "plan/nat/svc0_route.h"
#include "plan/pods/block_row.h"
#include "plan/routes/address_row.h"
#include "plan/routes/direct_row.h"
#include "plan/routes/route_inputs.h"

/* The plan: sorted tables of rows. Owned by the caller of plan_routes(). */
struct route_plan {
    struct sorted addresses; /* struct address_row * */
    struct sorted blocks;    /* struct block_row */
    struct sorted nets;      /* struct net_row */
    struct sorted direct;    /* struct direct_row */
    size_t foreign;          /* number of address rows with `foreign` */
    /*
     * Routes to svc0 are in the guard table, by our rule, not in main: because other rules exist,
     * which might bypass main, or addresses are excepted (foreign). plan_svc0_route() decides.
     */
    bool svc0_by_rule;
};

void route_plan_init(struct route_plan *plan);
void route_plan_done(struct route_plan *plan);

/*
 * In which table routes to svc0 are, for route_plan.svc0_by_rule: true: the guard table. Of the
 * plan it reads `foreign`. When the result changes, every route to svc0 changes too.
 */
bool plan_svc0_route(const struct node_facts *facts, const struct route_plan *plan);

/* Which part of a plan is to be planned again. */
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
    struct faults faults;       /* all current faults of the address */
};

/* How a plan has changed. */
struct route_update {
    /*
     * Every route may have changed: everything was planned, or the table of svc0's routes has
     * changed, which moves routes of addresses that were not planned again.
     */
    bool all;
    VEC(struct address_update) addresses; /* sorted by address */
    bool blocks, nets, direct;            /* all of these were planned again */
    struct sorted blocks_before, nets_before;
    /*
     * Of other nodes' blocks, the rows that were planned again: before and after. With `direct` the
     * new rows are in the plan, and `direct_after` is empty.
     */
    struct sorted direct_before, direct_after; /* struct direct_row */
    struct faults net_faults;                  /* all current faults of networks, if `nets` */
};

/*
 * Plans the units of the scope again and puts them into the plan. All route plans are made by this
 * function: from an empty plan with `all` it is plan_routes(). Returns 0, then the caller ends with
 * route_update_done(); or -ENOMEM with the plan unchanged.
 */
int route_plan_update(struct route_plan *plan, const struct route_inputs *inputs,
                      const struct route_scope *scope, struct route_update *ret_update);
void route_update_done(struct route_update *update);

/*
 * The whole plan from nothing. Faults are in order of addresses, then those of networks. Returns 0
 * or -ENOMEM.
 */
int plan_routes(const struct route_inputs *inputs, struct route_plan *ret_plan,
                struct faults *faults);
