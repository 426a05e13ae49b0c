/* SPDX-License-Identifier: Apache-2.0 */
/* The job of blocks as its two files share it: blocks_job.c and blocks_write.c. */
#pragma once

#include "controller/job.h"
#include "controller/job_writer.h"
#include "plan/pods/request_waits.h"

struct blocks_job {
    struct job job; /* with one writer */
    struct block_table table;
    struct request_waits waits;
    int64_t lone_ms;    /* when a block whose Node is not known may be garbage; INT64_MAX: never */
    int64_t lost_ms;    /* when a lost block may be given to others; INT64_MAX: there is none */
    int64_t held_ms;    /* when what is deleted and kept is looked at; INT64_MAX: at a change */
    char *refused;      /* the key of what the API has refused last; NULL: nothing is */
    bool refused_alone; /* what it answers about others says nothing of that one */
    bool pools_changed; /* or Nodes, since their conflicts were told */
    uint64_t given, exhausted, collected; /* since the start */
};

/* Has what an object may want written soon. Returns as job_writer_add(). */
int blocks_add(struct blocks_job *job, const struct object *object);

/* What is refused is told no longer: whatever it was, nobody wants it written any more, or all is
 * to be `forgotten`. */
void blocks_end_refusal(struct blocks_job *job, bool forgotten);

/* The writer's operations; `context` is the job. */
int blocks_make(void *context, const char *key, struct kube_write *write, struct text *body);
bool blocks_told(void *context, const char *key, const struct kube_told *told);
