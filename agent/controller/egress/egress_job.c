// SPDX-License-Identifier: Apache-2.0
/*
 * The egress job: creates the objects of Egresses, keeps them as wanted, and deletes them.
 *
 * An object that may have to be written is added to the writer (egress_write.c), which finds out
 * what to write. What was written, and the object's state then, is remembered; after a change of
 * leaders each object is applied once, which changes nothing if it is as wanted. Only the marks of
 * deleted objects are dropped.
 */
#include "controller/egress/egress_job.h"

#include <string.h>

#include "api/view_controller.h"
#include "base/clock.h"
#include "base/macro.h"
#include "controller/egress/egress_inside.h"
#include "controller/egress/egress_marks.h"
#include "plan/conflicts/held.h"
#include "plan/egress/workload.h"

/* The objects of an Egress with its name; and its status. */
static const enum kind parts[] = { KIND_DEPLOYMENT, KIND_SERVICE, KIND_DISRUPTION_BUDGET,
                                   KIND_EGRESS };

static const struct kube_writer_limits limits = {
    .queue = { .keys = 65536,
               .parallel = 8,
               .per_second = 50,
               .burst = 200,
               .initial_ms = 5,
               .max_ms = MINUTE_MS },
    .answer_ms = MINUTE_MS / 2,
};

static const struct job_writer_row writers[] = {
    [EGRESS_OBJECTS] = { &limits, egress_make, egress_told },
    [EGRESS_EVENTS] = { NULL, egress_event_make, egress_event_told },
    [EGRESS_OLD_BINDING] = { NULL, egress_old_binding_make, egress_old_binding_told },
    { 0 },
};

static int add_access(struct egress_job *job, const char *namespace)
{
    int r = egress_add(job, KIND_SERVICE_ACCOUNT, namespace, WORKLOAD_ACCOUNT);
    return r < 0 ? r : egress_add(job, KIND_ROLE_BINDING, "", WORKLOAD_BINDING);
}

/* Access first, without which the pods of a Deployment can't be created. */
static int add_egress(struct egress_job *job, const struct object *egress)
{
    int r = add_access(job, egress->namespace);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++)
        r = egress_add(job, parts[i], egress->namespace, egress->name);
    return r;
}

/* An object of an Egress, or a foreign one with its name. */
static int note_part(struct egress_job *job, const struct object *object)
{
    const struct store *store = job->job.board->store;
    int r = 0;
    if (object->kind == KIND_DEPLOYMENT && to_workload(object)->digest)
        r = add_access(job, object->namespace);
    if (r < 0 || !store_get(store, KIND_EGRESS, object->namespace, object->name))
        return r;
    r = egress_add(job, object->kind, object->namespace, object->name);
    if (r < 0)
        return r;
    if (object->kind == KIND_DEPLOYMENT)
        r = egress_add(job, KIND_EGRESS, object->namespace, object->name);
    return r;
}

static void forget(struct egress_job *job, const struct object *object)
{
    AUTOFREE char *key = egress_key(object->kind, object->namespace, object->name);
    if (key)
        egress_mark_drop(&job->marks, key);
}

/* Of its status, which is not going to be written any more. */
static void end_refusal(struct egress_job *job, const struct object *egress)
{
    const struct workload_key key = { egress->kind, egress->namespace, egress->name };
    AUTOFREE char *place = egress_place(&key);
    if (place)
        refusals_end(&job->refusals, place);
}

static int note(struct job *base, const struct change *change)
{
    struct egress_job *job = (struct egress_job *)base;
    const struct object *object = change->after ? change->after : change->before;
    switch (object->kind) {
    case KIND_EGRESS:
        if (object->deleting)
            job->held_ms = 0;
        if (!change->after)
            end_refusal(job, object);
        return add_egress(job, object);
    case KIND_DEPLOYMENT:
    case KIND_SERVICE:
    case KIND_DISRUPTION_BUDGET:
        if (!change->after)
            forget(job, object);
        return note_part(job, object);
    case KIND_SERVICE_ACCOUNT:
    case KIND_ROLE_BINDING:
        if (!change->after)
            forget(job, object);
        return egress_add(job, object->kind, object->namespace, object->name);
    default:
        return 0;
    }
}

/* ---- Rounds ---- */

static bool is_gone(void *context, const char *key)
{
    return !egress_object(context, key);
}

static int add_all(struct egress_job *job, enum kind kind)
{
    const struct object *object;
    int r = 0;
    for (size_t cursor = 0; r == 0 && (object = store_next(job->job.board->store, kind, &cursor));)
        r = kind == KIND_EGRESS ? add_egress(job, object)
                                : egress_add(job, kind, object->namespace, object->name);
    return r;
}

