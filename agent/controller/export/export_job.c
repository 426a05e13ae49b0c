// SPDX-License-Identifier: Apache-2.0
/*
 * Exports: plan/export/export.h has the desired documents, a target (export_target.h) the existing
 * ones, and writes the difference. A row of jobs.c, enabled where consul.clusterID is set.
 *
 * The plan is made anew, from everything, when an object that it depends on has changed: for 15,000
 * documents that is a fraction of a second, and no document can be forgotten. A round without
 * anything to write costs only the comparison.
 *
 * Nothing is removed before every kind was read from the API (job.h) and everything from the
 * target. A list that shrinks too much within consul.holdDown (plan/export/export_shrink.h) is held
 * back for that time, counted from when that was seen first; then the change is applied.
 */
#include "controller/export/export_job.h"

#include <string.h>

#include "api/export/view_exports.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "controller/export/export_conditions.h"
#include "controller/export/export_events.h"
#include "controller/export/export_statsd.h"
#include "controller/export/export_target.h"
#include "faults/export.h"
#include "faults/raise.h"
#include "plan/export/export.h"
#include "plan/export/export_shrink.h"

#define NAME "exports"

struct export_job {
    struct job job;
    const struct export_config *config;
    struct export_target *target;
    struct export_events *events;
    struct export_conditions *conditions;
    struct export_statsd *statsd;
    struct export_metrics metrics;
    bool locked; /* as last passed to the metrics */
    struct export_plan plan;
    bool planned, dirty;
    struct export_shrink documents, nodes;
    int64_t end_ms; /* when its exit began, monotonic; 0: it did not, or it did not lead then */
};

static const enum kind kinds[] = { KIND_SERVICE, KIND_NODE, KIND_ENDPOINT_SLICE, KIND_COUNT };

static bool is_wanted(const struct controller_config *config)
{
    return config->exports.cluster != NULL;
}

static void close_job(struct job *base)
{
    struct export_job *job = (struct export_job *)base;
    export_statsd_close(job->statsd, job->end_ms);
    if (job->target)
        job->target->ops->free(job->target);
    export_events_free(job->events);
    export_conditions_free(job->conditions);
    export_plan_done(&job->plan);
    export_shrink_forget(&job->documents);
    export_shrink_forget(&job->nodes);
}

static void replace_faults(struct export_job *job, const char *group, const struct faults *faults)
{
    (void)fault_book_replace(job->job.board->faults, NAME, group, faults, clock_wall_ms());
}

static void on_told(void *context, const struct export_op *op, bool done)
{
    struct export_job *job = context;
    job->metrics.failed[export_deed_of(op)] += !done;
    export_statsd_told(job->statsd, &job->plan, op, done);
}

static int open_statsd(struct export_job *job)
{
    AUTOFAULTS struct faults faults = { 0 };
    int r = export_statsd_new(job->config, &job->metrics, &job->statsd, &faults);
    if (r < 0)
        return r;
    job->target->told = on_told;
    job->target->context = job;
    replace_faults(job, "dogstatsd", &faults);
    return 0;
}

/* Services of Consul agents belong to each node: agentd registers them. */
static void tell_of_settings(const struct export_job *job)
{
    if (job->config->services_asked)
        log_notice("exports: KSE_SERVICES_ENABLED: set consul.clusterID in agentd.yaml, and each "
                   "node's agentd registers its services");
}

static int open_job(struct job *base)
{
    struct export_job *job = (struct export_job *)base;
    const struct board *board = base->board;
    job->config = &board->config->exports;
    job->dirty = true;
    int r = job->config->folder ? export_files_new(board, &job->target)
                                : export_consul_new(board, &job->target);
    if (r < 0)
        return r;
    job->metrics.target = job->target->ops->status(job->target);
    r = export_events_new(board, &job->events);
    if (r < 0)
        return r;
    r = export_conditions_new(board, &job->conditions);
    if (r < 0)
        return r;
    r = open_statsd(job);
    if (r < 0)
        return r;
    tell_of_settings(job);
    return 0;
}

static void count_change(struct export_job *job, const struct change *change, enum kind kind)
{
    enum handled handled = !change->before  ? HANDLED_ADD
                           : !change->after ? HANDLED_DELETE
                                            : HANDLED_UPDATE;
    struct export_metrics *metrics = &job->metrics;
    if (kind == KIND_SERVICE) {
        metrics->services[handled]++;
        export_waiting_add(&metrics->waiting_services, handled, clock_mono_ms());
    } else if (kind == KIND_NODE) {
        metrics->nodes[handled]++;
        export_waiting_add(&metrics->waiting_nodes, handled, clock_mono_ms());
    }
}

