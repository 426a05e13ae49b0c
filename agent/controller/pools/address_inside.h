/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the job of addresses share; address_job.c has an overview. */
#pragma once

#include "base/sorted.h"
#include "controller/job.h"
#include "controller/job_writer.h"
#include "controller/pools/address_claims.h"
#include "controller/pools/address_job.h"
#include "controller/service_notes.h"
#include "pools/allocator.h"
#include "status/refusals.h"

/* A Service whose status differs from the decision, by "namespace/name". */
struct behind {
    char *key;
    bool chosen;   /* the record has its claim, or it is being written */
    bool claimed;  /* these addresses are in the stored record */
    ip_list claim; /* the addresses that are claimed, or being claimed */
};

/* The writers of the job. */
enum { ADDRESS_SERVICES, ADDRESS_POOLS, ADDRESS_EVENTS, ADDRESS_LOSSES };

struct address_job {
    struct job job;
    struct pool_allocator allocator;
    struct address_claims *claims;
    struct refusals refusals;      /* of Services and pools */
    struct sorted behind;          /* struct behind * */
    size_t chosen;                 /* of `behind` */
    struct service_notes contests; /* of address_contest.c */
    struct service_notes lingers;  /* of address_lingers.c */
    struct service_notes losses;   /* of address_loss.c */
    struct service_notes counts;   /* of pools: what address_write.c has written last */
    struct faults unreadable;      /* why the record can't be read */
    bool begun;                    /* the record was read and passed to the allocator */
    bool conflicts_due; /* a Node, or a clusterIP in a pool, was added, removed or changed */
    uint64_t surveyed;  /* number of pool edits whose conflicts were reported */
    bool freed;         /* a status has released an address since the last round */
    bool needs_claim;   /* some of `behind` are not claimed */
    uint64_t written;   /* version of the allocator in the record */
    uint64_t writing;
    uint64_t counted; /* of the allocator, in the status of pools */
    char seen[CLAIMS_SEEN_MAX];
    int64_t retry_ms; /* when to retry: the Services are not known up to `seen` yet */
    int64_t doubt_ms; /* monotonic: when the record is read again; 0: there is no doubt */
};

/* ---- address_behind.c ---- */

void behind_init(struct sorted *table);
void behind_clear(struct sorted *table);
struct behind *behind_find(const struct sorted *table, const char *key);
int behind_add(struct sorted *table, const char *key);   /* 0 or -ENOMEM */
bool behind_drop(struct sorted *table, const char *key); /* whether it was chosen */

/* ---- address_contest.c ---- */

void contests_init(struct service_notes *notes);

/* The first: these addresses are about to be written to a Service. The second: they were written;
 * returns whether another program overwrites them repeatedly. Times are monotonic. */
void contests_see(struct service_notes *notes, const struct service *service, const ip_list *ips,
                  int64_t now_ms);
bool contests_note(struct service_notes *notes, const struct service *service, const ip_list *ips,
                   int64_t now_ms);

/* Reports each Service for which that is so; drops those for which it is over. */
void address_contests_tell(struct address_job *job, int64_t now_ms);
/* When the next of these may be over; INT64_MAX: there is none. */
int64_t contests_next_ms(const struct service_notes *notes);

/* ---- address_lingers.c ---- */

void lingers_init(struct service_notes *notes);
/* A Service has changed. Returns 0 or -ENOMEM. */
int lingers_note(struct service_notes *notes, const struct change *change);
/* Reports each Service that was deleted a while ago and still exists with its addresses. */
void address_lingers_tell(struct address_job *job, int64_t now_ms);
/* When the next one is to be reported, monotonic; INT64_MAX: there is none. */
int64_t lingers_next_ms(const struct service_notes *notes, int64_t now_ms);

/* ---- address_loss.c ---- */

void losses_init(struct service_notes *notes);
/* A decision differs from a Service's status: logs which addresses it may not keep, and why, and
 * has an Event written. */
void address_loss_note(struct address_job *job, const struct assignment *row,
                       const struct service *service);
/* The status of a Service matches the decision; `gone`: the Service was deleted. */
void losses_settle(struct service_notes *notes, const struct object *object, bool gone);
/* The writer of these Events; as in struct kube_writer_options. */
int address_loss_make(void *context, const char *key, struct kube_write *write, struct text *body);
bool address_loss_told(void *context, const char *key, const struct kube_told *told);

/* ---- address_conflicts.c ---- */

/* An object has changed; reports the current conflicts, if they may have changed. */
void address_conflicts_note(struct address_job *job, const struct change *change);
void address_conflicts_tell(struct address_job *job);

/* ---- address_tell.c ---- */

/* Whether a controller of MetalLB is running, which allocates addresses to the same Services. */
bool address_has_rival(const struct address_job *job);
/* Reports problems of pools, and Services without an address. */
void address_tell(const struct address_job *job, bool rival);

/* ---- address_write.c ---- */

/* "namespace/name", which the caller frees; the object of a key, or NULL. */
char *address_key(const struct object *object);
const struct object *address_object(const struct address_job *job, enum kind kind, const char *key);

/* Whether the Service's status has the address. */
bool address_is_told(const struct service *service, const struct ip *ip);

/* The job's writers: the status of Services, that of pools, Events of two kinds. */
extern const struct job_writer_row address_writers[];

/* There is nothing to write to the object any more: a refusal ends. */
void address_forget_refusal(struct address_job *job, const struct object *object);

void counts_init(struct service_notes *notes);
/* Has the status of each pool written whose counts have changed. 0 or -errno. */
int address_count_pools(struct address_job *job);
