// SPDX-License-Identifier: Apache-2.0
/*
 * The pass over the routes; see route_pass.h.
 *
 * New routes are written before others are removed. A rule is written before the routes behind it,
 * and removed after them. A guard is written before its address is announced, and removed after the
 * announcement. Within the export table no order is needed: no slot depends on another.
 */
#include "engine/routes/route_pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/remedy.h"
#include "base/text.h"
#include "engine/routes/announcement.h"
#include "engine/routes/blackholes.h"
#include "engine/routes/intruders.h"
#include "engine/routes/route_rows.h"
#include "engine/routes/shadowed.h"
#include "faults/raise.h"
#include "faults/routes.h"

enum { BATCH = 1024 }; /* operations between two reads of the notification socket */

/* The wanted and the present routes in the slots of the work, both sorted. */
static int collect_slots(const struct route_engine *engine, route_list *slots, route_list *want,
                         route_list *have)
{
    const struct sorted *mirror = kernel_routes(engine->kernel);
    vec_sort(slots, route_slot_cmp);
    for (size_t i = 0; i < slots->count; i++) {
        const struct route *slot = &slots->items[i];
        if (i && route_slot_cmp(slot, &slots->items[i - 1]) == 0)
            continue;
        struct route wanted;
        struct route first = { .table = slot->table,
                               .prefix = slot->prefix,
                               .metric = slot->metric };
        if (plan_wanted_route(engine->config, &engine->plan, slot, &wanted) &&
            vec_push(want, wanted) < 0)
            return -ENOMEM;
        for (size_t at = sorted_lower_bound(mirror, &first); at < mirror->count; at++) {
            const struct route *route = sorted_at(mirror, at);
            if (route_slot_cmp(route, slot) != 0)
                break;
            if (vec_push(have, *route) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

static int diff_work(const struct route_engine *engine, struct route_work *work,
                     struct route_diff *ret_diff)
{
    const struct sorted *mirror = kernel_routes(engine->kernel);
    uint32_t table = engine->config->routes.table;
    AUTOVEC route_list want = {}, have = {};
    if (work->all) {
        int r = plan_route_list(engine->config, &engine->plan, &want);
        return r < 0 ? r
                     : diff_routes(want.items, want.count, (const struct route *)mirror->items,
                                   mirror->count, table, work->may_remove, ret_diff);
    }
    int r = collect_slots(engine, &work->slots, &want, &have);
    return r < 0 ? r
                 : diff_routes(want.items, want.count, have.items, have.count, table,
                               work->may_remove, ret_diff);
}

/* 0: guards are added; 1: the export table is written; 2: guards are removed. */
static int op_stage(const struct route_op *op, uint32_t export_table)
{
    if (op->route.table == export_table)
        return 1;
    return op->kind == OP_DELETE ? 2 : 0;
}

/* Whether an operation is in a slot that another program changed. `foreign_changes` is sorted. */
static bool is_repair(const struct route_work *work, const struct route_op *op)
{
    return vec_find(&work->foreign_changes, &op->route, route_slot_cmp);
}

static void count_op(struct route_engine *engine, struct route_work *work,
                     const struct route_op *op)
{
    struct route_status *status = &engine->status->routes;
    status->added += op->kind == OP_ADD;
    status->replaced += op->kind == OP_REPLACE;
    status->deleted += op->kind == OP_DELETE;
    if (is_repair(work, op))
        status->repairs++;
    else if (op->route.table == engine->config->routes.table)
        announcement_log(&engine->plan, op, &work->announcements);
}

/* Operations for the kernel to execute, and the result of each. */
struct batch {
    size_t count;
    struct route_op ops[BATCH];
    struct op_result results[BATCH];
};

static int apply_batch(struct route_engine *engine, struct route_work *work, struct batch *batch)
{
    int r = kernel_apply_routes(engine->kernel, batch->ops, batch->count, batch->results);
    for (size_t i = 0; r == 0 && i < batch->count; i++) {
        const struct op_result *result = &batch->results[i];
        if (result->error)
            failed_routes_refused(&engine->failed_routes, &batch->ops[i], result->error,
                                  result->text);
        else
            count_op(engine, work, &batch->ops[i]);
    }
    batch->count = 0;
    int read = kernel_read(engine->kernel);
    return r < 0 ? r : read;
}

static int apply_routes(struct route_engine *engine, struct route_work *work,
                        const struct route_diff *diff)
{
    if (diff->ops.count == 0)
        return 0;
    AUTOFREE struct batch *batch = malloc(sizeof(*batch));
    if (!batch)
        return -ENOMEM;
    batch->count = 0;
    for (int stage = 0; stage <= 2; stage++) {
        vec_each(const struct route_op, op, &diff->ops) {
            if (op_stage(op, engine->config->routes.table) != stage)
                continue;
            batch->ops[batch->count++] = *op;
            int r = batch->count == BATCH ? apply_batch(engine, work, batch) : 0;
            if (r < 0)
                return r;
        }
    }
    return batch->count ? apply_batch(engine, work, batch) : 0;
}

/* Reports refused rules, and foreign rules that the export table must not have. 0 or -ENOMEM. */
static int report_rules(struct route_engine *engine, const rule_op_list *ops,
                        const struct op_result *results)
{
    AUTOFAULTS struct faults faults = { 0 };
    for (size_t i = 0; i < ops->count; i++) {
        char rule[ROUTE_STRLEN];
        if (results[i].error)
            fault_raise(&faults, "ip rule", rule_refused,
                        .verb = ops->items[i].kind == OP_ADD ? "add" : "delete",
                        .rule = rule_str(&ops->items[i].rule, rule),
                        .error = strerror(-results[i].error), .text = results[i].text,
                        .remedy = remedy_for_kernel(results[i].error));
    }
    sorted_each(const struct rule, rule, kernel_rules(engine->kernel)) {
        char text[ROUTE_STRLEN];
        if (rule->table == engine->config->routes.table)
            fault_raise(&faults, "ip rule", rule_on_export_table, .rule = rule_str(rule, text));
    }
    int r =
        fault_book_replace(engine->status->faults, "routes", "ip rule", &faults, clock_wall_ms());
    return r < 0 ? r : 0;
}

/* Rules are few: they are always compared whole. Returns the number of operations, or -errno. */
static int apply_rules(struct route_engine *engine, const struct route_work *work, bool may_remove)
{
    const struct sorted *have = kernel_rules(engine->kernel);
    AUTOVEC rule_list want = {};
    AUTOVEC rule_op_list ops = {};
    int r = plan_rule_list(&engine->plan, &want);
    if (r < 0)
        return r;
    r = diff_rules(want.items, want.count, (const struct rule *)have->items, have->count,
                   may_remove, &ops);
    if (r < 0)
        return r;
    AUTOFREE struct op_result *results = calloc(ops.count + 1, sizeof(*results));
    if (!results)
        return -ENOMEM;
    r = ops.count ? kernel_apply_rules(engine->kernel, ops.items, ops.count, results) : 0;
    if (r < 0)
        return r;
    r = report_rules(engine, &ops, results);
    if (r < 0)
        return r;
    if (work->rules)
        engine->status->routes.repairs += ops.count;
    r = ops.count ? kernel_read(engine->kernel) : 0;
    return r < 0 ? r : (int)ops.count;
}

static void report_blocked(struct route_engine *engine, const struct route_diff *diff)
{
    const struct sorted *mirror = kernel_routes(engine->kernel);
    vec_each(const struct route, wanted, &diff->blocked) {
        struct route first = { .table = wanted->table,
                               .prefix = wanted->prefix,
                               .metric = wanted->metric };
        size_t at = sorted_lower_bound(mirror, &first);
        if (at < mirror->count)
            failed_routes_blocked(&engine->failed_routes, wanted, sorted_at(mirror, at),
                                  kernel_links(engine->kernel));
    }
}

/* The difference that this pass executes. */
static int find_difference(struct route_engine *engine, struct route_work *work,
                           struct route_diff *ret_diff)
{
    int r = diff_work(engine, work, ret_diff);
    return r < 0 ? r
                 : kept_routes_take_out(&engine->kept, &engine->plan, engine->status,
                                        work->all && work->may_remove, ret_diff);
}

static void begin_failed_routes(struct route_engine *engine, const struct route_work *work,
                                const struct route_diff *diff)
{
    if (work->all)
        failed_routes_examine_all(&engine->failed_routes);
    else
        failed_routes_examine(&engine->failed_routes, work->slots.items, work->slots.count);
    report_blocked(engine, diff);
}

int route_pass(struct route_engine *engine, struct route_work *work, int64_t now_ms)
{
    CLEANUP(route_diff_done) struct route_diff diff = { 0 };
    int r = route_rows_replan(engine, work, now_ms);
    if (r < 0)
        return r;
    r = find_difference(engine, work, &diff);
    if (r < 0)
        return r;
    begin_failed_routes(engine, work, &diff);
    vec_sort(&work->foreign_changes, route_slot_cmp);
    int come = apply_rules(engine, work, false);
    r = come < 0 ? come : apply_routes(engine, work, &diff);
    announcement_finish(work->announcements);
    if (r < 0)
        return r;
    failed_routes_settle(&engine->failed_routes);
    r = blackholes_judge(engine, work);
    if (r < 0)
        return r;
    r = intruders_judge(engine, work);
    if (r < 0)
        return r;
    r = shadowed_judge(engine, work, now_ms);
    if (r < 0)
        return r;
    bool may_remove = work->may_remove && engine->kept.slots.count == 0;
    int gone = apply_rules(engine, work, may_remove);
    return gone < 0 ? gone : (int)diff.ops.count + come + gone;
}
