/* SPDX-License-Identifier: Apache-2.0 */
/* All jobs of the controller, as one. */
#pragma once

#include "base/cleanup.h"
#include "base/vec.h"
#include "controller/job.h"
#include "source/kube_resource.h"

struct jobs {
    VEC(struct job *) list;
};

/*
 * What the enabled jobs read from the API, each kind once; `rows` has room for KIND_COUNT. `table`
 * as for jobs_open().
 */
struct kube_resources jobs_resources(const struct controller_config *config,
                                     const struct job_ops *const *table,
                                     struct kube_resource *rows);

/* Opens the jobs that the configuration enables; `table` ends with NULL, and is NULL itself for the
 * program's own. Returns 0 or -errno after logging the reason. */
int jobs_open(const struct board *board, const struct job_ops *const *table,
              struct jobs **ret_jobs);
void jobs_close(struct jobs *jobs);
DEFINE_CLEANUP(struct jobs *, jobs_close);

/* Each returns 0, or the first -errno; all jobs are called in any case. */
int jobs_note(struct jobs *jobs, const struct change *change);
int jobs_work(struct jobs *jobs, const struct job_round *round);

void jobs_lead(struct jobs *jobs, bool leading);
bool jobs_ending(const struct jobs *jobs); /* true if any job is */
void jobs_publish(struct jobs *jobs, struct controller_status *status);
void jobs_lend(const struct jobs *jobs, struct controller_state *state);
int64_t jobs_next_ms(const struct jobs *jobs, int64_t now_ms);
