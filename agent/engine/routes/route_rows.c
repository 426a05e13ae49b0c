// SPDX-License-Identifier: Apache-2.0
/*
 * The first half of a pass over the routes: the planner brings the plan up to date, and this module
 * processes the changes that the planner reports. The slots of changed rows join the work,
 * hold-down (route_holds.h) follows each announcement and withdrawal, and counts and faults follow
 * the rows.
 */
#include "engine/routes/route_rows.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/routes/route_holds.h"

static struct route_inputs inputs_of(const struct route_engine *engine,
                                     const struct node_facts *facts, int64_t now_ms)
{
    return (struct route_inputs){
        .node = facts,
        .proofs = engine->config->services.enabled ? engine->board->proofs : NULL,
        .gateway = engine->board->gateway_proofs,
        .holds = &engine->holds,
        .standing = engine->board->standing,
        .now_ms = now_ms,
    };
}

static int add_slots(route_list *slots, const struct route *routes, int count)
{
    for (int i = 0; i < count; i++) {
        if (vec_push(slots, routes[i]) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int add_address_slots(const struct route_engine *engine, const struct address_row *row,
                             route_list *slots)
{
    struct route routes[2];
    return row ? add_slots(slots, routes,
                           address_routes(engine->config, &engine->plan, row, routes))
               : 0;
}

static int add_block_slots(const struct route_engine *engine, const struct sorted *rows,
                           route_list *slots)
{
    struct route routes[2];
    sorted_each(const struct block_row, row, rows) {
        int r = add_slots(slots, routes, block_routes(engine->config, row, routes));
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_direct_slot(const struct direct_row *row, route_list *slots)
{
    struct route route;
    return row && direct_route(row, &route) ? vec_push(slots, route) : 0;
}

/* The rows of other nodes' blocks that were planned again, as they are. */
static const struct sorted *direct_after(const struct route_engine *engine,
                                         const struct route_update *update)
{
    return update->direct ? &engine->plan.direct : &update->direct_after;
}

/* Adds the slots of rows that changed; both tables are in the same order. */
static int add_direct_slots(const struct sorted *before, const struct sorted *after,
                            route_list *slots)
{
    size_t was = 0, is = 0;
    while (was < before->count || is < after->count) {
        const struct direct_row *from = was < before->count ? sorted_at(before, was) : NULL;
        const struct direct_row *to = is < after->count ? sorted_at(after, is) : NULL;
        int order = !from ? 1 : !to ? -1 : direct_row_cmp(from, to);
        was += order <= 0;
        is += order >= 0;
        if (order == 0 && direct_row_equal(from, to))
            continue;
        if (add_direct_slot(order <= 0 ? from : NULL, slots) < 0 ||
            add_direct_slot(order >= 0 ? to : NULL, slots) < 0)
            return -ENOMEM;
    }
    return 0;
}

static bool is_announced(const struct address_row *row)
{
    return row && row->reason == REASON_ANNOUNCED;
}

/* Adds the slots that the rows before and after require, and those that another program changed. */
static int add_work(const struct route_engine *engine, const struct route_update *update,
                    struct route_work *work)
{
    vec_each(const struct address_update, turn, &update->addresses) {
        int r = add_address_slots(engine, turn->before, &work->slots);
        if (r < 0)
            return r;
        r = add_address_slots(engine, turn->after, &work->slots);
        if (r < 0)
            return r;
    }
    if (update->blocks) {
        int r = add_block_slots(engine, &update->blocks_before, &work->slots);
        if (r < 0)
            return r;
        r = add_block_slots(engine, &engine->plan.blocks, &work->slots);
        if (r < 0)
            return r;
    }
    int r = add_direct_slots(&update->direct_before, direct_after(engine, update), &work->slots);
    return r < 0 ? r : vec_append(&work->slots, &work->foreign_changes);
}

/* Adds a row to the counts (by 1) or removes it from them (by -1). */
static void count_row(struct route_status *status, const struct address_row *row, int by)
{
    if (!row)
        return;
    bool guard_route = row->guarded || row->svc0_route.ifindex;
    status->wanted += (uint32_t)((is_announced(row) + guard_route) * by);
    *(is_announced(row) ? &status->announced : &status->withheld) += (uint32_t)by;
    status->held += (uint32_t)((row->reason == REASON_HELD_DOWN) * by);
}

static uint32_t count_direct(const struct sorted *rows)
{
    uint32_t count = 0;
    sorted_each(const struct direct_row, row, rows)
        count += row->reason == DIRECT_ROUTED;
    return count;
}

/* The new rows are in place: hold-down and the counts follow. */
static void follow_update(struct route_engine *engine, const struct route_update *update,
                          int64_t now_ms)
{
    struct route_status *status = &engine->status->routes;
    vec_each(const struct address_update, turn, &update->addresses) {
        if (route_holds_follow(engine, &turn->address, turn->before, turn->after, now_ms) < 0)
            log_warning("no memory for an address's hold-down");
        count_row(status, turn->before, -1);
        count_row(status, turn->after, 1);
    }
    if (update->blocks) {
        status->blocks = (uint32_t)engine->plan.blocks.count;
        status->wanted += 2 * (uint32_t)(engine->plan.blocks.count - update->blocks_before.count);
    }
    status->wanted +=
        count_direct(direct_after(engine, update)) - count_direct(&update->direct_before);
    if (update->nets)
        status->wanted += (uint32_t)(engine->plan.nets.count - update->nets_before.count);
}

/* Replaces the faults of all that was planned again. */
static int report_update(struct route_engine *engine, struct route_update *update)
{
    struct fault_book *book = engine->status->faults;
    vec_each(struct address_update, turn, &update->addresses) {
        char text[IP_STRLEN];
        AUTOFREE char *group = text_format("address %s", ip_str(&turn->address, text));
        if (!group ||
            fault_book_replace(book, "services", group, &turn->faults, clock_wall_ms()) < 0)
            return -ENOMEM;
    }
    if (!update->nets)
        return 0;
    int r =
        fault_book_replace(book, "services", "serviceCIDRs", &update->net_faults, clock_wall_ms());
    return r < 0 ? r : 0;
}

int route_rows_replan(struct route_engine *engine, struct route_work *work, int64_t now_ms)
{
    const struct node_facts facts = route_facts_now(engine);
    const struct route_inputs inputs = inputs_of(engine, &facts, now_ms);
    const struct route_scope scope = {
        .all = work->all,
        .addresses = &work->addresses,
        .blocks = work->blocks,
        .direct = work->direct,
        .direct_rows = &work->direct_rows,
    };
    CLEANUP(route_update_done) struct route_update update = { 0 };
    int r = route_plan_update(&engine->plan, &inputs, &scope, &update);
    if (r < 0)
        return r;
    follow_update(engine, &update, now_ms);
    work->all |= update.all;
    r = report_update(engine, &update);
    if (r < 0)
        return r;
    return work->all ? 0 : add_work(engine, &update, work);
}
