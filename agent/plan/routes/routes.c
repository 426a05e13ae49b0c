// SPDX-License-Identifier: Apache-2.0
/*
 * The route planner: objects in, rows out; see routes.h for the contract.
 *
 * The kernel routes of a row:
 *   export table (119)   blackhole ADDRESS proto 31 (or 34 + class)   BIRD learns it
 *   guard table (120)    unreachable ADDRESS proto 33                 unmapped ports must not loop
 *   main, with NAT on    ADDRESS dev svc0 src NODE proto 33           instead of that
 *   main                 unreachable ADDRESS proto 33 metric 4278198272   a gateway's
 *   export table         blackhole BLOCK proto 30
 *   main                 unreachable BLOCK proto 33 metric 4278198272 free pod addresses likewise
 *   main                 BLOCK via NODE dev ... proto 30              another node's, routes.direct
 * `blackhole` depends on no link and is learned equally in both families by every BIRD from 2.0;
 * the export table is in no ip rule, so no packet is routed by it.
 *
 * With NAT on, svc0's program rejects unmapped ports, and serves the node's own packets. For the
 * latter each address that NAT serves is routed to svc0, also one that this node may not announce
 * (another class, an excluded node, a drained one); ClusterIPs by their networks. That needs no
 * rule if there are no other rules: the first rule disables the kernel's fast path of the IPv4
 * table lookup for every packet (docs/architecture.md). If there are rules already, these routes
 * are in the guard table, with a rule of its own before them.
 *
 * A plan is composed in one place, route_plan_update(): addresses first, which determine whether
 * the guard table is used; then blocks and networks. The daemon calls it after every change with
 * the affected units, and with everything in a full pass; `agentctl plan` calls it with everything,
 * on an empty plan. An updated plan therefore equals one made from nothing.
 */
#include "plan/routes/routes.h"

#include <errno.h>
#include <stdlib.h>

#include "plan/egress/gateway_address.h"

void route_plan_init(struct route_plan *plan)
{
    *plan = (struct route_plan){
        .addresses = SORTED(struct address_row *, address_row_cmp),
        .blocks = SORTED(struct block_row, block_row_cmp),
        .nets = SORTED(struct net_row, net_row_cmp),
        .direct = SORTED(struct direct_row, direct_row_cmp),
    };
}

void route_plan_done(struct route_plan *plan)
{
    for (size_t i = 0; i < plan->addresses.count; i++)
        address_row_free(*(struct address_row **)sorted_at(&plan->addresses, i));
    sorted_done(&plan->addresses);
    sorted_done(&plan->blocks);
    sorted_done(&plan->nets);
    sorted_done(&plan->direct);
}

bool plan_svc0_route(const struct node_facts *facts, const struct route_plan *plan)
{
    return facts->other_rules || plan->foreign;
}

void route_update_done(struct route_update *update)
{
    vec_each(struct address_update, turn, &update->addresses) {
        address_row_free(turn->before);
        faults_done(&turn->faults);
    }
    vec_done(&update->addresses);
    sorted_done(&update->blocks_before);
    sorted_done(&update->nets_before);
    sorted_done(&update->direct_before);
    sorted_done(&update->direct_after);
    faults_done(&update->net_faults);
}

/*
 * An update in progress. Until the commit, the plan owns the old rows and the draft the new ones;
 * afterwards the reverse, also for blocks and networks.
 */
struct draft {
    struct route_update update;
    struct sorted blocks, nets, direct;
    size_t foreign;
};

static void draft_done(struct draft *draft)
{
    vec_each(struct address_update, turn, &draft->update.addresses) {
        address_row_free(turn->after);
        turn->before = NULL;
    }
    route_update_done(&draft->update);
    sorted_done(&draft->blocks);
    sorted_done(&draft->nets);
    sorted_done(&draft->direct);
}

static int add_gateway(const struct config *config, ip_list *addresses)
{
    return vec_append(addresses, gateway_addresses(config));
}

