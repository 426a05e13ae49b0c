/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job is: one thing that is decided once per cluster, as a table of operations.
 *
 * A job knows from the store what is there, plans what ought to be (plan/), and has the difference
 * written by writers of its own (job_writer.h). jobs.c has the table of jobs, and calls them in its
 * order; the controller knows no job by name.
 *
 *   note      an object changed: the job marks what this touches as dirty. Called in every round,
 *             leading or not, so that a follower who becomes the leader knows where everything
 *             stands
 *   work      plans what is dirty, and has it written. Called only while this controller leads and
 *             every kind was read once; the first time after that, and every five minutes, over
 *             everything
 *   lead      leadership was gained or lost. When it is lost, nothing more is sent, and what was
 *             decided but not written is forgotten: another may decide otherwise
 *   publish   counts and writes, for who asks how the job is; faults it has told of when it worked
 *   lend      what it knows, for documents of its own; borrowed until it works again
 *
 * The head of a job, with its writers, is made, told of leadership, published and freed by jobs.c;
 * a job's own operations are about what it has beyond that. When leadership is lost its writers
 * have ended before it is told.
 *
 * What a job has written comes back by the store; what it needs to remember until then is its own
 * to keep. An operation that a job does not need is NULL. No operation blocks.
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
    bool all;       /* everything is looked at; else what is dirty */
};

struct job_ops {
    const char *name;       /* "blocks": part of the API, and the subsystem of its faults */
    const enum kind *kinds; /* what it reads, of resources.c; KIND_COUNT ends them */

    /* Whether the configuration asks for it; NULL: it does. */
    bool (*is_wanted)(const struct controller_config *config);
    size_t size; /* of its structure, which begins with struct job */
    /* Its writers, JOB_WRITERS_MAX at most; one without `make` ends them. Their context is the job.
     * NULL: it has none. */
    const struct job_writer_row *writers;

    /* What it has beyond its head, which is complete; the rest is zeroed. Returns 0 or -errno: it
     * is closed, and the controller does not start. */
    int (*open)(struct job *job);
    void (*close)(struct job *job);

    /* Both versions stay valid until work has returned. Returns 0 or -ENOMEM: a round over all
     * follows. */
    int (*note)(struct job *job, const struct change *change);
    /* Returns 0 or -errno: a round over all follows in a while. */
    int (*work)(struct job *job, const struct job_round *round);
    void (*lead)(struct job *job, bool leading);
    /* Whether it is giving back what it had while it led: the controller's end waits for that, for
     * a while. The board is woken when it is over. */
    bool (*ending)(const struct job *job);
    /* Fills in counts; `status` is zeroed but for its name. */
    void (*publish)(struct job *job, struct job_status *status);
    void (*lend)(const struct job *job, struct controller_state *state);

    /* When work is due though nothing changes (monotonic); INT64_MAX: never. */
    int64_t (*next_ms)(const struct job *job, int64_t now_ms);
};

/* A job's own structure begins with this. */
struct job {
    const struct job_ops *ops;
    const struct board *board;
    struct job_writer *writers[JOB_WRITERS_MAX]; /* in the order of the table; NULL beyond it */
};

/* Makes a job: its head, and then what it opens itself. Returns 0 or -errno. */
int job_open(const struct job_ops *ops, const struct board *board, struct job **ret_job);
void job_close(struct job *job); /* NULL: nothing */
DEFINE_CLEANUP(struct job *, job_close);

/* Leadership was gained or lost; who asks how it is. */
void job_lead(struct job *job, bool leading);
void job_publish(struct job *job, struct job_status *status);
