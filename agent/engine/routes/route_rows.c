// SPDX-License-Identifier: Apache-2.0
/*
 * The first half of a pass: rows are planned again and put in place, their slots join the work,
 * and hold-down (route_holds.h) follows each announcement and withdrawal.
 *
 * A pass over everything is the same as one over every address that a row or a service names.
 */
#include "engine/routes/route_rows.h"

#include <errno.h>
#include <stdlib.h>

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
        .holds = &engine->holds,
        .standing = engine->board->standing,
        .now_ms = now_ms,
    };
}

/* For a pass over everything: the addresses of all rows and all services. */
static int all_addresses(const struct route_engine *engine, ip_list *addresses)
{
    vec_done(addresses);
    int r = store_addresses(engine->store, addresses);
    if (r < 0)
        return r;
    sorted_each(struct address_row *, row, &engine->plan.addresses) {
        r = vec_push(addresses, (*row)->address);
        if (r < 0)
            return r;
    }
    return 0;
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

static bool is_announced(const struct address_row *row)
{
    return row && row->reason == REASON_ANNOUNCED;
}

static char *address_group(const struct ip *address)
{
    char text[IP_STRLEN];
    return text_format("address %s", ip_str(address, text));
}

/*
 * What a pass makes of the rows it plans again; the arrays run parallel to work->addresses. Until
 * the new rows are in place they belong to this; the old ones do from then on.
 */
struct replan {
    struct address_row **fresh, **stale; /* NULL: no such row */
    struct sorted_change *changes;
    size_t planned, changed;
    bool placed;
};

static void replan_done(struct replan *replan)
{
    for (size_t i = 0; i < replan->planned; i++)
        address_row_free(replan->placed ? replan->stale[i] : replan->fresh[i]);
    free(replan->fresh);
    free(replan->stale);
    free(replan->changes);
}

static int replan_address(struct route_engine *engine, const struct route_inputs *inputs,
                          struct route_work *work, struct replan *replan)
{
    size_t at = replan->planned++;
    const struct ip *address = &work->addresses.items[at];
    struct address_row key = { .address = *address }, *key_ptr = &key;
    struct address_row **old = sorted_find(&engine->plan.addresses, &key_ptr);
    replan->stale[at] = old ? *old : NULL;

    AUTOFAULTS struct faults faults = { 0 };
    int r = plan_address(inputs, address, &replan->fresh[at], &faults);
    if (r < 0)
        return r;
    AUTOFREE char *group = address_group(address);
    if (!group ||
        fault_book_replace(engine->status->faults, "services", group, &faults, clock_wall_ms()) < 0)
        return -ENOMEM;
    if (replan->fresh[at])
        replan->changes[replan->changed++] = (struct sorted_change){ &replan->fresh[at], false };
    else if (replan->stale[at])
        replan->changes[replan->changed++] = (struct sorted_change){ &replan->stale[at], true };
    if (work->all)
        return 0;
    r = add_address_slots(engine, replan->stale[at], &work->slots);
    return r < 0 ? r : add_address_slots(engine, replan->fresh[at], &work->slots);
}

/* Takes a row into the counts (by 1) or out of them (by -1). */
static void count_row(struct route_status *status, const struct address_row *row, int by)
{
    if (!row)
        return;
    bool guard_route = row->guarded || row->lead.ifindex;
    status->wanted += (uint32_t)((is_announced(row) + guard_route) * by);
    *(is_announced(row) ? &status->announced : &status->withheld) += (uint32_t)by;
    status->held += (uint32_t)((row->reason == REASON_HELD_DOWN) * by);
}

/* The new rows are in place: hold-down and the counts follow. */
static void follow_rows(struct route_engine *engine, const struct route_work *work,
                        const struct replan *replan, int64_t now_ms)
{
    for (size_t i = 0; i < replan->planned; i++) {
        const struct address_row *before = replan->stale[i], *after = replan->fresh[i];
        if (route_holds_follow(engine, &work->addresses.items[i], before, after, now_ms) < 0)
            log_warning("no memory for an address's hold-down");
        count_row(&engine->status->routes, before, -1);
        count_row(&engine->status->routes, after, 1);
        engine->plan.foreign -= before ? before->foreign : 0;
        engine->plan.foreign += after ? after->foreign : 0;
    }
}

/* Plans the addresses again and puts the new rows in place; their slots join the work. */
static int replan_addresses(struct route_engine *engine, struct route_work *work, int64_t now_ms)
{
    ip_list_unite(&work->addresses);
    size_t count = work->addresses.count;
    CLEANUP(replan_done)
    struct replan replan = {
        .fresh = calloc(count + 1, sizeof(*replan.fresh)),
        .stale = calloc(count + 1, sizeof(*replan.stale)),
        .changes = calloc(count + 1, sizeof(*replan.changes)),
    };
    if (!replan.fresh || !replan.stale || !replan.changes)
        return -ENOMEM;

    const struct node_facts facts = route_facts_now(engine);
    const struct route_inputs inputs = inputs_of(engine, &facts, now_ms);
    while (replan.planned < count) {
        int r = replan_address(engine, &inputs, work, &replan);
        if (r < 0)
            return r;
    }
    int r = sorted_merge(&engine->plan.addresses, replan.changes, replan.changed);
    if (r < 0)
        return r;
    replan.placed = true;
    follow_rows(engine, work, &replan, now_ms);
    return 0;
}

static int replan_blocks(struct route_engine *engine, struct route_work *work, int64_t now_ms)
{
    const struct node_facts facts = route_facts_now(engine);
    const struct route_inputs inputs = inputs_of(engine, &facts, now_ms);
    struct route_status *status = &engine->status->routes;
    AUTOSORTED struct sorted rows = { 0 };
    int r = plan_blocks(&inputs, &rows);
    if (r == 0 && !work->all)
        r = add_block_slots(engine, &engine->plan.blocks, &work->slots);
    if (r == 0 && !work->all)
        r = add_block_slots(engine, &rows, &work->slots);
    if (r < 0)
        return r;
    status->blocks = (uint32_t)rows.count;
    status->wanted += 2 * (uint32_t)(rows.count - engine->plan.blocks.count);
    sorted_move(&engine->plan.blocks, &rows);
    return 0;
}

/* Networks change with everything only: by the configuration, the way, or this node's addresses. */
static int replan_nets(struct route_engine *engine)
{
    const struct node_facts facts = route_facts_now(engine);
    AUTOFAULTS struct faults faults = { 0 };
    AUTOSORTED struct sorted rows = { 0 };
    int r = plan_nets(&facts, &rows, &faults);
    if (r < 0)
        return r;
    engine->status->routes.wanted += (uint32_t)(rows.count - engine->plan.nets.count);
    sorted_move(&engine->plan.nets, &rows);
    r = fault_book_replace(engine->status->faults, "services", "serviceCIDRs", &faults,
                           clock_wall_ms());
    return r < 0 ? r : 0;
}

/* When it changes, all that is led stands elsewhere. */
static void follow_lead(struct route_engine *engine, struct route_work *work)
{
    const struct node_facts facts = route_facts_now(engine);
    bool by_rule = plan_lead(&facts, &engine->plan);
    work->all |= by_rule != engine->plan.led_by_rule;
    engine->plan.led_by_rule = by_rule;
}

int route_rows_replan(struct route_engine *engine, struct route_work *work, int64_t now_ms)
{
    int r = work->all ? all_addresses(engine, &work->addresses) : 0;
    if (r < 0)
        return r;
    r = replan_addresses(engine, work, now_ms);
    if (r < 0)
        return r;
    follow_lead(engine, work);
    if (work->all || work->blocks)
        r = replan_blocks(engine, work, now_ms);
    if (r < 0)
        return r;
    return work->all ? replan_nets(engine) : vec_append(&work->slots, &work->drift);
}
