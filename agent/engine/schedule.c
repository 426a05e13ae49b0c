// SPDX-License-Identifier: Apache-2.0
/*
 * The schedule of passes; see schedule.h.
 *
 * Inputs only mark work and request a pass. The pass runs from a deferred event source of low
 * priority, so that all pending input is processed first and planned once. A pass is over what
 * changed, except in these cases, where it is over everything: the first pass, the one after a
 * resync of the mirror, after a reload and after a failed pass, and one every five minutes. The
 * periodic pass must find nothing to do.
 *
 * An engine may have more to do than the loop can be kept waiting for (proofs of many Services). It
 * then requests further passes, which follow each other at once; between them the loop handles
 * pending events. A pass over everything counts as complete with the last of them.
 *
 * These timers can wake an idle agent: the full pass (5 min), what an engine waits for (the end of
 * a hold-down, a retry of what was refused or not proved), the retry after a failed pass (1 s
 * doubling to 60 s), and the slower repairs that a rival causes.
 */
#include "engine/schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/event.h"
#include "base/log.h"
#include "base/macro.h"
#include "engine/pass.h"
#include "engine/rival.h"
#include "faults/kernel.h"
#include "faults/raise.h"
#include "loop/backoff.h"
#include "loop/deferred.h"
#include "loop/timer.h"

#define FULL_PASS_MS (5 * MINUTE_MS)

struct schedule {
    struct schedule_options options;
    struct deferred *deferred;
    sd_event_source *kernel_io;
    struct timer *full_timer, *due_timer, *retry_timer, *calm_timer;
    struct backoff retry;
    struct rival rival;
    int64_t repair_ms;     /* monotonic: against a rival, the next repair is due; 0: none waits */
    bool paused;           /* no pass runs: the wanted state is not known yet, and may be soon */
    bool all;              /* the next pass is over everything */
    bool swept;            /* one ran that was allowed to remove */
    bool doubting;         /* the next one is the periodic one, which must find nothing */
    int64_t full_began_us; /* of the pass over everything that engines have not finished; 0: none */
};

static void report_rival(struct schedule *schedule, uint32_t repairs, uint32_t writer,
                         int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (repairs) {
        char routes[24], port[16];
        snprintf(routes, sizeof(routes), "%" PRIu32, repairs);
        snprintf(port, sizeof(port), "%" PRIu32, writer);
        rival_note(&schedule->rival, writer, now_ms);
        log_event(&event_routes_repaired, LOG_FIELDS({ "ROUTES", routes }, { "WRITER", port }),
                  "repaired %s routes or rules that netlink port %s had changed", routes, port);
    }
    if (rival_present(&schedule->rival, now_ms)) {
        rival_fault(&schedule->rival, &faults);
        timer_arm(schedule->calm_timer, RIVAL_CALM_MS);
    }
    (void)fault_book_replace(schedule->options.status->faults, "routes", "rival", &faults,
                             clock_wall_ms());
}

/* A failure is retried with growing delays; success resets the delay. */
/* `engine`: the one that failed; NULL: none of them. */
static void report_failure(struct schedule *schedule, int error, const char *engine)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (error < 0)
        fault_raise(&faults, "pass", pass_failed, .engine = engine, .reason = strerror(-error));
    (void)fault_book_replace(schedule->options.status->faults, "routes", "pass", &faults,
                             clock_wall_ms());
    if (error < 0) {
        log_error("pass failed%s%s: %s", engine ? ", engine " : "", engine ? engine : "",
                  strerror(-error));
        timer_arm(schedule->retry_timer, backoff_next(&schedule->retry));
        return;
    }
    backoff_reset(&schedule->retry);
    timer_disarm(schedule->retry_timer);
}

static void begin_full_pass(struct schedule *schedule, int64_t began_us, uint32_t changes)
{
    if (!schedule->full_began_us)
        schedule->full_began_us = began_us;
    schedule->swept |= schedule->options.status->source.synced;
    if (schedule->doubting && changes)
        log_warning("the periodic pass found %" PRIu32 " differences: notifications were lost",
                    changes);
    schedule->doubting = false;
}

static void end_full_pass(struct schedule *schedule)
{
    struct status *status = schedule->options.status;
    status->routes.full_passes++;
    status->routes.last_full_pass_wall_ms = clock_wall_ms();
    status->routes.last_full_pass_us = clock_mono_us() - schedule->full_began_us;
    if (status_is_known(status))
        status->routes.complete = true;
    schedule->full_began_us = 0;
}

static void await_engines(struct schedule *schedule, int64_t now_ms)
{
    int64_t next_ms = engines_next_ms(schedule->options.engines, now_ms);
    if (next_ms == INT64_MAX)
        timer_disarm(schedule->due_timer);
    else
        timer_arm(schedule->due_timer, MAX(next_ms - now_ms, 0));
}

static bool events_need_pass(const struct kernel_events *events)
{
    return events->routes.count || events->rules || events->other_rules || events->addresses ||
           events->links || events->watched || events->paths.count || events->many_paths ||
           events->resynced;
}

/* Sets what remains to be done after a pass, and by when. */
static void go_on(struct schedule *schedule, const struct round *round, int64_t began_us,
                  uint64_t generation)
{
    enum progress progress = engines_progress(schedule->options.engines);
    if (round->full)
        begin_full_pass(schedule, began_us, round->changes);
    if (progress != PROGRESS_AT_ONCE && schedule->full_began_us)
        end_full_pass(schedule);
    if (progress == PROGRESS_DONE)
        schedule->options.status->source.applied_generation = generation;
    await_engines(schedule, round->now_ms);
    if (progress == PROGRESS_AT_ONCE || events_need_pass(kernel_events(schedule->options.kernel)))
        schedule_pass(schedule, false);
}