/*
 * The addresses to plan, sorted and each once: for everything, those of all rows and Services, and
 * an egress gateway's.
 */
static int choose_addresses(const struct route_plan *plan, const struct node_facts *facts,
                            const struct route_scope *scope, ip_list *addresses)
{
    int r = scope->all ? store_addresses(facts->store, addresses) : 0;
    if (r < 0)
        return r;
    if (scope->all)
        r = add_gateway(facts->config, addresses);
    if (r < 0)
        return r;
    size_t more = scope->all         ? plan->addresses.count
                  : scope->addresses ? scope->addresses->count
                                     : 0;
    if (more && vec_reserve(addresses, more) < 0)
        return -ENOMEM;
    if (scope->all) {
        sorted_each(struct address_row *const, row, &plan->addresses)
            addresses->items[addresses->count++] = (*row)->address;
    } else if (scope->addresses) {
        vec_each(const struct ip, address, scope->addresses)
            addresses->items[addresses->count++] = *address;
    }
    ip_list_unite(addresses);
    return 0;
}

static int draft_addresses(const struct route_plan *plan, const struct route_inputs *inputs,
                           const ip_list *addresses, struct draft *draft)
{
    int r = addresses->count ? vec_reserve(&draft->update.addresses, addresses->count) : 0;
    if (r < 0)
        return r;
    draft->foreign = plan->foreign;
    vec_each(const struct ip, address, addresses) {
        struct address_row key = { .address = *address }, *key_ptr = &key;
        struct address_row **before = sorted_find(&plan->addresses, &key_ptr);
        (void)vec_push(&draft->update.addresses, (struct address_update){ .address = *address });
        struct address_update *turn =
            &draft->update.addresses.items[draft->update.addresses.count - 1];
        turn->before = before ? *before : NULL;
        if (inputs->node->config->routes.enabled)
            r = plan_address(inputs, address, turn->before, &turn->after, &turn->faults);
        if (r < 0)
            return r;
        draft->foreign -= turn->before && turn->before->foreign;
        draft->foreign += turn->after && turn->after->foreign;
    }
    return 0;
}

