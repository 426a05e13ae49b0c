// SPDX-License-Identifier: Apache-2.0
/*
 * When the copy is written and when it is in force; see copy_keeper.h.
 *
 * One timer drives the states: it ends the wait at the start, begins a copy, and completes it after
 * the disk had time to write. The slices in between run after everything else in the loop.
 */
#include "source/copy_keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/remedy.h"
#include "faults/api.h"
#include "faults/raise.h"
#include "loop/backoff.h"
#include "loop/deferred.h"
#include "loop/timer.h"
#include "source/copy_head.h"

enum {
    SLICE_US = 5000,
    SLICE_PRIORITY = SD_EVENT_PRIORITY_IDLE + 20,
};

const struct copy_timing copy_timing_default = {
    .calm_ms = SECOND_MS,
    .interval_ms = 10 * SECOND_MS,
    .bytes_per_ms = 64,
    .disk_ms = 2 * SECOND_MS,
    .refresh_ms = 60 * MINUTE_MS,
    .retry_initial_ms = 10 * SECOND_MS,
    .retry_max_ms = 10 * MINUTE_MS,
};

struct copy_keeper {
    struct copy_keeper_options options;
    char *node, *server; /* options.owner's */
    struct copy_timing timing;
    struct timer *wait_timer, *timer;
    struct deferred *slice;
    struct backoff retry;
    bool loaded;                /* there was a copy */
    bool settled, synced;       /* the wait for the source is over; it has synced since the start */
    bool written;               /* since the start */
    struct copy_writer *writer; /* of the copy that is being written */
    struct copy_head head;      /* of that copy */
    uint64_t writing_version;   /* of the store when the current copy was begun */
    uint64_t written_version;   /* of the store in the copy on disk */
    int64_t due_ms;             /* the earliest time of the next copy, monotonic */
    int64_t armed_ms;           /* when the timer begins one; 0: it is not armed */
};

static void tell(const struct copy_keeper *keeper, const char *group, const struct faults *faults)
{
    if (fault_book_replace(keeper->options.status->faults, "kubernetes", group, faults,
                           clock_wall_ms()) < 0)
        log_error("no memory to keep the faults of the copy on disk");
}

static bool is_dirty(const struct copy_keeper *keeper)
{
    return !keeper->written || store_version(keeper->options.store) != keeper->written_version;
}

/*
 * Arms the timer for the next copy; never later than before, since continuous changes would
 * postpone it.
 */
static void plan_next(struct copy_keeper *keeper)
{
    const struct copy_timing *timing = &keeper->timing;
    if (keeper->writer || !keeper->options.status->source.synced)
        return;
    int64_t now_ms = clock_mono_ms();
    int64_t begin_ms = now_ms + (is_dirty(keeper) ? timing->calm_ms : timing->refresh_ms);
    begin_ms = MAX(begin_ms, keeper->due_ms);
    if (keeper->armed_ms && keeper->armed_ms <= begin_ms)
        return;
    keeper->armed_ms = begin_ms;
    timer_arm(keeper->timer, begin_ms - now_ms);
}

static void give_up(struct copy_keeper *keeper, int error)
{
    const struct copy_status *copy = &keeper->options.status->copy;
    AUTOFAULTS struct faults faults = { 0 };
    char when[CLOCK_STRLEN];
    if (copy->written_wall_ms)
        fault_raise(&faults, copy->path, copy_outdated, .reason = strerror(-error),
                    .written = clock_rfc3339(copy->written_wall_ms, when),
                    .remedy = remedy_for_file(error));
    else
        fault_raise(&faults, copy->path, copy_unwritten, .reason = strerror(-error),
                    .remedy = remedy_for_file(error));
    tell(keeper, "copy", &faults);
    copy_writer_free(TAKE_PTR(keeper->writer));
    keeper->due_ms = clock_mono_ms() + backoff_next(&keeper->retry);
    plan_next(keeper);
}

static int begin(struct copy_keeper *keeper)
{
    const struct copy_keeper_options *options = &keeper->options;
    copy_head_fill(&keeper->head, &options->status->source.kube);
    keeper->writing_version = store_version(options->store);
    return copy_begin(options->path, &options->owner, &keeper->head, options->store,
                      &keeper->writer);
}

/* The new copy is in place. */
static void take_note(struct copy_keeper *keeper)
{
    struct copy_status *copy = &keeper->options.status->copy;
    copy->written_wall_ms = keeper->head.written_wall_ms;
    copy->as_of_wall_ms = copy_head_as_of(&keeper->head);
    copy->objects = copy_objects(keeper->writer);
    copy->bytes = copy_bytes(keeper->writer);
    keeper->written = true;
    keeper->written_version = keeper->writing_version;
    keeper->due_ms = clock_mono_ms() + MAX(keeper->timing.interval_ms,
                                           (int64_t)copy->bytes / keeper->timing.bytes_per_ms);
    backoff_reset(&keeper->retry);
    tell(keeper, "copy", NULL);
    copy_writer_free(TAKE_PTR(keeper->writer));
}

static void on_slice(void *context)
{
    struct copy_keeper *keeper = context;
    int r = copy_write(keeper->writer, clock_mono_us() + SLICE_US);
    if (r < 0) {
        give_up(keeper, r);
    } else if (r == 0) {
        deferred_schedule(keeper->slice);
    } else {
        timer_arm(keeper->timer, keeper->timing.disk_ms);
    }
}

