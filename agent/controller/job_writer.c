// SPDX-License-Identifier: Apache-2.0
/*
 * The writer of a job; see job_writer.h. Made by job.c for each row of a job's table, and by who
 * helps a job with writes of its own (export_events.c). The queue is made when the first key comes,
 * and ends with leadership; its counts are kept.
 */
#include "controller/job_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

enum { DENIALS_MEANT = 6 }; /* some 300 ms, in which the source tells of an object's end */

const char job_lacks_status_remedy[] =
    "apply deploy/kubernetes/crds.yaml and crds-metallb.yaml: the definition in force is older";

bool job_lacks_status(const struct kube_told *told, const struct object *object)
{
    return told->result.outcome == KUBE_MISSING && object && told->tries >= DENIALS_MEANT;
}

struct job_writer {
    struct job_writer_options options;
    struct kube_writer *writer;     /* NULL: nothing was added since it leads, or it does not */
    struct kube_writer_counts past; /* of writers that have ended */
};

/* The last look before something is sent: a process that was stopped may be behind its time. */
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