static void tell(struct egress_job *job)
{
    AUTOFAULTS struct faults faults = { 0 };
    refusals_faults(&job->refusals, &faults);
    (void)fault_book_replace(job->job.board->faults, egress_job_ops.name, "writes", &faults,
                             clock_wall_ms());
}

static void tell_held(struct egress_job *job, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    int64_t left_ms = held_faults(job->job.board->store, KIND_EGRESS, clock_wall_ms(), &faults);
    job->held_ms = left_ms == INT64_MAX ? INT64_MAX : now_ms + left_ms;
    (void)fault_book_replace(job->job.board->faults, egress_job_ops.name, "held", &faults,
                             clock_wall_ms());
}

static int64_t next_ms(const struct job *base, int64_t now_ms)
{
    const struct egress_job *job = (const struct egress_job *)base;
    (void)now_ms;
    return board_may_write(job->job.board) ? job->held_ms : INT64_MAX;
}

static int work(struct job *base, const struct job_round *round)
{
    static const enum kind all[] = { KIND_EGRESS, KIND_SERVICE_ACCOUNT, KIND_ROLE_BINDING };
    struct egress_job *job = (struct egress_job *)base;
    int r = 0;
    if (job->refusals.changed)
        tell(job);
    if (round->all || round->now_ms >= job->held_ms)
        tell_held(job, round->now_ms);
    if (!round->all)
        return 0;
    egress_marks_sweep(&job->marks, is_gone, job);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(all); i++)
        r = add_all(job, all[i]);
    return r < 0 ? r : egress_old_binding_look(job);
}

/* Another controller leads, and reports faults. */
static void lead(struct job *base, bool leading)
{
    struct egress_job *job = (struct egress_job *)base;
    if (leading)
        return;
    egress_marks_clear(&job->marks);
    egress_old_binding_reset(job);
    refusals_clear(&job->refusals);
    tell(job);
    (void)fault_book_replace(job->job.board->faults, egress_job_ops.name, "held", NULL,
                             clock_wall_ms());
}

static void publish(struct job *base, struct job_status *status)
{
    const struct egress_job *job = (const struct egress_job *)base;
    const struct store *store = job->job.board->store;
    const struct object *object;
    uint64_t deployments = 0, pods = 0, available = 0;
    for (size_t cursor = 0; (object = store_next(store, KIND_EGRESS, &cursor));) {
        const struct workload *workload = workload_of(store, to_egress(object));
        deployments += workload != NULL;
        pods += workload ? workload->replicas : 0;
        available += workload ? workload->available_replicas : 0;
    }
    const struct job_count counts[] = {
        { "egresses", store_count(store, KIND_EGRESS) },
        { "deployments", deployments },
        { "gateways", pods },
        { "available", available },
        { "refused", refusals_count(&job->refusals) },
        { "applied", job->applied },
        { "deleted", job->deleted },
    };
    _Static_assert(ARRAY_SIZE(counts) <= JOB_COUNTS_MAX, "status has room for each count");
    memcpy(status->counts, counts, sizeof(counts));
    status->count = ARRAY_SIZE(counts);
}

static void lend(const struct job *base, struct controller_state *state)
{
    const struct egress_job *job = (const struct egress_job *)base;
    if (board_may_write(job->job.board))
        state->egress_refusals = &job->refusals;
}

static void close_job(struct job *base)
{
    struct egress_job *job = (struct egress_job *)base;
    egress_marks_done(&job->marks);
    refusals_done(&job->refusals);
}

static int open_job(struct job *base)
{
    struct egress_job *job = (struct egress_job *)base;
    egress_marks_init(&job->marks);
    refusals_init(&job->refusals);
    job->held_ms = INT64_MAX;
    return 0;
}

static bool is_wanted(const struct controller_config *config)
{
    return config->egress.enabled;
}

static const enum kind kinds[] = {
    KIND_EGRESS,          KIND_DEPLOYMENT,   KIND_SERVICE, KIND_DISRUPTION_BUDGET,
    KIND_SERVICE_ACCOUNT, KIND_ROLE_BINDING, KIND_COUNT
};

const struct job_ops egress_job_ops = {
    .name = "egress",
    .kinds = kinds,
    .is_wanted = is_wanted,
    .size = sizeof(struct egress_job),
    .writers = writers,
    .open = open_job,
    .close = close_job,
    .note = note,
    .work = work,
    .lead = lead,
    .publish = publish,
    .lend = lend,
    .next_ms = next_ms,
};