static int note(struct job *base, const struct change *change)
{
    struct export_job *job = (struct export_job *)base;
    const struct object *object = change->after ? change->after : change->before;
    count_change(job, change, object->kind);
    if (!job->planned || export_plan_depends_on(&job->plan, object->kind))
        job->dirty = true;
    return 0;
}

/* Whether a node has stopped to pretend that it is ready. */
static bool is_over(const struct export_job *job)
{
    return job->plan.until_wall_ms && clock_wall_ms() >= job->plan.until_wall_ms;
}

static void count_failed_plan(struct export_job *job)
{
    job->metrics.waiting_services.retries += job->metrics.waiting_services.length;
    job->metrics.waiting_nodes.retries += job->metrics.waiting_nodes.length;
}

/* Waiting changes are in this plan. */
static void count_plan(struct export_job *job, const struct export_plan *plan, int64_t began_ms)
{
    struct export_metrics *metrics = &job->metrics;
    metrics->listed = plan->nodes;
    if (plan->until_wall_ms && plan->until_wall_ms != job->plan.until_wall_ms)
        metrics->waiting_nodes.later++;
    export_statsd_planned(job->statsd, plan, clock_mono_ms() - began_ms);
    export_waiting_end(&metrics->waiting_services, began_ms, clock_mono_ms());
    export_waiting_end(&metrics->waiting_nodes, began_ms, clock_mono_ms());
}

static int make_plan(struct export_job *job)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct export_plan plan;
    const int64_t began_ms = clock_mono_ms();
    int r = plan_export(job->config, job->job.board->store, clock_wall_ms(), &plan, &faults);
    if (r < 0) {
        count_failed_plan(job);
        return r;
    }
    count_plan(job, &plan, began_ms);
    export_plan_done(&job->plan);
    job->plan = plan;
    job->planned = true;
    job->dirty = false;
    replace_faults(job, "objects", &faults);
    r = export_events_want(job->events, &job->plan);
    return r < 0 ? r : export_conditions_want(job->conditions, &job->plan);
}

static void tell_of_held(struct export_job *job, struct faults *faults)
{
    if (job->documents.held)
        fault_raise(faults, "consul.maxShrink", export_documents_held,
                    .count = (int64_t)job->documents.held);
    if (job->nodes.held)
        fault_raise(faults, "consul.maxShrink", export_nodes_held,
                    .nodes = (int64_t)job->plan.nodes);
}

static struct export_hold hold_now(const struct export_job *job, int64_t now_ms)
{
    int64_t hold_ms = job->config->hold_ms;
    return (struct export_hold){
        .shrink_percent = job->config->shrink_percent,
        .most_documents = export_shrink_longest(&job->documents, hold_ms, now_ms),
        .most_nodes = export_shrink_longest(&job->nodes, hold_ms, now_ms),
        .documents = export_shrink_is_over(&job->documents, hold_ms, now_ms),
        .nodes = export_shrink_is_over(&job->nodes, hold_ms, now_ms),
    };
}

/* The existing entries are known: has the difference written. */
static int compare(struct export_job *job, const export_entries *there, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(export_diff_done) struct export_diff diff = { 0 };
    const struct export_hold hold = hold_now(job, now_ms);
    int r = export_diff(job->config, &job->plan, there, &hold, &diff, &faults);
    if (r < 0)
        return r;
    r = export_shrink_note(&job->documents, diff.owned, diff.held_documents, hold.documents,
                           now_ms);
    if (r < 0)
        return r;
    r = export_shrink_note(&job->nodes, diff.nodes, diff.held_nodes, hold.nodes, now_ms);
    if (r < 0)
        return r;
    tell_of_held(job, &faults);
    replace_faults(job, "keys", &faults);
    if (diff.ops.count > 0)
        log_notice("exports: %zu keys are to be written", diff.ops.count);
    return job->target->ops->write(job->target, &diff);
}

/* Changes of the lock since the last call, for metrics. */
static void send_metrics(struct export_job *job, const struct export_target_status *status)
{
    job->metrics.elected += status->locked && !job->locked;
    job->metrics.relinquished += !status->locked && job->locked;
    job->locked = status->locked;
    export_statsd_counts(job->statsd);
}

