// SPDX-License-Identifier: Apache-2.0
/*
 * The routes engine; see route_engine.h.
 *
 * Which routes an address gets depends on what NAT has proved, and NAT proves what it has written.
 * So this engine has no `plan` operation. In `withdraw` it plans the addresses that are about to
 * lose service, and withdraws them before NAT's maps refuse their packets. In `write`, which comes
 * after NAT's, it plans everything that is dirty.
 *
 * A slot that the kernel refused to write is compared again after 1 s, doubling to 60 s.
 */
#include "engine/routes/route_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "engine/routes/route_holds.h"
#include "engine/routes/route_pass.h"
#include "engine/routes/route_state.h"
#include "plan/pods/pod_seen.h"
#include "plan/routes/affected.h"
#include "plan/routes/real_address.h"
#include "plan/routes/shared_ports.h"

static struct route_engine *to_routes(struct engine *engine)
{
    return (struct route_engine *)engine;
}

static void work_done(struct route_work *work)
{
    vec_done(&work->addresses);
    vec_done(&work->direct_rows);
    vec_done(&work->foreign_changes);
    vec_done(&work->slots);
}

static int open_routes(const struct engine_setup *setup, struct engine **ret_engine)
{
    struct route_engine *routes = calloc(1, sizeof(*routes));
    if (!routes)
        return -ENOMEM;
    *routes = (struct route_engine){
        .engine = { &route_engine_ops },
        .config = setup->config,
        .store = setup->store,
        .kernel = setup->kernel,
        .status = setup->status,
        .board = setup->board,
        .holds = SORTED(struct hold, hold_cmp),
        .leaving = SORTED(struct leaving, leaving_cmp),
        .retry = { .initial_ms = SECOND_MS, .max_ms = MINUTE_MS },
        .retry_ms = INT64_MAX,
    };
    route_plan_init(&routes->plan);
    failed_routes_init(&routes->failed_routes, setup->status->faults);
    kept_routes_init(&routes->kept);
    *ret_engine = &routes->engine;
    return 0;
}

static void close_routes(struct engine *engine)
{
    struct route_engine *routes = to_routes(engine);
    route_plan_done(&routes->plan);
    sorted_done(&routes->holds);
    sorted_done(&routes->leaving);
    failed_routes_done(&routes->failed_routes);
    kept_routes_done(&routes->kept);
    shadowed_done(&routes->shadowed);
    work_done(&routes->work);
    free(routes);
}

static void configure(struct engine *engine, const struct config *config)
{
    to_routes(engine)->config = config;
}

/* Whether the address is in a network of a Node, in its present or earlier version. */
static bool is_near(const struct node_facts *facts, const struct object *object,
                    const struct ip *ip)
{
    struct prefix network;
    const struct node *node = object ? to_node(object) : NULL;
    return node && real_network_around(facts, ip, &network) &&
           (prefix_contains(&network, &node->primary_v4) ||
            prefix_contains(&network, &node->primary_v6));
}

static bool moved(const struct change *change)
{
    if (!change->before || !change->after)
        return true;
    const struct node *before = to_node(change->before), *after = to_node(change->after);
    return !ip_equal(&before->primary_v4, &after->primary_v4) ||
           !ip_equal(&before->primary_v6, &after->primary_v6);
}

/*
 * Addresses in another Node's network; and those that are left to other nodes, or shared with them
 * because no node has all ports.
 */
static int note_other_node(struct route_engine *routes, const struct node_facts *facts,
                           const struct change *change)
{
    const struct object *any = change->after ? change->after : change->before;
    if (any->kind != KIND_NODE)
        return 0;
    if (strcmp(any->name, facts->config->node) == 0) {
        routes->work.all |= moved(change);
        return 0;
    }
    const bool ports = shared_ports_affected(facts, change), place = moved(change);
    int r = 0;
    if (!ports && !place)
        return 0;
    sorted_each(struct address_row *const, row, &routes->plan.addresses) {
        const struct ip *ip = &(*row)->address;
        bool near =
            place && (is_near(facts, change->before, ip) || is_near(facts, change->after, ip));
        if (r == 0 && (near || (ports && (*row)->by_nodes)))
            r = vec_push(&routes->work.addresses, *ip);
    }
    return r;
}

static int note(struct engine *engine, const struct change *change, struct round *round)
{
    struct route_engine *routes = to_routes(engine);
    struct route_work *work = &routes->work;
    const struct node_facts facts = route_facts_now(routes);
    work->blocks |= plan_affected_blocks(&facts, change);
    int r = plan_affected_direct(&facts, &routes->plan.direct, change, &work->direct_rows);
    if (r == 0)
        r = plan_affected_addresses(&facts, change, &work->addresses, &work->all);
    if (r == 0)
        r = note_other_node(routes, &facts, change);
    round->expected |=
        work->blocks || work->direct || work->direct_rows.count > 0 || work->addresses.count > 0;
    return r;
}

