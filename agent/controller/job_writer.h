/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer (client/kube/kube_writer.h) that writes only while this controller leads. A job has one,
 * or several where writes shall not wait for each other.
 *
 * When leadership is lost, the queue with all that waits in it is gone, and what is under way is
 * left to itself. The next leader, be it this one again, plans anew.
 */
#pragma once

#include "client/kube/kube_writer.h"
#include "controller/board.h"
#include "model/object.h"
#include "status/refusals.h"

struct job_writer;

struct job_writer_options {
    const struct board *board;
    const struct kube_writer_limits *limits; /* NULL: kube_writer_limits_default */
    /* As those of struct kube_writer_options. `make` is not asked while it may not write. */
    int (*make)(void *context, const char *key, struct kube_write *write, struct text *body);
    bool (*told)(void *context, const char *key, const struct kube_told *told);
    void *context;
};

/* Returns 0 or -ENOMEM. The board is borrowed. */
int job_writer_new(const struct job_writer_options *options, struct job_writer **ret_writer);
void job_writer_free(struct job_writer *writer);
DEFINE_CLEANUP(struct job_writer *, job_writer_free);

/* A writer in the table of a job (job.h); `limits` NULL: kube_writer_limits_default. */
struct job_writer_row {
    const struct kube_writer_limits *limits;
    int (*make)(void *context, const char *key, struct kube_write *write, struct text *body);
    bool (*told)(void *context, const char *key, const struct kube_told *told);
};

/*
 * Whether the API goes on denying an object that the source has, when its status is written: then
 * its definition has no status. An object that is about to go is denied as well, but the source
 * tells of that soon. `object` NULL: the source does not have it.
 */
bool job_lacks_status(const struct kube_told *told, const struct object *object);
/* What is to be done about that. */
extern const char job_lacks_status_remedy[];

/* What is wrong with a write, for a fault; `why` is borrowed from what was told, or static. */
struct job_write_fault {
    const char *why, *remedy;
};

/*
 * Whether what became of a write about an object is to be told: at once where it is refused; after
 * some two seconds where the API goes on answering otherwise; where it says that it is done, and a
 * look finds that it is not. That nobody answers the source tells. `object` as above. `known`: it
 * was told before, and a try that only follows a lost one does not change that.
 */
bool job_write_fails(const struct kube_told *told, const struct object *object, bool known,
                     struct job_write_fault *ret_fault);

/* Notes that under a place, as "WHAT: why", or ends what was noted where it is done. */
void job_write_note(struct refusals *refusals, const char *place, const char *what,
                    const struct kube_told *told, const struct object *object);

/* Leadership was gained or lost. */
void job_writer_lead(struct job_writer *writer, bool leading);

/*
 * Has a key written soon, as kube_writer_add(). Returns 0, also while nothing may be written: then
 * the key is forgotten; -ENOBUFS; -ENOMEM.
 */
int job_writer_add(struct job_writer *writer, const char *key);

/* Adds counts and rows of this writer to those that are there; sets `enabled` while it leads. */
void job_writer_publish(const struct job_writer *writer, struct write_status *status);
