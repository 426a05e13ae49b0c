// SPDX-License-Identifier: Apache-2.0
/*
 * When a pass is due, and of what.
 *
 * Inputs only mark work and ask for a pass; the pass runs from a deferred event source of low
 * priority, so that everything that is pending is taken in first and planned once. Each pass is
 * over what changed. Passes over everything come first of all, after a resync of the mirror, a
 * reload, a failed pass, and every five minutes; the last kind must find nothing to do.
 *
 * Timers that can wake an idle agent: the full pass (5 min), the end of the next hold-down, the
 * retry after a refusal or failure (1 s doubling to 60 s).
 */
#include "agentd/reconcile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/event.h"
#include "agentd/rival.h"
#include "base/clock.h"
#include "base/log.h"
#include "loop/backoff.h"
#include "loop/deferred.h"

#define FULL_PASS_MS (5 * MINUTE_MS)

struct reconciler {
    struct reconcile_options options;
    struct deferred *deferred;
    sd_event_source *kernel_io;
    struct retry_timer *full_timer, *hold_timer, *retry_timer, *calm_timer;
    struct backoff retry;
    struct rival rival;
    bool all; /* the next pass is over everything */
    bool retry_refused;
    bool doubting; /* it is the periodic one, which must find nothing */
};

/* Blocks of other nodes are the most of them, and none of our business. */
static bool is_own_block(const struct route_facts *facts, const struct object *object)
{
    struct block_row rows[2];
    return object && object->kind == KIND_ADDRESS_BLOCK &&
           plan_block(facts, to_address_block(object), rows) > 0;
}

/* Turns the store's changes into the units to plan again. */
static int take_changes(struct reconciler *reconciler, struct route_work *work)
{
    struct route_engine *engine = reconciler->options.engine;
    struct route_facts facts = { .store = engine->store, .config = engine->config };
    change_list changes = {};
    int r = store_changes(engine->store, &changes);
    vec_each(const struct change, change, &changes) {
        if (r == 0)
            r = plan_affected_addresses(&facts, change, &work->addresses, &work->all);
        work->blocks |= is_own_block(&facts, change->before) || is_own_block(&facts, change->after);
    }
    vec_done(&changes);
    return r;
}

static bool events_need_pass(const struct kernel_events *events)
{
    return events->routes.count || events->rules || events->addresses || events->resynced;
}

/*
 * Takes over what others did in the kernel so far. What they do while the pass runs is collected
 * anew and asks for a pass of its own.
 */
static int take_events(struct reconciler *reconciler, struct route_work *work, uint32_t *ret_writer)
{
    struct route_engine *engine = reconciler->options.engine;
    int r = kernel_read(engine->kernel);
    const struct kernel_events *events = kernel_events(engine->kernel);
    work->all |= events->resynced || events->addresses;
    work->rules = events->rules;
    vec_each(const struct route, route, &events->routes) {
        if (r == 0)
            r = vec_push(&work->drift, *route);
    }
    *ret_writer = events->writer;
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

static int collect(struct reconciler *reconciler, struct route_work *work, int64_t now_ms,
                   uint32_t *ret_writer)
{
    struct route_engine *engine = reconciler->options.engine;
    work->all = reconciler->all || inheritance_is_over(&engine->inheritance, engine->status);
    work->may_remove = engine->status->source.synced;
    int r = take_events(reconciler, work, ret_writer);
    if (r == 0)
        r = take_changes(reconciler, work);
    if (r == 0)
        r = route_engine_due_holds(engine, now_ms, &work->addresses);
    return r < 0 ? r : take_refused(reconciler, work);
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
        retry_timer_arm(reconciler->calm_timer, 2 * MINUTE_MS);
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
        retry_timer_disarm(reconciler->retry_timer);
        return;
    }
    retry_timer_arm(reconciler->retry_timer, backoff_next(&reconciler->retry));
}

