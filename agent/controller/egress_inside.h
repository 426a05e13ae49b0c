/* SPDX-License-Identifier: Apache-2.0 */
/* The job of egress as its files share it: egress_job.c, egress_write.c and egress_events.c. */
#pragma once

#include "base/sorted.h"
#include "controller/job.h"
#include "controller/job_writer.h"
#include "plan/workload.h"
#include "status/refusals.h"

enum { EGRESS_KEY_MAX = 512 };

/* Its writers. */
enum { EGRESS_OBJECTS, EGRESS_EVENTS };

struct egress_job {
    struct job job;
    struct sorted marks; /* egress_marks.h */
    struct refusals refusals;
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

/* The writers' operations; `context` is the job. */
int egress_make(void *context, const char *key, struct kube_write *write, struct text *body);
bool egress_told(void *context, const char *key, const struct kube_told *told);
int egress_event_make(void *context, const char *key, struct kube_write *write, struct text *body);
bool egress_event_told(void *context, const char *key, const struct kube_told *told);
