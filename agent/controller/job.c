// SPDX-License-Identifier: Apache-2.0
/*
 * The head of a job; see job.h. Called by jobs.c for each job of its table: the code that all jobs
 * share for their writers.
 */
#include "controller/job.h"

#include <errno.h>
#include <stdlib.h>

static int open_writers(struct job *job)
{
    const struct job_writer_row *row = job->ops->writers;
    for (size_t i = 0; row && row->make && i < JOB_WRITERS_MAX; i++, row++) {
        const struct job_writer_options options = {
            .board = job->board,
            .limits = row->limits,
            .make = row->make,
            .told = row->told,
            .context = job,
        };
        int r = job_writer_new(&options, &job->writers[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

int job_open(const struct job_ops *ops, const struct board *board, struct job **ret_job)
{
    CLEANUP(job_closep) struct job *job = calloc(1, ops->size);
    if (!job)
        return -ENOMEM;
    job->ops = ops;
    job->board = board;
    int r = ops->open(job);
    if (r < 0)
        return r;
    r = open_writers(job);
    if (r < 0)
        return r;
    *ret_job = TAKE_PTR(job);
    return 0;
}

void job_close(struct job *job)
{
    if (!job)
        return;
    for (size_t i = 0; i < JOB_WRITERS_MAX; i++)
        job_writer_free(job->writers[i]);
    job->ops->close(job);
    free(job);
}

void job_lead(struct job *job, bool leading)
{
    for (size_t i = 0; i < JOB_WRITERS_MAX && job->writers[i]; i++)
        job_writer_lead(job->writers[i], leading);
    if (job->ops->lead)
        job->ops->lead(job, leading);
}

void job_publish(struct job *job, struct job_status *status)
{
    *status = (struct job_status){ .name = job->ops->name };
    if (job->ops->publish)
        job->ops->publish(job, status);
    for (size_t i = 0; i < JOB_WRITERS_MAX && job->writers[i]; i++)
        job_writer_publish(job->writers[i], &status->writes);
}
