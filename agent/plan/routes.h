/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses and blocks this node announces, which it guards, and why.
 *
 * Pure: no system call, clock, log or global. The unit of planning is one address or one block;
 * a change of an object is turned into the units it touches (affected.h), and only these are
 * planned again. Every address that some service names gets a row with a reason, announced or not.
 */
#pragma once

#include "plan/address_row.h"
#include "plan/block_row.h"
#include "plan/lead.h"
#include "plan/route_inputs.h"

/* The plan: sorted tables of rows. Owned by whoever calls plan_routes(). */
struct route_plan {
    struct sorted addresses; /* struct address_row * */
    struct sorted blocks;    /* struct block_row */
    struct sorted nets;      /* struct net_row */
    size_t foreign;          /* addresses of which the row says so */
    /*
     * What is led to svc0 stands in the guard table behind our rule, not in main: because there
     * are other rules already, which might pass main by, or addresses that are left out (foreign).
     * plan_lead() decides.
     */
    bool led_by_rule;
};

void route_plan_init(struct route_plan *plan);
void route_plan_done(struct route_plan *plan);

/*
 * Where what is led to svc0 stands, for route_plan.led_by_rule: true if in the guard table. Of the
 * plan `foreign` is read. When the answer changes, every route that leads to svc0 changes too.
 */
bool plan_lead(const struct node_facts *facts, const struct route_plan *plan);

/* The whole plan from nothing. Returns 0 or -ENOMEM. */
int plan_routes(const struct route_inputs *inputs, struct route_plan *ret_plan,
                struct faults *faults);
