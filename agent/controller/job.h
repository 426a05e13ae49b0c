/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job: one subject that is decided once per cluster, as a table of operations.
 *
 * A job reads the current state from the store, plans the desired state (plan/), and has the
 * difference written by its writers (job_writer.h). jobs.c has the table of jobs, and calls them in
 * its order; the controller does not know any job by name.
 *
 *   note      an object changed: the job marks what is affected as dirty. Called in every round,
 *             leading or not, so that a follower that becomes the leader has the current state
 *   work      plans what is dirty, and has it written. Called only while this controller leads and
 *             every kind was read once; the first time after that, and every five minutes, over
 *             everything
 *   lead      leadership was gained or lost. When it is lost, nothing more is sent, and what was
 *             decided but not written is forgotten: the new leader may decide otherwise
 *   publish   counts and writes, for the job's status; it has reported its faults when it worked
 *   lend      its state, for documents of its own; borrowed until it works again
 *
 * jobs.c makes the head of a job with its writers, passes leadership to it, publishes and frees it;
 * a job's own operations are about what it has beyond that. When leadership is lost its writers
 * have ended before `lead` is called.
 *
 * What a job has written arrives again by the store; what it needs to remember until then it stores
 * itself. An operation that a job does not need is NULL. No operation blocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/job_writer.h"

enum { JOB_WRITERS_MAX = 4 };

struct job;
struct controller_state; /* api/view_controller.h */

struct job_round {
    int64_t now_ms; /* monotonic */
    bool all;       /* everything is checked; otherwise what is dirty */
};

struct job_ops {
    const char *name;       /* "blocks": part of the API, and the subsystem of its faults */
    const enum kind *kinds; /* the kinds that it reads, of resources.c; ends with KIND_COUNT */

    /* Whether the configuration enables it; NULL: always. */
    bool (*is_wanted)(const struct controller_config *config);
    size_t size; /* of its structure, whose first member is struct job */
    /* Its writers, JOB_WRITERS_MAX at most; ended by one without `make`. Their context is the job.
     * NULL: it has none. */
    const struct job_writer_row *writers;

    /* Opens what it has beyond its head, which is complete; the rest is zeroed. Returns 0 or
     * -errno: it is closed, and the controller does not start. */
    int (*open)(struct job *job);
    void (*close)(struct job *job);

    /* Both versions stay valid until `work` has returned. Returns 0 or -ENOMEM: a round over
     * everything follows. */
    int (*note)(struct job *job, const struct change *change);
    /* Returns 0 or -errno: a round over everything follows later. */
    int (*work)(struct job *job, const struct job_round *round);
    void (*lead)(struct job *job, bool leading);
    /* Whether it is releasing what it held while it led: the controller's exit waits for that, for
     * a while. The board is woken when it is over. */
    bool (*ending)(const struct job *job);
    /* Fills in counts; `status` is zeroed except for its name. */
    void (*publish)(struct job *job, struct job_status *status);
    void (*lend)(const struct job *job, struct controller_state *state);

    /* When work is due without a change (monotonic); INT64_MAX: never. */
    int64_t (*next_ms)(const struct job *job, int64_t now_ms);
};

/* The first member of a job's own structure. */
struct job {
    const struct job_ops *ops;
    const struct board *board;
    struct job_writer *writers[JOB_WRITERS_MAX]; /* in the order of the table; NULL beyond it */
};

/* Makes a job: first its head, then what it opens itself. Returns 0 or -errno. */
int job_open(const struct job_ops *ops, const struct board *board, struct job **ret_job);
void job_close(struct job *job); /* NULL: does nothing */
DEFINE_CLEANUP(struct job *, job_close);

/* Leadership was gained or lost; the job's status. */
void job_lead(struct job *job, bool leading);
void job_publish(struct job *job, struct job_status *status);
