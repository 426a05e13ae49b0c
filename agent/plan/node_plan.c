// SPDX-License-Identifier: Apache-2.0
/*
 * Composes the whole plan of this node; see node_plan.h.
 *
 * Called by `agentctl plan`, and by tests: golden files have its output, and the incrementally
 * updated plans of the daemon's engines must equal it. It calls every planner with the same facts.
 */
#include "plan/node_plan.h"

#include "plan/nat/nat.h"
#include "plan/nat/nat_update.h"

void node_plan_init(struct node_plan *plan)
{
    *plan = (struct node_plan){ .services = SORTED(struct nat_row *, nat_row_cmp) };
    route_plan_init(&plan->routes);
    egress_plan_init(&plan->egress);
}

void node_plan_done(struct node_plan *plan)
{
    route_plan_done(&plan->routes);
    nat_rows_done(&plan->services);
    nat_settings_done(&plan->settings);
    egress_plan_done(&plan->egress);
}

int plan_node(const struct route_inputs *inputs, struct node_plan *ret_plan, struct faults *faults)
{
    const struct node_facts *facts = inputs->node;
    AUTOFAULTS struct faults unused = { 0 };
    struct faults *nat_faults = facts->config->services.enabled ? faults : &unused;
    CLEANUP(node_plan_done) struct node_plan plan;
    node_plan_init(&plan);

    int r = plan_routes(inputs, &plan.routes, faults);
    if (r < 0)
        return r;
    r = plan_nat(facts, &plan.services, nat_faults);
    if (r < 0)
        return r;
    r = plan_nat_settings(facts, &plan.settings, nat_faults);
    if (r < 0)
        return r;
    r = plan_egress(facts, &plan.egress, faults);
    if (r < 0)
        return r;
    *ret_plan = TAKE_STRUCT(plan);
    return 0;
}