/* Whether the next pass is over everything: it was requested, or none could do all it may. */
static bool is_all_due(const struct schedule *schedule)
{
    const struct status *status = schedule->options.status;
    bool incomplete =
        status_is_known(status) && !status->routes.complete && !schedule->full_began_us;
    return schedule->all || incomplete || (status->source.synced && !schedule->swept);
}

static void run_pass(void *context)
{
    struct schedule *schedule = context;
    const struct schedule_options *options = &schedule->options;
    if (schedule->paused)
        return;
    options->status->routes.pending = false;
    schedule->repair_ms = 0;
    CLEANUP(round_done)
    struct round round = {
        .now_ms = clock_mono_ms(),
        .all = is_all_due(schedule),
        .may_remove = options->status->source.synced,
    };
    int64_t began_us = clock_mono_us();
    uint64_t generation = options->loaded_generation(options->context);
    uint32_t writer = 0;
    round.full = round.all;
    int r = options->prepare ? options->prepare(options->context) : 0;
    if (r > 0) { /* there is nothing to plan by yet: everything stays unchanged */
        schedule->all = true;
        return;
    }
    if (r == 0)
        r = pass_run(options->engines, options->store, options->kernel, &round, &writer);
    if (round.expected)
        schedule->doubting = false; /* there was work */
    schedule->all = r < 0;          /* what was lost is found by a pass over everything */
    options->status->routes.passes++;
    report_failure(schedule, r, round.failed);
    report_rival(schedule, round.repairs, writer, round.now_ms);
    if (r < 0)
        return;
    go_on(schedule, &round, began_us, generation);
    options->passed(options->context);
}

void schedule_pass(struct schedule *schedule, bool all)
{
    schedule->all |= all;
    schedule->options.status->routes.pending = true;
    deferred_schedule(schedule->deferred);
}

void schedule_pause(struct schedule *schedule)
{
    schedule->paused = true;
}

void schedule_resume(struct schedule *schedule)
{
    schedule->paused = false;
    schedule_pass(schedule, true);
}

/* Writes of a rival are undone once a second, however often it writes. */
static void answer_later(struct schedule *schedule, int64_t now_ms)
{
    if (!schedule->repair_ms)
        schedule->repair_ms = now_ms + SECOND_MS;
    timer_arm(schedule->calm_timer, schedule->repair_ms - now_ms);
}

static int on_kernel(sd_event_source *source, int fd, uint32_t revents, void *context)
{
    struct schedule *schedule = context;
    (void)source, (void)fd, (void)revents;

    int64_t now_ms = clock_mono_ms();
    int r = kernel_read(schedule->options.kernel);
    if (r < 0) {
        log_error("reading the kernel's notifications: %s", strerror(-r));
        schedule_pass(schedule, true);
    } else if (events_need_pass(kernel_events(schedule->options.kernel))) {
        if (rival_present(&schedule->rival, now_ms))
            answer_later(schedule, now_ms);
        else
            schedule_pass(schedule, false);
    }
    return 0;
}

static void on_full_timer(void *context)
{
    struct schedule *schedule = context;
    int r = kernel_resync(schedule->options.kernel);
    if (r < 0)
        log_error("dumping the kernel's tables: %s", strerror(-r));
    schedule->options.doubt(schedule->options.context);
    schedule->doubting = true;
    schedule_pass(schedule, true);
    timer_arm(schedule->full_timer, FULL_PASS_MS);
}

static void on_due_timer(void *context)
{
    schedule_pass(context, false);
}

static int add_timer(struct schedule *schedule, void (*run)(void *context),
                     struct timer **ret_timer)
{
    return timer_new(schedule->options.event, SD_EVENT_PRIORITY_NORMAL, run, schedule, ret_timer);
}

static int add_timers(struct schedule *schedule)
{
    int r = add_timer(schedule, on_full_timer, &schedule->full_timer);
    if (r < 0)
        return r;
    r = add_timer(schedule, on_due_timer, &schedule->due_timer);
    if (r < 0)
        return r;
    r = add_timer(schedule, on_due_timer, &schedule->retry_timer);
    return r < 0 ? r : add_timer(schedule, on_due_timer, &schedule->calm_timer);
}

int schedule_new(const struct schedule_options *options, struct schedule **ret_schedule)
{
    CLEANUP(schedule_freep) struct schedule *schedule = calloc(1, sizeof(*schedule));
    if (!schedule)
        return -ENOMEM;
    schedule->options = *options;
    schedule->retry = (struct backoff){ .initial_ms = SECOND_MS, .max_ms = MINUTE_MS };
    int r = deferred_new(options->event, PASS_PRIORITY, run_pass, schedule, &schedule->deferred);
    if (r < 0)
        return r;
    r = sd_event_add_io(options->event, &schedule->kernel_io, kernel_fd(options->kernel), EPOLLIN,
                        on_kernel, schedule);
    if (r < 0)
        return r;
    r = add_timers(schedule);
    if (r < 0)
        return r;
    timer_arm(schedule->full_timer, FULL_PASS_MS);
    *ret_schedule = TAKE_PTR(schedule);
    return 0;
}

void schedule_free(struct schedule *schedule)
{
    if (!schedule)
        return;
    deferred_free(schedule->deferred);
    sd_event_source_disable_unref(schedule->kernel_io);
    timer_free(schedule->full_timer);
    timer_free(schedule->due_timer);
    timer_free(schedule->retry_timer);
    timer_free(schedule->calm_timer);
    free(schedule);
}
