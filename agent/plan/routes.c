// SPDX-License-Identifier: Apache-2.0
/*
 * The route planner: objects in, rows out; see routes.h for the contract.
 *
 * What a row asks of the kernel:
 *   export table (119)   blackhole ADDRESS proto 31 (or 34 + class)   BIRD learns it
 *   guard table (120)    unreachable ADDRESS proto 33                 unmapped ports must not loop
 *   main, with NAT on    ADDRESS dev svc0 src NODE proto 33           instead of that
 *   export table         blackhole BLOCK proto 30
 *   main                 unreachable BLOCK proto 33 metric 4278198272 free pod addresses likewise
 * `blackhole` depends on no link and is learned alike in both families by every BIRD from 2.0; the
 * export table is in no ip rule, so nobody is ever routed by it.
 *
 * With NAT on, svc0's program refuses unmapped ports, and serves the node's own packets. For these
 * each address that NAT serves is led there, also one that this node may not announce (another
 * class, an excluded node, a drained one); ClusterIPs by their networks. That needs no rule where
 * nobody has any: a first rule costs every IPv4 packet of the node the kernel's short way through
 * the tables (docs/architecture.md). Where there are rules already, the guard table
 * leads, with a rule of its own before them.
 *
 * Called by agentd after every change, and by `agentctl plan`. Owns nothing between calls.
 */
#include "plan/routes.h"

static int plan_all_addresses(const struct route_inputs *inputs, struct sorted *rows,
                              struct faults *faults)
{
    AUTOVEC ip_list addresses = { 0 };
    int r = store_addresses(inputs->node->store, &addresses);
    if (r < 0)
        return r;
    vec_each(const struct ip, address, &addresses) {
        CLEANUP(address_row_freep) struct address_row *row = NULL;
        r = plan_address(inputs, address, &row, faults);
        if (r == 0 && row)
            r = sorted_put(rows, &row);
        if (r < 0)
            return r;
        TAKE_PTR(row);
    }
    return 0;
}

void route_plan_init(struct route_plan *plan)
{
    *plan = (struct route_plan){
        .addresses = SORTED(struct address_row *, address_row_cmp),
        .blocks = SORTED(struct block_row, block_row_cmp),
        .nets = SORTED(struct net_row, net_row_cmp),
    };
}

void route_plan_done(struct route_plan *plan)
{
    for (size_t i = 0; i < plan->addresses.count; i++)
        address_row_free(*(struct address_row **)sorted_at(&plan->addresses, i));
    sorted_done(&plan->addresses);
    sorted_done(&plan->blocks);
    sorted_done(&plan->nets);
}

bool plan_lead(const struct node_facts *facts, const struct route_plan *plan)
{
    return facts->other_rules || plan->foreign;
}

int plan_routes(const struct route_inputs *inputs, struct route_plan *ret_plan,
                struct faults *faults)
{
    CLEANUP(route_plan_done) struct route_plan plan;
    route_plan_init(&plan);
    int r = plan_all_addresses(inputs, &plan.addresses, faults);
    if (r < 0)
        return r;
    r = plan_blocks(inputs, &plan.blocks);
    if (r < 0)
        return r;
    r = plan_nets(inputs->node, &plan.nets, faults);
    if (r < 0)
        return r;
    sorted_each(struct address_row *const, row, &plan.addresses)
        plan.foreign += (*row)->foreign;
    plan.led_by_rule = plan_lead(inputs->node, &plan);
    *ret_plan = TAKE_STRUCT(plan);
    return 0;
}