static void tell_of_target(struct export_job *job)
{
    const struct export_target_status *status = job->target->ops->status(job->target);
    send_metrics(job, status);
    AUTOFAULTS struct faults faults = { 0 };
    if (*status->error)
        fault_raise(&faults,
                    job->config->folder ? job->config->folder : job->config->consul.address,
                    export_target_failed, .reason = status->error, .remedy = status->remedy);
    replace_faults(job, "target", &faults);
}

static void tell_of_conditions(struct export_job *job)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (export_conditions_faults(job->conditions, &faults))
        replace_faults(job, "conditions", &faults);
}

static int work(struct job *base, const struct job_round *round)
{
    struct export_job *job = (struct export_job *)base;
    int r = job->dirty || round->all || is_over(job) ? make_plan(job) : 0;
    tell_of_target(job);
    tell_of_conditions(job);
    const export_entries *there = job->target->ops->have(job->target);
    return r < 0 || !there ? r : compare(job, there, round->now_ms);
}

static void lead(struct job *base, bool leading)
{
    struct export_job *job = (struct export_job *)base;
    job->dirty = true;
    job->planned = false;
    export_shrink_forget(&job->documents);
    export_shrink_forget(&job->nodes);
    job->target->ops->lead(job->target, leading);
    export_events_lead(job->events, leading);
    export_conditions_lead(job->conditions, leading);
    if (leading) {
        export_waiting_begin(&job->metrics.waiting_services, clock_mono_ms());
        export_waiting_begin(&job->metrics.waiting_nodes, clock_mono_ms());
        return;
    }
    job->end_ms = job->job.board->status->stopping ? clock_mono_ms() : 0;
    send_metrics(job, job->target->ops->status(job->target));
    replace_faults(job, "target", NULL);
    replace_faults(job, "conditions", NULL);
    replace_faults(job, "keys", NULL);
}

static bool is_ending(const struct job *base)
{
    const struct export_target *target = ((const struct export_job *)base)->target;
    return target->ops->ending && target->ops->ending(target);
}

static void publish(struct job *base, struct job_status *status)
{
    const struct export_job *job = (const struct export_job *)base;
    const struct export_target_status *target = job->target->ops->status(job->target);
    const struct job_count counts[] = {
        { "services", job->plan.services },
        { "nodes", job->plan.nodes },
        { "documents", job->plan.documents.count },
        { "refused", job->plan.refusals.count },
        { "pending", target->pending },
        { "held", job->documents.held + job->nodes.held },
        { "written", target->written },
        { "removed", target->removed },
    };
    _Static_assert(ARRAY_SIZE(counts) <= JOB_COUNTS_MAX, "there is room for every count");
    memcpy(status->counts, counts, sizeof(counts));
    status->count = ARRAY_SIZE(counts);
    export_events_publish(job->events, &status->writes);
    export_conditions_publish(job->conditions, &status->writes);
}

/* When something that is held back may be removed (monotonic); INT64_MAX: nothing is held back. */
static int64_t held_until_ms(const struct export_job *job)
{
    int64_t hold_ms = job->config->hold_ms;
    return MIN(export_shrink_until(&job->documents, hold_ms),
               export_shrink_until(&job->nodes, hold_ms));
}

/* Only the leader has a plan; a follower makes none. */
static void lend(const struct job *base, struct controller_state *state)
{
    const struct export_job *job = (const struct export_job *)base;
    const int64_t now_wall_ms = clock_wall_ms();
    int64_t now_ms = clock_mono_ms(), until_ms = held_until_ms(job);
    state->export_metrics = &job->metrics;
    if (!job->planned || !board_may_write(job->job.board))
        return;
    state->exports = (struct export_knowledge){
        .config = job->config,
        .plan = &job->plan,
        .seen = job->target->ops->seen(job->target),
        .target = job->target->ops->status(job->target),
        .hold = hold_now(job, now_ms),
        .held_until_wall_ms = until_ms == INT64_MAX ? 0 : now_wall_ms + until_ms - now_ms,
    };
}

static int64_t next_ms(const struct job *base, int64_t now_ms)
{
    const struct export_job *job = (const struct export_job *)base;
    int64_t next = held_until_ms(job);
    if (job->plan.until_wall_ms)
        next = MIN(next, now_ms + MAX(job->plan.until_wall_ms - clock_wall_ms(), INT64_C(1)));
    return next;
}

const struct job_ops export_job_ops = {
    .name = NAME,
    .kinds = kinds,
    .is_wanted = is_wanted,
    .size = sizeof(struct export_job),
    .open = open_job,
    .close = close_job,
    .note = note,
    .work = work,
    .lead = lead,
    .ending = is_ending,
    .publish = publish,
    .lend = lend,
    .next_ms = next_ms,
};
