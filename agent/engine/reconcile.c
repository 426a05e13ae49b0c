// SPDX-License-Identifier: Apache-2.0
/*
 * When a pass is due, and of what.
 *
 * Inputs only mark work and ask for a pass; the pass runs from a deferred event source of low
 * priority, so that everything that is pending is taken in first and planned once. Each pass is
 * over what changed. Passes over everything come first of all, after a resync of the mirror, a
 * reload, a failed pass, and every five minutes; the last kind must find nothing to do.
 *
 * Proofs of many Services take several passes, which follow each other at once and let the loop do
 * what is pending in between (nat_proving.c). A pass over everything is done with the last of them.
 *
 * A pass goes over two planes, make before break: routes of addresses that lose service go, then
 * NAT's maps are written and proved, then the routes of what is proved come.
 *
 * Timers that can wake an idle agent: the full pass (5 min), the end of the next hold-down or of
 * the time that a deleted Service stays in the maps, the retry after a refusal or failure (1 s
 * doubling to 60 s) and of what could not be proved (0.1 s to 30 s).
 */
#include "engine/reconcile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/event.h"
#include "base/log.h"
#include "engine/rival.h"
#include "loop/backoff.h"
#include "loop/deferred.h"
#include "loop/timer.h"

#define FULL_PASS_MS (5 * MINUTE_MS)

struct reconciler {
    struct reconcile_options options;
    struct deferred *deferred;
    sd_event_source *kernel_io;
    struct timer *full_timer, *hold_timer, *retry_timer, *calm_timer, *proof_timer;
    struct backoff retry, proof;
    struct rival rival;
    bool held;  /* no pass runs: what is wanted is not known yet, and may be soon */
    bool all;   /* the next pass is over everything */
    bool swept; /* one was that might remove */
    bool retry_refused, retry_proofs, node_doubted;
    bool doubting;         /* it is the periodic one, which must find nothing */
    int64_t full_began_us; /* of the pass over everything whose proofs are not done yet; 0: none */
};

/* Blocks of other nodes are the most of them, and none of our business. */
static bool is_own_block(const struct route_facts *facts, const struct object *object)
{
    struct block_row rows[2];
    return object && object->kind == KIND_ADDRESS_BLOCK &&
           plan_block(facts, to_address_block(object), rows) > 0;
}

/* What one pass looks at. */
struct work {
    struct route_work routes;
    struct nat_work nat;
    uint32_t writer; /* who else changed our routes */
};

static void work_done(struct work *work)
{
    route_work_done(&work->routes);
    vec_done(&work->nat.keys);
}

/* Turns the store's changes into the units to plan again. */
static int take_changes(struct reconciler *reconciler, struct work *work)
{
    struct route_engine *engine = reconciler->options.engine;
    struct route_facts facts = { .store = engine->store, .config = engine->config };
    change_list changes = {};
    int r = store_changes(engine->store, &changes);
    vec_each(const struct change, change, &changes) {
        if (r == 0)
            r = plan_affected_addresses(&facts, change, &work->routes.addresses, &work->routes.all);
        if (r == 0)
            r = plan_nat_affected(&facts, change, &work->nat.keys, &work->nat.all, &work->nat.node);
        if (r == 0)
            r = nat_engine_saw(reconciler->options.nat, change);
        work->routes.blocks |=
            is_own_block(&facts, change->before) || is_own_block(&facts, change->after);
    }
    vec_done(&changes);
    return r;
}

static bool events_need_pass(const struct kernel_events *events)
{
    return events->routes.count || events->rules || events->other_rules || events->addresses ||
           events->links || events->resynced;
}

/*
 * Takes over what others did in the kernel so far. What they do while the pass runs is collected
 * anew and asks for a pass of its own.
 */
static int take_events(struct reconciler *reconciler, struct work *work)
{
    struct route_engine *engine = reconciler->options.engine;
    int r = kernel_read(engine->kernel);
    const struct kernel_events *events = kernel_events(engine->kernel);
    work->routes.all |= events->resynced || events->addresses;
    work->routes.rules = events->rules;
    work->nat.node |= events->resynced || events->addresses || events->links;
    vec_each(const struct route, route, &events->routes) {
        if (r == 0)
            r = vec_push(&work->routes.drift, *route);
    }
    work->writer = events->writer;
    kernel_events_done(engine->kernel);
    return r;
}

