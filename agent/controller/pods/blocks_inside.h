/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the blocks job share: blocks_job.c and blocks_write.c. */
#pragma once

#include "controller/job.h"
#include "controller/job_writer.h"
#include "plan/pods/request_waits.h"

struct blocks_job {
    struct job job; /* with one writer */
    struct block_table table;
    struct request_waits waits;
    int64_t lone_ms;    /* when a block without a known Node may be garbage; INT64_MAX: never */
    int64_t lost_ms;    /* when a lost block may be allocated again; INT64_MAX: there is none */
    int64_t held_ms;    /* when objects that are being deleted and held by a finalizer are checked;
                           INT64_MAX: at a change */
    char *refused;      /* the key of the last refused write; NULL: there is none */
    bool refused_alone; /* answers about other keys do not end that refusal */
    bool pools_changed; /* or Nodes, since their conflicts were reported */
    uint64_t given, exhausted, collected; /* since the start */
};

/* Has an object written soon, if needed. Returns as job_writer_add(). */
int blocks_add(struct blocks_job *job, const struct object *object);

/*
 * Ends the reported refusal: the write is not wanted any more, or everything is to be `forgotten`.
 */
void blocks_end_refusal(struct blocks_job *job, bool forgotten);

/* The writer's operations; `context` is the job. */
int blocks_make(void *context, const char *key, struct kube_write *write, struct text *body);
bool blocks_told(void *context, const char *key, const struct kube_told *told);
