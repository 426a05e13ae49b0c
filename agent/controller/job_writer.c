// SPDX-License-Identifier: Apache-2.0
/*
 * The writer of a job; see job_writer.h. Made by job.c for each row of a job's table, and by parts
 * of a job with writes of their own (export_events.c). The queue is made when the first key is
 * added, and ends with leadership; its counts are kept.
 */
#include "controller/job_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "client/kube/kube_refusal.h"

const char job_lacks_status_remedy[] =
    "apply deploy/kubernetes/crds.yaml and crds-metallb.yaml: the definition in force is older";

enum {
    DENIALS_MEANT = 6,        /* some 300 ms, in which the source reports an object's deletion */
    FAILURES_MEANT = 9,       /* some 1.3 s with the pauses of kube_writer_limits_default */
    LONG_PAUSE_MS = 2 * 1000, /* Retry-After of the API: reported at once */
};

bool job_lacks_status(const struct kube_told *told, const struct object *object)
{
    return told->result.outcome == KUBE_MISSING && object && told->tries >= DENIALS_MEANT;
}

/* Whether it is no refusal, but persists; without a status there was no answer. */
static bool goes_on(const struct kube_told *told)
{
    const struct kube_result *result = &told->result;
    return result->status && result->outcome != KUBE_MISSING && result->outcome != KUBE_EXISTS &&
           (told->tries >= FAILURES_MEANT || result->retry_after_ms > LONG_PAUSE_MS);
}

static const char *remedy_for(const struct kube_told *told)
{
    const struct kube_result *result = &told->result;
    const bool admitted = !kube_refusal_by_admission(result->why);
    if (result->status == 403 && admitted)
        return "allow it by deploy/kubernetes/controller.yaml";
    if (result->outcome == KUBE_CONFLICT && admitted)
        return "see who changes it meanwhile: kubectl get -w -o yaml --show-managed-fields";
    return result->remedy;
}

bool job_write_fails(const struct kube_told *told, const struct object *object, bool known,
                     struct job_write_fault *ret_fault)
{
    const struct kube_result *result = &told->result;
    if (result->outcome == KUBE_DONE && told->done > 1) {
        *ret_fault = (struct job_write_fault){ kube_not_so, kube_not_so_remedy };
        return true;
    }
    if (job_lacks_status(told, object)) {
        *ret_fault = (struct job_write_fault){ result->why, job_lacks_status_remedy };
        return true;
    }
    const bool follows = known && result->outcome == KUBE_LATER && result->status == 200;
    if (result->outcome == KUBE_DONE || follows ||
        (result->outcome != KUBE_REFUSED && !goes_on(told)))
        return false;
    *ret_fault = (struct job_write_fault){ result->why, remedy_for(told) };
    return true;
}

void job_write_note(struct refusals *refusals, const char *place, const char *what,
                    const struct kube_told *told, const struct object *object)
{
    struct job_write_fault fault;
    const bool known = refusals_find(refusals, place) != NULL;
    if (job_write_fails(told, object, known, &fault)) {
        AUTOFREE char *message = text_format("%s: %s", what, fault.why);
        if (message)
            refusals_note(refusals, place, message, fault.remedy);
    } else if (told->result.outcome == KUBE_DONE) {
        refusals_end(refusals, place);
    }
}

struct job_writer {
    struct job_writer_options options;
    struct kube_writer *writer; /* NULL: nothing was added since it leads, or it does not lead */
    struct kube_writer_counts past; /* of writers that have ended */
};

/*
 * The last check before a write is sent: the lease of a process that was stopped may have expired.
 */
static int make(void *context, const char *key, struct kube_write *write, struct text *body)
{
    struct job_writer *writer = context;
    if (!board_may_write(writer->options.board))
        return 0;
    return writer->options.make(writer->options.context, key, write, body);
}

static bool on_told(void *context, const char *key, const struct kube_told *told)
{
    struct job_writer *writer = context;
    return writer->options.told(writer->options.context, key, told);
}

int job_writer_new(const struct job_writer_options *options, struct job_writer **ret_writer)
{
    struct job_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return -ENOMEM;
    writer->options = *options;
    if (!options->limits)
        writer->options.limits = &kube_writer_limits_default;
    *ret_writer = writer;
    return 0;
}

static struct kube_writer_counts counts_of(const struct job_writer *writer)
{
    struct kube_writer_counts counts = writer->past;
    if (!writer->writer)
        return counts;
    const struct kube_writer_counts now = kube_writer_counts(writer->writer);
    counts.written += now.written;
    counts.retries += now.retries;
    counts.conflicts += now.conflicts;
    counts.refused += now.refused;
    counts.lost += now.lost;
    counts.found += now.found;
    counts.waiting = now.waiting;
    counts.running = now.running;
    return counts;
}

static void end_queue(struct job_writer *writer)
{
    writer->past = counts_of(writer);
    writer->past.waiting = writer->past.running = 0;
    kube_writer_free(TAKE_PTR(writer->writer));
}

void job_writer_lead(struct job_writer *writer, bool leading)
{
    if (!leading)
        end_queue(writer);
}

int job_writer_add(struct job_writer *writer, const char *key)
{
    const struct board *board = writer->options.board;
    if (!board_may_write(board))
        return 0;
    const struct kube_writer_options options = {
        .event = board->event,
        .client = board->client,
        .limits = writer->options.limits,
        .make = make,
        .told = on_told,
        .looks = true,
        .context = writer,
    };
    int r = writer->writer ? 0 : kube_writer_new(&options, &writer->writer);
    return r < 0 ? r : kube_writer_add(writer->writer, key);
}

static void add_row(void *context, const struct kube_writer_row *row)
{
    struct write_status *status = context;
    if (status->count >= WRITE_ROWS_MAX)
        return;
    struct write_row *copy = &status->rows[status->count++];
    *copy = (struct write_row){
        .outcome = row->tries ? kube_outcome_name(row->outcome) : NULL,
        .running = row->running,
        .tries = row->tries,
        .since_wall_ms = row->since_wall_ms,
        .next_mono_ms = row->running ? 0 : clock_mono_ms() + row->next_ms,
    };
    (void)snprintf(copy->what, sizeof(copy->what), "%s", *row->what ? row->what : row->key);
    (void)snprintf(copy->why, sizeof(copy->why), "%s", row->why);
}

void job_writer_publish(const struct job_writer *writer, struct write_status *status)
{
    const struct kube_writer_counts counts = counts_of(writer);
    status->enabled = board_may_write(writer->options.board);
    status->written += counts.written;
    status->retries += counts.retries;
    status->conflicts += counts.conflicts;
    status->refused += counts.refused;
    status->lost += counts.lost;
    status->found += counts.found;
    status->waiting += (uint32_t)counts.waiting;
    status->running += (uint32_t)counts.running;
    if (writer->writer)
        kube_writer_each(writer->writer, add_row, status);
}

void job_writer_free(struct job_writer *writer)
{
    if (!writer)
        return;
    kube_writer_free(writer->writer);
    free(writer);
}