/* With retry due, the refused slots are compared again. */
static int take_refused(struct reconciler *reconciler, struct route_work *work)
{
    struct route_engine *engine = reconciler->options.engine;
    struct route slot;
    size_t index = 0;
    int r = 0;
    if (!reconciler->retry_refused)
        return 0;
    while (r == 0 && troubles_next_refused(&engine->troubles, &index, &slot))
        r = vec_push(&work->slots, slot);
    return r;
}

static int collect(struct reconciler *reconciler, struct work *work, int64_t now_ms)
{
    struct route_engine *engine = reconciler->options.engine;
    work->routes.all = reconciler->all || inheritance_is_over(&engine->inheritance, engine->status);
    work->routes.may_remove = engine->status->source.synced;
    work->nat.all = work->routes.all;
    work->nat.node = work->routes.all || reconciler->node_doubted;
    reconciler->node_doubted = false;
    work->nat.retry = reconciler->retry_proofs;
    int r = take_events(reconciler, work);
    if (r == 0)
        r = take_changes(reconciler, work);
    work->nat.node |= work->nat.all; /* this node's own object says which address is its own */
    if (r == 0)
        r = route_engine_due_holds(engine, now_ms, &work->routes.addresses);
    return r < 0 ? r : take_refused(reconciler, &work->routes);
}

/* The routes of what loses service, before the maps say so. */
static int withdraw(struct route_engine *engine, ip_list *losses, int64_t now_ms)
{
    struct route_work work = { .addresses = *losses, .may_remove = true };
    int r = losses->count ? route_engine_pass(engine, &work, now_ms) : 0;
    *losses = (ip_list){ 0 };
    route_work_done(&work);
    return r;
}

/* Over both planes. Returns the number of operations on routes, or -errno. */
static int pass(struct reconciler *reconciler, struct work *work, int64_t now_ms)
{
    struct route_engine *engine = reconciler->options.engine;
    struct nat_engine *nat = reconciler->options.nat;
    ip_list losses = { 0 };
    bool way_changed = false, ports_moved = false;
    work->nat.all |= nat_engine_is_new(nat);
    work->nat.node |= work->nat.retry && nat->node.trouble;
    int r = work->nat.node ? nat_engine_observe(nat, &way_changed, &ports_moved) : 0;
    engine->nat_way = nat_engine_way(nat);
    work->routes.all |= way_changed;
    work->nat.all |= way_changed || ports_moved;
    if (r == 0)
        r = nat_engine_plan(nat, &work->nat, &losses, &work->routes.addresses);
    int withdrawn = r < 0 ? r : withdraw(engine, &losses, now_ms);
    vec_done(&losses);
    if (withdrawn < 0)
        return withdrawn;
    r = nat_engine_write(nat, &work->nat, now_ms, &work->routes.addresses);
    if (r == 0)
        r = route_engine_pass(engine, &work->routes, now_ms);
    return r < 0 ? r : r + withdrawn;
}

static void report_rival(struct reconciler *reconciler, uint64_t repairs, uint32_t writer,
                         int64_t now_ms)
{
    struct status *status = reconciler->options.engine->status;
    AUTOFAULTS struct faults faults = { 0 };
    if (repairs) {
        char routes[24], port[16];
        snprintf(routes, sizeof(routes), "%" PRIu64, repairs);
        snprintf(port, sizeof(port), "%" PRIu32, writer);
        rival_note(&reconciler->rival, writer, now_ms);
        log_event(&event_routes_repaired, LOG_FIELDS({ "ROUTES", routes }, { "WRITER", port }),
                  "repaired %s routes or rules that netlink port %s had changed", routes, port);
    }
    if (rival_present(&reconciler->rival, now_ms)) {
        rival_fault(&reconciler->rival, &faults);
        timer_arm(reconciler->calm_timer, 2 * MINUTE_MS);
    }
    (void)fault_book_replace(status->faults, "routes", "rival", &faults, clock_wall_ms());
}

static void report_failure(struct reconciler *reconciler, int error)
{
    struct status *status = reconciler->options.engine->status;
    AUTOFAULTS struct faults faults = { 0 };
    if (error < 0)
        faults_add(&faults, "pass", "it is tried again, see the log for repeats",
                   "a pass over the routes could not be completed: %s", strerror(-error));
    (void)fault_book_replace(status->faults, "routes", "pass", &faults, clock_wall_ms());
}