/* When a retry is due, the refused slots are compared again. */
static int take_refused(struct route_engine *routes, int64_t now_ms)
{
    struct route slot;
    size_t index = 0;
    if (now_ms < routes->retry_ms)
        return 0;
    routes->retry_ms = INT64_MAX;
    while (failed_routes_next_refused(&routes->failed_routes, &index, &slot)) {
        int r = vec_push(&routes->work.slots, slot);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Other engines have other tables, which this engine does not manage. */
static bool has_table(const struct route_engine *routes, uint32_t table)
{
    return table == ROUTE_TABLE_MAIN || ours_is_table(table, routes->config->routes.table);
}

/* Links of pods are added and deleted often, but lead to no other node. */
static bool networks_moved(struct route_engine *routes)
{
    const struct node_facts facts = route_facts_now(routes);
    const uint64_t before = routes->networks;
    routes->networks = direct_networks(&facts);
    return routes->networks != before;
}

static int hear(struct engine *engine, const struct kernel_events *events, struct round *round)
{
    struct route_engine *routes = to_routes(engine);
    struct route_work *work = &routes->work;
    /* No engine had all objects while a manifest was broken, so all run over everything. */
    round->all |= kept_routes_are_free(&routes->kept, routes->status);
    work->all |= events->resynced || events->addresses;
    work->rules |= events->rules;
    if (events->links)
        work->direct |= networks_moved(routes);
    vec_each(const struct route, route, &events->routes) {
        if (!has_table(routes, route->table))
            continue;
        int r = vec_push(&work->foreign_changes, *route);
        if (r < 0)
            return r;
    }
    int r = route_holds_take_due(routes, round->now_ms, &work->addresses);
    if (r < 0)
        return r;
    r = shadowed_hear(routes, events);
    if (r < 0)
        return r;
    round->expected |= work->foreign_changes.count > 0 || work->addresses.count > 0;
    return take_refused(routes, round->now_ms);
}

/* Executes a pass over `work`, and adds its results to the round. */
static int run(struct route_engine *routes, struct route_work *work, struct round *round)
{
    uint64_t repairs = routes->status->routes.repairs;
    int r = route_pass(routes, work, round->now_ms);
    round->repairs += (uint32_t)(routes->status->routes.repairs - repairs);
    if (r < 0)
        return r;
    round->changes += (uint32_t)r;
    round->routes_moved |= r > 0;
    return 0;
}

static int withdraw(struct engine *engine, struct round *round)
{
    if (round->losses.count == 0)
        return 0;
    CLEANUP(work_done) struct route_work work = { .may_remove = true };
    int r = vec_append(&work.addresses, &round->losses);
    return r < 0 ? r : run(to_routes(engine), &work, round);
}

static int write_routes(struct engine *engine, struct round *round)
{
    struct route_engine *routes = to_routes(engine);
    struct route_work *work = &routes->work;
    work->all |= round->all || round->svc0_moved;
    work->may_remove = round->may_remove;
    round->full |= work->all;
    int r = vec_append(&work->addresses, &round->touched);
    return r < 0 ? r : run(routes, work, round);
}

static void publish(struct engine *engine, struct round *round)
{
    struct route_engine *routes = to_routes(engine);
    work_done(&routes->work);
    routes->work = (struct route_work){ 0 };
    if (round->error < 0)
        return;
    if (failed_routes_count(&routes->failed_routes, true) == 0) {
        backoff_reset(&routes->retry);
        routes->retry_ms = INT64_MAX;
    } else if (routes->retry_ms == INT64_MAX) {
        routes->retry_ms = round->now_ms + backoff_next(&routes->retry);
    }
}

static int64_t next_ms(const struct engine *engine, int64_t now_ms)
{
    const struct route_engine *routes = (const struct route_engine *)engine;
    const int64_t next = MIN(route_holds_next(routes, now_ms), routes->retry_ms);
    return MIN(next, shadowed_next_ms(&routes->shadowed));
}

static void count(struct engine *engine)
{
    struct route_engine *routes = to_routes(engine);
    struct route_status *status = &routes->status->routes;
    status->installed = status->foreign = 0;
    sorted_each(const struct route, route, kernel_routes(routes->kernel)) {
        bool ours = route_is_ours(route, routes->config->routes.table);
        status->installed += ours;
        status->foreign += !ours && ours_is_table(route->table, routes->config->routes.table);
    }
    status->refused = (uint32_t)failed_routes_count(&routes->failed_routes, true);
    status->blocked = (uint32_t)failed_routes_count(&routes->failed_routes, false);
}

const struct route_plan *route_engine_plan(const struct engine *engine)
{
    return &((const struct route_engine *)engine)->plan;
}

const struct engine_ops route_engine_ops = {
    .name = "routes",
    .open = open_routes,
    .close = close_routes,
    .configure = configure,
    .note = note,
    .hear = hear,
    .withdraw = withdraw,
    .write = write_routes,
    .publish = publish,
    .next_ms = next_ms,
    .count = count,
};
