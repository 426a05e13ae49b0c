/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole plan of this node as one value: routes, Services, settings for all Services, and
 * egress.
 *
 * The daemon keeps the same parts except egress, which it does not program yet, each in its engine,
 * and updates them with the functions that plan_node() is composed of: route_plan_update(),
 * plan_nat_update() and plan_nat_settings(). Its steps in between can't be planned at once: svc0
 * must exist before routes lead there, and Services must be proved before routes announce them.
 * Both are inputs here.
 */
#pragma once

#include "plan/egress/egress.h"
#include "plan/nat/nat_table.h"
#include "plan/routes/routes.h"

struct node_plan {
    struct route_plan routes;
    struct sorted services; /* struct nat_row * */
    struct nat_settings settings;
    struct egress_plan egress;
};

void node_plan_init(struct node_plan *plan);
void node_plan_done(struct node_plan *plan);

/*
 * The whole plan from nothing. Faults are in this order: addresses, networks, Services, settings,
 * egress; while services.enabled is false, those of Services and settings have no effect and are
 * left out. Returns 0, then the caller frees it with node_plan_done(); or -ENOMEM.
 */
int plan_node(const struct route_inputs *inputs, struct node_plan *ret_plan, struct faults *faults);