/* A refusal or failure is tried again later and later; success starts over. */
static void plan_retry(struct reconciler *reconciler, bool needed)
{
    if (!needed) {
        backoff_reset(&reconciler->retry);
        timer_disarm(reconciler->retry_timer);
        return;
    }
    timer_arm(reconciler->retry_timer, backoff_next(&reconciler->retry));
}

static void await_hold(struct reconciler *reconciler, int64_t now_ms)
{
    int64_t next_ms = MIN(route_engine_next_hold(reconciler->options.engine, now_ms),
                          nat_engine_next_leave(reconciler->options.nat));
    if (next_ms == INT64_MAX)
        timer_disarm(reconciler->hold_timer);
    else
        timer_arm(reconciler->hold_timer, MAX(next_ms - now_ms, 0));
}

/* What is not proved now may be soon: a route to a pod that is just being made. */
static void await_proofs(struct reconciler *reconciler)
{
    const struct nat_engine *nat = reconciler->options.nat;
    if (nat->unproved.count == 0 && !nat->node.trouble) {
        backoff_reset(&reconciler->proof);
        timer_disarm(reconciler->proof_timer);
        return;
    }
    timer_arm(reconciler->proof_timer, backoff_next(&reconciler->proof));
}

static void begin_full_pass(struct reconciler *reconciler, int64_t began_us, int ops)
{
    if (!reconciler->full_began_us)
        reconciler->full_began_us = began_us;
    reconciler->swept |= reconciler->options.engine->status->source.synced;
    if (reconciler->doubting && ops)
        log_warning("the periodic pass found %d differences: notifications were lost", ops);
    reconciler->doubting = false;
}

static void end_full_pass(struct reconciler *reconciler)
{
    struct route_status *status = &reconciler->options.engine->status->routes;
    status->full_passes++;
    status->last_full_pass_wall_ms = clock_wall_ms();
    status->last_full_pass_us = clock_mono_us() - reconciler->full_began_us;
    if (status_is_known(reconciler->options.engine->status))
        status->complete = true;
    reconciler->full_began_us = 0;
}

/* Everything that was taken in so far is done: nothing is left to prove. */
static void end_round(struct reconciler *reconciler, uint64_t generation)
{
    struct status *status = reconciler->options.engine->status;
    if (reconciler->full_began_us)
        end_full_pass(reconciler);
    if (nat_engine_next_leave(reconciler->options.nat) == INT64_MAX)
        status->source.applied_generation = generation;
    plan_retry(reconciler, troubles_count(&reconciler->options.engine->troubles, true));
    await_proofs(reconciler);
}

static void run_pass(void *context)
{
    struct reconciler *reconciler = context;
    struct route_engine *engine = reconciler->options.engine;
    struct status *status = engine->status;
    int64_t now_ms = clock_mono_ms(), started_us = clock_mono_us();
    uint64_t generation = reconciler->options.loaded_generation(reconciler->options.context);
    uint64_t repairs_before = status->routes.repairs;

    if (reconciler->held)
        return;
    struct work work = { 0 };
    reconciler->all |=
        status_is_known(status) && !status->routes.complete && !reconciler->full_began_us;
    reconciler->all |= status->source.synced && !reconciler->swept;
    int r = collect(reconciler, &work, now_ms);
    if (work.routes.addresses.count || work.routes.blocks || work.routes.drift.count)
        reconciler->doubting = false; /* there is work to find */
    if (r == 0)
        r = pass(reconciler, &work, now_ms);
    store_changes_done(engine->store);
    bool was_all = work.routes.all;
    uint32_t writer = work.writer;
    work_done(&work);

    reconciler->all = r < 0; /* what was lost on the way is found by a pass over everything */
    reconciler->retry_refused = reconciler->retry_proofs = false;
    status->routes.passes++;
    report_failure(reconciler, r);
    report_rival(reconciler, status->routes.repairs - repairs_before, writer, now_ms);
    if (r < 0) {
        plan_retry(reconciler, true);
        log_error("pass failed: %s", strerror(-r));
        return;
    }
    bool proving = nat_engine_is_proving(reconciler->options.nat);
    if (was_all)
        begin_full_pass(reconciler, started_us, r);
    if (!proving)
        end_round(reconciler, generation);
    await_hold(reconciler, now_ms);
    if (proving || events_need_pass(kernel_events(engine->kernel)))
        reconciler_schedule(reconciler, false);
    reconciler->options.passed(reconciler->options.context);
}