static void on_timer(void *context)
{
    struct copy_keeper *keeper = context;
    int r = 0;
    keeper->armed_ms = 0;
    if (keeper->writer) {
        r = copy_commit(keeper->writer);
        if (r == 0) {
            take_note(keeper);
            plan_next(keeper);
        }
    } else if (is_dirty(keeper) || copy_head_is_now(&keeper->options.status->source.kube)) {
        r = begin(keeper);
        if (r == 0)
            deferred_schedule(keeper->slice);
    } else {
        plan_next(keeper);
    }
    if (r < 0)
        give_up(keeper, r);
}

/* What an operator has to know while the source has not synced since the start. */
static void tell_of_start(const struct copy_keeper *keeper)
{
    const struct status *status = keeper->options.status;
    const char *server = keeper->options.owner.server;
    AUTOFAULTS struct faults faults = { 0 };
    char when[CLOCK_STRLEN];
    if (status->copy.in_force)
        fault_raise(&faults, server, api_copy_in_force,
                    .as_of = clock_rfc3339(status->copy.as_of_wall_ms, when));
    else if (!status->source.synced)
        fault_raise(&faults, server, api_never_read);
    tell(keeper, "start", &faults);
}

static void settle(struct copy_keeper *keeper)
{
    struct status *status = keeper->options.status;
    bool first = !keeper->settled;
    keeper->settled = true;
    keeper->synced = status->source.synced;
    status->copy.in_force = keeper->loaded && !status->source.synced;
    if (status->source.synced)
        timer_disarm(keeper->wait_timer);
    tell_of_start(keeper);
    if (first)
        keeper->options.settled(keeper->options.context);
}

static void on_waited(void *context)
{
    struct copy_keeper *keeper = context;
    if (!keeper->settled)
        settle(keeper);
}

void copy_keeper_source_changed(struct copy_keeper *keeper)
{
    const struct status *status = keeper->options.status;
    if (!status->source.synced)
        return;
    if (!keeper->synced)
        settle(keeper);
    if (is_dirty(keeper))
        plan_next(keeper);
}

static int load(struct copy_keeper *keeper)
{
    const struct copy_keeper_options *options = &keeper->options;
    struct copy_status *copy = &options->status->copy;
    struct copy_head head;
    AUTOFAULTS struct faults faults = { 0 };
    int r =
        copy_load(options->path, &options->owner, options->origin, options->store, &head, &faults);
    if (r == -ENOMEM)
        return r;
    tell(keeper, "copy", &faults);
    *copy = (struct copy_status){ .path = options->path };
    if (r <= 0)
        return 0;
    keeper->loaded = true;
    copy->written_wall_ms = head.written_wall_ms;
    copy->as_of_wall_ms = copy_head_as_of(&head);
    for (enum kind kind = 0; kind < KIND_COUNT; kind++)
        copy->objects += store_count(options->store, kind);
    return 0;
}

int copy_keeper_new(const struct copy_keeper_options *options, struct copy_keeper **ret_keeper)
{
    CLEANUP(copy_keeper_freep) struct copy_keeper *keeper = calloc(1, sizeof(*keeper));
    if (!keeper)
        return -ENOMEM;
    keeper->options = *options;
    keeper->options.owner.node = keeper->node = strdup(options->owner.node);
    keeper->options.owner.server = keeper->server = strdup(options->owner.server);
    keeper->timing = *options->timing;
    keeper->retry = (struct backoff){ .initial_ms = keeper->timing.retry_initial_ms,
                                      .max_ms = keeper->timing.retry_max_ms };
    int r = keeper->node && keeper->server ? load(keeper) : -ENOMEM;
    if (r < 0)
        return r;
    r = timer_new(options->event, SD_EVENT_PRIORITY_NORMAL, on_waited, keeper, &keeper->wait_timer);
    if (r < 0)
        return r;
    r = timer_new(options->event, SD_EVENT_PRIORITY_NORMAL, on_timer, keeper, &keeper->timer);
    if (r < 0)
        return r;
    r = deferred_new(options->event, SLICE_PRIORITY, on_slice, keeper, &keeper->slice);
    if (r < 0)
        return r;
    timer_arm(keeper->wait_timer, keeper->timing.wait_ms);
    *ret_keeper = TAKE_PTR(keeper);
    return 0;
}

int copy_keeper_set_server(struct copy_keeper *keeper, const char *server)
{
    char *copy = strdup(server);
    if (!copy)
        return -ENOMEM;
    keeper->written &= strcmp(copy, keeper->server) == 0;
    free(keeper->server);
    keeper->options.owner.server = keeper->server = copy;
    return 0;
}

static int write_all(struct copy_keeper *keeper)
{
    int r = begin(keeper);
    if (r < 0)
        return r;
    r = copy_write(keeper->writer, INT64_MAX);
    return r > 0 ? copy_commit(keeper->writer) : r;
}

static void write_rest(struct copy_keeper *keeper)
{
    if (!keeper->options.status->source.synced || !is_dirty(keeper))
        return;
    copy_writer_free(TAKE_PTR(keeper->writer));
    int r = write_all(keeper);
    if (r < 0)
        log_error("the copy of the last known objects can't be written: %s", strerror(-r));
}

void copy_keeper_free(struct copy_keeper *keeper)
{
    if (!keeper)
        return;
    write_rest(keeper);
    copy_writer_free(keeper->writer);
    deferred_free(keeper->slice);
    timer_free(keeper->timer);
    timer_free(keeper->wait_timer);
    free(keeper->node);
    free(keeper->server);
    free(keeper);
}
