/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the job of addresses share; address_job.c has the whole of it. */
#pragma once

#include "base/sorted.h"
#include "controller/job.h"
#include "controller/job_writer.h"
#include "controller/pools/address_claims.h"
#include "controller/pools/address_job.h"
#include "controller/service_notes.h"
#include "pools/allocator.h"
#include "status/refusals.h"

/* A Service whose status is another than decided, by "namespace/name". */
struct behind {
    char *key;
    bool chosen;   /* the record has it, or is being given it */
    bool claimed;  /* these addresses stand in the record */
    ip_list claim; /* the addresses that were claimed, or are being */
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
    struct faults unreadable;      /* why the record says nothing */
    bool begun;                    /* the record was read and put into the allocator */
    bool conflicts_due;            /* a Node or a clusterIP in a pool came, went or changed */
    uint64_t surveyed;             /* edits of pools of which conflicts were told */
    bool freed;                    /* a status has given an address up since the last round */
    bool needs_claim;              /* some of `behind` are not claimed */
    uint64_t written;              /* version of the allocator in the record */
    uint64_t writing;
    uint64_t counted; /* of the allocator, in the status of pools */
    char seen[CLAIMS_SEEN_MAX];
    int64_t retry_ms; /* the Services are not known up to `seen` yet */
    int64_t doubt_ms; /* monotonic: then the record is read again; 0: no doubt */
};

/* ---- address_behind.c ---- */

void behind_init(struct sorted *table);
void behind_clear(struct sorted *table);
struct behind *behind_find(const struct sorted *table, const char *key);
int behind_add(struct sorted *table, const char *key);   /* 0 or -ENOMEM */
bool behind_drop(struct sorted *table, const char *key); /* whether it was chosen */

/* ---- address_contest.c ---- */

void contests_init(struct service_notes *notes);

/* These addresses are to be written to a Service; they have been. The latter returns whether
 * somebody writes over them again and again. Times are monotonic. */
void contests_see(struct service_notes *notes, const struct service *service, const ip_list *ips,
                  int64_t now_ms);
bool contests_note(struct service_notes *notes, const struct service *service, const ip_list *ips,
                   int64_t now_ms);

/* Tells of each Service of which that is so now; forgets those that are over. */
void address_contests_tell(struct address_job *job, int64_t now_ms);
/* When one of these may be over; INT64_MAX: there is none. */
int64_t contests_next_ms(const struct service_notes *notes);

/* ---- address_lingers.c ---- */

void lingers_init(struct service_notes *notes);
/* A Service has changed. Returns 0 or -ENOMEM. */
int lingers_note(struct service_notes *notes, const struct change *change);
/* Tells of each that was deleted a while ago, and is still there with its addresses. */
void address_lingers_tell(struct address_job *job, int64_t now_ms);
/* When the next one is to be told, monotonic; INT64_MAX: there is none. */
int64_t lingers_next_ms(const struct service_notes *notes, int64_t now_ms);

/* ---- address_loss.c ---- */

void losses_init(struct service_notes *notes);
/* It was decided of a Service whose status says something else: logs what it may not keep, and why,
 * and has an Event written. */
void address_loss_note(struct address_job *job, const struct assignment *row,
                       const struct service *service);
/* The status of a Service is as it was decided; `gone`: the Service is not there any more. */
void losses_settle(struct service_notes *notes, const struct object *object, bool gone);
/* The writer of these Events; as in struct kube_writer_options. */
int address_loss_make(void *context, const char *key, struct kube_write *write, struct text *body);
bool address_loss_told(void *context, const char *key, const struct kube_told *told);

/* ---- address_conflicts.c ---- */

/* An object has changed; tells what is in conflict now, if that may be something else. */
void address_conflicts_note(struct address_job *job, const struct change *change);
void address_conflicts_tell(struct address_job *job);

/* ---- address_tell.c ---- */

/* Whether a controller of MetalLB is alive, which gives addresses to the same Services. */
bool address_has_rival(const struct address_job *job);
/* Tells what is wrong with the pools, and who gets no address. */
void address_tell(const struct address_job *job, bool rival);

/* ---- address_write.c ---- */

/* "namespace/name", which the caller frees; the object of it, or NULL. */
char *address_key(const struct object *object);
const struct object *address_object(const struct address_job *job, enum kind kind, const char *key);

/* Whether the Service's status has the address. */
bool address_is_told(const struct service *service, const struct ip *ip);

/* The job's writers: the status of Services, that of pools, Events of two kinds. */
extern const struct job_writer_row address_writers[];

/* Nothing is to be written to the object any more: a refusal of it is no fault. */
void address_forget_refusal(struct address_job *job, const struct object *object);

void counts_init(struct service_notes *notes);
/* Has the status of each pool written whose counts are others. 0 or -errno. */
int address_count_pools(struct address_job *job);