void reconciler_schedule(struct reconciler *reconciler, bool all)
{
    reconciler->all |= all;
    deferred_schedule(reconciler->deferred);
}

void reconciler_hold(struct reconciler *reconciler)
{
    reconciler->held = true;
}

void reconciler_release(struct reconciler *reconciler)
{
    reconciler->held = false;
    reconciler_schedule(reconciler, true);
}

void reconciler_doubt_node(struct reconciler *reconciler)
{
    reconciler->node_doubted = true;
    deferred_schedule(reconciler->deferred);
}

static int on_kernel(sd_event_source *source, int fd, uint32_t revents, void *context)
{
    struct reconciler *reconciler = context;
    struct kernel *kernel = reconciler->options.engine->kernel;
    (void)source, (void)fd, (void)revents;

    int r = kernel_read(kernel);
    if (r < 0)
        log_error("reading the kernel's notifications: %s", strerror(-r));
    if (r < 0 || !events_need_pass(kernel_events(kernel))) {
        if (r < 0)
            reconciler_schedule(reconciler, true);
        return 0;
    }
    if (rival_present(&reconciler->rival, clock_mono_ms()))
        timer_arm(reconciler->calm_timer, SECOND_MS);
    else
        reconciler_schedule(reconciler, false);
    return 0;
}

static void on_full_timer(void *context)
{
    struct reconciler *reconciler = context;
    int r = kernel_resync(reconciler->options.engine->kernel);
    if (r < 0)
        log_error("dumping the kernel's tables: %s", strerror(-r));
    reconciler->options.doubt(reconciler->options.context);
    reconciler->doubting = true;
    reconciler_schedule(reconciler, true);
    timer_arm(reconciler->full_timer, FULL_PASS_MS);
}

static void on_due_timer(void *context)
{
    reconciler_schedule(context, false);
}

static void on_retry_timer(void *context)
{
    struct reconciler *reconciler = context;
    reconciler->retry_refused = true;
    reconciler_schedule(reconciler, false);
}

static void on_proof_timer(void *context)
{
    struct reconciler *reconciler = context;
    reconciler->retry_proofs = true;
    reconciler_schedule(reconciler, false);
}

static int add_timer(struct reconciler *reconciler, void (*run)(void *context),
                     struct timer **ret_timer)
{
    return timer_new(reconciler->options.event, SD_EVENT_PRIORITY_NORMAL, run, reconciler,
                     ret_timer);
}

int reconciler_new(const struct reconcile_options *options, struct reconciler **ret_reconciler)
{
    CLEANUP(reconciler_freep) struct reconciler *reconciler = calloc(1, sizeof(*reconciler));
    if (!reconciler)
        return -ENOMEM;
    reconciler->options = *options;
    reconciler->retry = (struct backoff){ .initial_ms = SECOND_MS, .max_ms = MINUTE_MS };
    reconciler->proof = (struct backoff){ .initial_ms = 100, .max_ms = 30 * SECOND_MS };

    int r =
        deferred_new(options->event, PASS_PRIORITY, run_pass, reconciler, &reconciler->deferred);
    if (r == 0)
        r = sd_event_add_io(options->event, &reconciler->kernel_io,
                            kernel_fd(options->engine->kernel), EPOLLIN, on_kernel, reconciler);
    if (r >= 0)
        r = add_timer(reconciler, on_full_timer, &reconciler->full_timer);
    if (r >= 0)
        r = add_timer(reconciler, on_due_timer, &reconciler->hold_timer);
    if (r >= 0)
        r = add_timer(reconciler, on_retry_timer, &reconciler->retry_timer);
    if (r >= 0)
        r = add_timer(reconciler, on_due_timer, &reconciler->calm_timer);
    if (r >= 0)
        r = add_timer(reconciler, on_proof_timer, &reconciler->proof_timer);
    if (r < 0)
        return r;
    timer_arm(reconciler->full_timer, FULL_PASS_MS);
    *ret_reconciler = TAKE_PTR(reconciler);
    return 0;
}

void reconciler_free(struct reconciler *reconciler)
{
    if (!reconciler)
        return;
    deferred_free(reconciler->deferred);
    sd_event_source_disable_unref(reconciler->kernel_io);
    timer_free(reconciler->full_timer);
    timer_free(reconciler->hold_timer);
    timer_free(reconciler->retry_timer);
    timer_free(reconciler->calm_timer);
    timer_free(reconciler->proof_timer);
    free(reconciler);
}