/* All rows, or those of the scope. */
static int draft_direct(const struct route_plan *plan, const struct node_facts *facts,
                        const struct route_scope *scope, struct draft *draft)
{
    struct route_update *update = &draft->update;
    if (update->direct)
        return plan_direct(facts, &draft->direct);
    update->direct_before = update->direct_after =
        (struct sorted)SORTED(struct direct_row, direct_row_cmp);
    for (size_t i = 0; scope->direct_rows && i < scope->direct_rows->count; i++) {
        const struct direct_row *key = &scope->direct_rows->items[i];
        const struct direct_row *before = sorted_find(&plan->direct, key);
        struct direct_row after;
        int r = before ? sorted_put(&update->direct_before, before) : 0;
        if (r < 0)
            return r;
        if (plan_direct_row(facts, key, &after))
            r = sorted_put(&update->direct_after, &after);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Changes to be merged into one of the plan's tables. */
struct batch {
    struct sorted_change *changes; /* with space for the maximum */
    size_t count;
    struct sorted_merging merging;
};

static void batch_done(struct batch *batch)
{
    free(batch->changes);
    sorted_merging_done(&batch->merging);
}

static int batch_addresses(struct route_plan *plan, struct draft *draft, struct batch *batch)
{
    batch->changes = calloc(draft->update.addresses.count + 1, sizeof(*batch->changes));
    if (!batch->changes)
        return -ENOMEM;
    vec_each(struct address_update, turn, &draft->update.addresses) {
        if (turn->after)
            batch->changes[batch->count++] = (struct sorted_change){ &turn->after, false };
        else if (turn->before)
            batch->changes[batch->count++] = (struct sorted_change){ &turn->before, true };
    }
    return sorted_merge_prepare(&plan->addresses, batch->changes, batch->count, &batch->merging);
}

/* Later changes win: a row that exists before and after replaces itself. */
static int batch_direct(struct route_plan *plan, const struct route_update *update,
                        struct batch *batch)
{
    if (update->direct)
        return 0;
    batch->changes = calloc(update->direct_before.count + update->direct_after.count + 1,
                            sizeof(*batch->changes));
    if (!batch->changes)
        return -ENOMEM;
    sorted_each(const struct direct_row, row, &update->direct_before)
        batch->changes[batch->count++] = (struct sorted_change){ row, true };
    sorted_each(const struct direct_row, row, &update->direct_after)
        batch->changes[batch->count++] = (struct sorted_change){ row, false };
    return sorted_merge_prepare(&plan->direct, batch->changes, batch->count, &batch->merging);
}

/* Merges the draft into the plan. Steps that can fail are first. */
static int commit(struct route_plan *plan, struct draft *draft, bool svc0_by_rule)
{
    struct route_update *update = &draft->update;
    CLEANUP(batch_done) struct batch addresses = { 0 }, direct = { 0 };
    int r = batch_addresses(plan, draft, &addresses);
    if (r < 0)
        return r;
    r = batch_direct(plan, update, &direct);
    if (r < 0)
        return r;
    sorted_merge_finish(&plan->addresses, &addresses.merging);
    sorted_merge_finish(&plan->direct, &direct.merging);
    plan->foreign = draft->foreign;
    plan->svc0_by_rule = svc0_by_rule;
    if (update->blocks) {
        update->blocks_before = plan->blocks;
        plan->blocks = TAKE_STRUCT(draft->blocks);
    }
    if (update->nets) {
        update->nets_before = plan->nets;
        plan->nets = TAKE_STRUCT(draft->nets);
    }
    if (update->direct) {
        update->direct_before = plan->direct;
        plan->direct = TAKE_STRUCT(draft->direct);
    }
    return 0;
}

int route_plan_update(struct route_plan *plan, const struct route_inputs *inputs,
                      const struct route_scope *scope, struct route_update *ret_update)
{
    CLEANUP(draft_done) struct draft draft = { 0 };
    AUTOVEC ip_list addresses = { 0 };
    struct route_update *update = &draft.update;

    int r = choose_addresses(plan, inputs->node, scope, &addresses);
    if (r < 0)
        return r;
    r = draft_addresses(plan, inputs, &addresses, &draft);
    if (r < 0)
        return r;
    bool svc0_by_rule =
        plan_svc0_route(inputs->node, &(struct route_plan){ .foreign = draft.foreign });
    update->all = scope->all || svc0_by_rule != plan->svc0_by_rule;
    update->blocks = update->all || scope->blocks;
    update->nets = update->all;
    update->direct = update->all || scope->direct;
    r = update->blocks ? plan_blocks(inputs, &draft.blocks) : 0;
    if (r < 0)
        return r;
    r = update->nets ? plan_nets(inputs->node, &draft.nets, &update->net_faults) : 0;
    if (r < 0)
        return r;
    r = draft_direct(plan, inputs->node, scope, &draft);
    if (r < 0)
        return r;
    r = commit(plan, &draft, svc0_by_rule);
    if (r < 0)
        return r;
    *ret_update = TAKE_STRUCT(draft.update);
    return 0;
}

int plan_routes(const struct route_inputs *inputs, struct route_plan *ret_plan,
                struct faults *faults)
{
    const struct route_scope everything = { .all = true };
    CLEANUP(route_plan_done) struct route_plan plan;
    CLEANUP(route_update_done) struct route_update update = { 0 };
    route_plan_init(&plan);
    int r = route_plan_update(&plan, inputs, &everything, &update);
    if (r < 0)
        return r;
    vec_each(struct address_update, turn, &update.addresses)
        faults_take(faults, &turn->faults);
    faults_take(faults, &update.net_faults);
    *ret_plan = TAKE_STRUCT(plan);
    return 0;
}
