/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer (client/kube/kube_writer.h) that writes only while this controller leads. A job has one,
 * or several where writes must not wait for each other.
 *
 * When leadership is lost, the queue and all its keys are dropped, and requests under way are
 * abandoned. The next leader, which may be this one, plans anew.
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
    /* As in struct kube_writer_options. `make` is not called while the controller may not write. */
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
 * Whether the API repeatedly reports an object as missing that the source has, when its status is
 * written: then its definition has no status subresource. An object that is being deleted is
 * reported as missing as well, but the source reports the deletion soon. `object` NULL: the source
 * does not have it.
 */
bool job_lacks_status(const struct kube_told *told, const struct object *object);
/* The remedy for that. */
extern const char job_lacks_status_remedy[];

/* The error of a write, for a fault; `why` is borrowed from the outcome, or static. */
struct job_write_fault {
    const char *why, *remedy;
};

/*
 * Whether the outcome of a write about an object is to be reported: at once if it is refused; after
 * some two seconds if the API repeatedly gives another error; also if the API reports it as done
 * and a check does not confirm it. An API that does not answer is reported by the source. `object`
 * as above. `known`: it was reported before, and a try that only follows a lost one does not change
 * that.
 */
bool job_write_fails(const struct kube_told *told, const struct object *object, bool known,
                     struct job_write_fault *ret_fault);

/* Notes that error under a place, as "WHAT: why", or ends what was noted when the write is done. */
void job_write_note(struct refusals *refusals, const char *place, const char *what,
                    const struct kube_told *told, const struct object *object);

/* Leadership was gained or lost. */
void job_writer_lead(struct job_writer *writer, bool leading);

/*
 * Has a key written soon, as kube_writer_add(). Returns 0, also while nothing may be written: then
 * the key is dropped; -ENOBUFS; -ENOMEM.
 */
int job_writer_add(struct job_writer *writer, const char *key);

/* Adds counts and rows of this writer to the existing ones; sets `enabled` while it leads. */
void job_writer_publish(const struct job_writer *writer, struct write_status *status);
