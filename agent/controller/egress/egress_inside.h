/* SPDX-License-Identifier: Apache-2.0 */
/* The job of egress as its files share it: egress_job.c, egress_write.c,
 * egress_old_binding.c and egress_events.c. */
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
    char uid[OBJECT_UID_MAX + 1]; /* of what is to be deleted; "": it was not read */
    char version[32];
};

struct egress_job {
    struct job job;
    struct sorted marks; /* egress_marks.h */
    struct refusals refusals;
    struct old_binding old;
    int64_t held_ms; /* when what is deleted and kept is looked at; INT64_MAX: at a change */
    uint64_t applied, deleted; /* since the start */
};

/* "Deployment/net/nat", which the caller frees; NULL: no memory. */
char *egress_key(enum kind kind, const char *namespace, const char *name);

/* What has the name of a key; NULL: nothing. */
const struct object *egress_object(const struct egress_job *job, const char *key);

/* Has an object looked at soon. Returns as job_writer_add(). */
int egress_add(struct egress_job *job, enum kind kind, const char *namespace, const char *name);

/* The parts of a key, whose strings are in `buffer`: an object of a kind that is written. Returns
 * false for any other. */
bool egress_split(const char *key, char buffer[static EGRESS_KEY_MAX],
                  struct workload_key *ret_key);

/* "Deployment net/nat", as faults have it, which the caller frees; NULL: no memory. */
char *egress_place(const struct workload_key *key);

/* What keeps an object from being as it should be is a fault, and an Event of its Egress; NULL:
 * nothing does. */
void egress_note(struct egress_job *job, const struct workload_key *key, const char *message,
                 const char *remedy);
void egress_tell_refusal(struct egress_job *job, const struct workload_key *key,
                         const struct kube_result *result);

/* A member of an object's metadata; "" where it has none. */
void egress_take(const struct doc *metadata, const char *member, char *buffer, size_t size);

/* The binding of older controllers: nothing is known of it; it is looked for, and deleted as soon
 * as it is replaced. The second returns as job_writer_add(). */
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