static void await_hold(struct reconciler *reconciler, int64_t now_ms)
{
    int64_t next_ms = route_engine_next_hold(reconciler->options.engine, now_ms);
    if (next_ms == INT64_MAX)
        retry_timer_disarm(reconciler->hold_timer);
    else
        retry_timer_arm(reconciler->hold_timer, next_ms - now_ms);
}

static void report_full_pass(struct reconciler *reconciler, int64_t started_us, int ops)
{
    struct route_status *status = &reconciler->options.engine->status->routes;
    status->full_passes++;
    status->last_full_pass_wall_ms = clock_wall_ms();
    status->last_full_pass_us = clock_mono_us() - started_us;
    if (reconciler->options.engine->status->source.synced)
        status->complete = true;
    if (reconciler->doubting && ops)
        log_warning("the periodic pass found %d differences: notifications were lost", ops);
    reconciler->doubting = false;
}

static void run_pass(void *context)
{
    struct reconciler *reconciler = context;
    struct route_engine *engine = reconciler->options.engine;
    struct status *status = engine->status;
    int64_t now_ms = clock_mono_ms(), started_us = clock_mono_us();
    uint64_t generation = reconciler->options.loaded_generation(reconciler->options.context);
    uint64_t repairs_before = status->routes.repairs;
    bool first_after_sync = status->source.synced && !status->routes.complete;

    struct route_work work = { 0 };
    reconciler->all |= first_after_sync;
    uint32_t writer = 0;
    int r = collect(reconciler, &work, now_ms, &writer);
    if (work.addresses.count || work.blocks || work.drift.count)
        reconciler->doubting = false; /* there is work to find */
    if (r == 0)
        r = route_engine_pass(engine, &work, now_ms);
    store_changes_done(engine->store);
    bool was_all = work.all;
    route_work_done(&work);

    reconciler->all = r < 0; /* what was lost on the way is found by a pass over everything */
    reconciler->retry_refused = false;
    status->routes.passes++;
    report_failure(reconciler, r);
    report_rival(reconciler, status->routes.repairs - repairs_before, writer, now_ms);
    plan_retry(reconciler, r < 0 || troubles_count(&engine->troubles, true));
    if (r < 0) {
        log_error("pass failed: %s", strerror(-r));
        return;
    }
    if (was_all)
        report_full_pass(reconciler, started_us, r);
    status->source.applied_generation = generation;
    await_hold(reconciler, now_ms);
    if (events_need_pass(kernel_events(engine->kernel)))
        reconciler_schedule(reconciler, false);
    reconciler->options.passed(reconciler->options.context);
}

void reconciler_schedule(struct reconciler *reconciler, bool all)
{
    reconciler->all |= all;
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
        retry_timer_arm(reconciler->calm_timer, SECOND_MS);
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
    retry_timer_arm(reconciler->full_timer, FULL_PASS_MS);
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

static int add_timer(struct reconciler *reconciler, void (*run)(void *context),
                     struct retry_timer **ret_timer)
{
    return retry_timer_new(reconciler->options.event, SD_EVENT_PRIORITY_NORMAL, run, reconciler,
                           ret_timer);
}

int reconciler_new(const struct reconcile_options *options, struct reconciler **ret_reconciler)
{
    CLEANUP(reconciler_freep) struct reconciler *reconciler = calloc(1, sizeof(*reconciler));
    if (!reconciler)
        return -ENOMEM;
    reconciler->options = *options;
    reconciler->retry = (struct backoff){ .initial_ms = SECOND_MS, .max_ms = MINUTE_MS };

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
    if (r < 0)
        return r;
    retry_timer_arm(reconciler->full_timer, FULL_PASS_MS);
    *ret_reconciler = TAKE_PTR(reconciler);
    return 0;
}

void reconciler_free(struct reconciler *reconciler)
{
    if (!reconciler)
        return;
    deferred_free(reconciler->deferred);
    sd_event_source_disable_unref(reconciler->kernel_io);
    retry_timer_free(reconciler->full_timer);
    retry_timer_free(reconciler->hold_timer);
    retry_timer_free(reconciler->retry_timer);
    retry_timer_free(reconciler->calm_timer);
    free(reconciler);
}
