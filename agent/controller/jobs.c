// SPDX-License-Identifier: Apache-2.0
/*
 * The table of jobs, and operations over all of them. A new job is added here, and the kinds that
 * it reads in resources.c; nowhere else.
 *
 * Jobs do not depend on each other: a failing job does not stop the others.
 */
#include "controller/jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "controller/egress/egress_job.h"
#include "controller/export/export_job.h"
#include "controller/pods/blocks_job.h"
#include "controller/pools/address_job.h"
#include "controller/resources.h"

static const struct job_ops *const own_table[] = {
    &blocks_job_ops, &address_job_ops, &egress_job_ops, &export_job_ops, NULL,
};
_Static_assert(ARRAY_SIZE(own_table) <= JOBS_MAX + 1, "status has a row for each job");

static bool is_wanted(const struct job_ops *ops, const struct controller_config *config)
{
    return !ops->is_wanted || ops->is_wanted(config);
}

struct kube_resources jobs_resources(const struct controller_config *config,
                                     const struct job_ops *const *table, struct kube_resource *rows)
{
    struct kube_resources resources = { .rows = rows };
    bool taken[KIND_COUNT] = { false };
    for (const struct job_ops *const *ops = table ? table : own_table; *ops; ops++) {
        if (!is_wanted(*ops, config))
            continue;
        for (const enum kind *kind = (*ops)->kinds; *kind != KIND_COUNT; kind++) {
            if (taken[*kind])
                continue;
            taken[*kind] = true;
            rows[resources.count++] = controller_resource(*kind);
        }
    }
    return resources;
}

int jobs_open(const struct board *board, const struct job_ops *const *table, struct jobs **ret_jobs)
{
    CLEANUP(jobs_closep) struct jobs *jobs = calloc(1, sizeof(*jobs));
    if (!jobs)
        return -ENOMEM;
    for (const struct job_ops *const *ops = table ? table : own_table; *ops; ops++) {
        if (!is_wanted(*ops, board->config))
            continue;
        int r = vec_reserve(&jobs->list, 1);
        r = r < 0 ? r : job_open(*ops, board, &jobs->list.items[jobs->list.count]);
        if (r < 0) {
            log_error("job %s cannot be opened: %s", (*ops)->name, strerror(-r));
            return r;
        }
        jobs->list.count++;
    }
    *ret_jobs = TAKE_PTR(jobs);
    return 0;
}

void jobs_close(struct jobs *jobs)
{
    if (!jobs)
        return;
    for (size_t i = jobs->list.count; i-- > 0;)
        job_close(jobs->list.items[i]);
    vec_done(&jobs->list);
    free(jobs);
}

int jobs_note(struct jobs *jobs, const struct change *change)
{
    int error = 0;
    vec_each(struct job *, job, &jobs->list) {
        int r = (*job)->ops->note ? (*job)->ops->note(*job, change) : 0;
        if (r < 0 && error == 0)
            error = r;
    }
    return error;
}

int jobs_work(struct jobs *jobs, const struct job_round *round)
{
    int error = 0;
    vec_each(struct job *, job, &jobs->list) {
        int r = (*job)->ops->work ? (*job)->ops->work(*job, round) : 0;
        if (r == 0)
            continue;
        log_error("job %s: %s; it is tried again", (*job)->ops->name, strerror(-r));
        if (error == 0)
            error = r;
    }
    return error;
}

void jobs_lead(struct jobs *jobs, bool leading)
{
    vec_each(struct job *, job, &jobs->list)
        job_lead(*job, leading);
}

bool jobs_ending(const struct jobs *jobs)
{
    vec_each(struct job *const, job, &jobs->list) {
        if ((*job)->ops->ending && (*job)->ops->ending(*job))
            return true;
    }
    return false;
}

void jobs_publish(struct jobs *jobs, struct controller_status *status)
{
    status->job_count = jobs->list.count;
    for (size_t i = 0; i < jobs->list.count; i++)
        job_publish(jobs->list.items[i], &status->jobs[i]);
}

void jobs_lend(const struct jobs *jobs, struct controller_state *state)
{
    vec_each(struct job *const, job, &jobs->list) {
        if ((*job)->ops->lend)
            (*job)->ops->lend(*job, state);
    }
}

int64_t jobs_next_ms(const struct jobs *jobs, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;
    vec_each(struct job *, job, &jobs->list) {
        if ((*job)->ops->next_ms)
            next_ms = MIN(next_ms, (*job)->ops->next_ms(*job, now_ms));
    }
    return next_ms;
}
