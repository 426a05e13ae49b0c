/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the egress job share: egress_job.c, egress_write.c, egress_old_binding.c and
 * egress_events.c. */
#pragma once

#include "base/sorted.h"
#include "controller/job.h"
#include "controller/job_writer.h"
#include "plan/egress/workload.h"
#include "status/refusals.h"

enum { EGRESS_KEY_MAX = 512 };

/* Its writers. */
enum { EGRESS_OBJECTS, EGRESS_EVENTS, EGRESS_OLD_BINDING };

/* egress_old_binding.c */
struct old_binding {
    bool gone;                    /* or not ours: nothing to do while this controller leads */
    char uid[OBJECT_UID_MAX + 1]; /* of the binding to be deleted; "": it was not read */
    char version[32];
};

struct egress_job {
    struct job job;
    struct sorted marks; /* egress_marks.h */
    struct refusals refusals;
    struct old_binding old;
    int64_t held_ms; /* when objects that are being deleted and held by a finalizer are checked;
                        INT64_MAX: at a change */
    uint64_t applied, deleted; /* since the start */
};

/* "Deployment/net/nat", which the caller frees; NULL: no memory. */
char *egress_key(enum kind kind, const char *namespace, const char *name);

/* The object of a key; NULL: there is none. */
const struct object *egress_object(const struct egress_job *job, const char *key);

/* Has an object checked soon. Returns as job_writer_add(). */
int egress_add(struct egress_job *job, enum kind kind, const char *namespace, const char *name);

/* Splits a key into its parts, whose strings are in `buffer`: an object of a kind that is written.
 * Returns false for any other. */
bool egress_split(const char *key, char buffer[static EGRESS_KEY_MAX],
                  struct workload_key *ret_key);

/* "Deployment net/nat", as shown in faults; the caller frees it. NULL: no memory. */
char *egress_place(const struct workload_key *key);

/* Records why an object is not as wanted, as a fault and an Event of its Egress; NULL: there is no
 * problem. */
void egress_note(struct egress_job *job, const struct workload_key *key, const char *message,
                 const char *remedy);
void egress_tell_refusal(struct egress_job *job, const struct workload_key *key,
                         const struct kube_result *result);

/* A member of an object's metadata; "" where it has none. */
void egress_take(const struct doc *metadata, const char *member, char *buffer, size_t size);

/* The binding of older controllers. The first forgets its state; the second reads it and deletes it
 * as soon as it is replaced, and returns as job_writer_add(). */
void egress_old_binding_reset(struct egress_job *job);
int egress_old_binding_look(struct egress_job *job);

/* The writers' operations; `context` is the job. */
int egress_make(void *context, const char *key, struct kube_write *write, struct text *body);
bool egress_told(void *context, const char *key, const struct kube_told *told);
int egress_event_make(void *context, const char *key, struct kube_write *write, struct text *body);
bool egress_event_told(void *context, const char *key, const struct kube_told *told);
int egress_old_binding_make(void *context, const char *key, struct kube_write *write,
                            struct text *body);
bool egress_old_binding_told(void *context, const char *key, const struct kube_told *told);
