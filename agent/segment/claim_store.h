/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where claims are kept: a store of small records that every node sees, in which a write names the
 * version that it changes. Leases of the Kubernetes API are one (lease_store.h); whatever else
 * stands in for it has the same few operations.
 *
 * One request per key is under way at a time. Its answer is told once, from the loop, never from
 * within the call that asked; a request that is cancelled is told nothing, and may be done all the
 * same. Nothing is repeated here: plan/claims/lease_state.h decides what is asked next.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/lease.h"

enum claim_outcome {
    CLAIM_DONE,
    CLAIM_ABSENT,   /* of a reading or a removal: there is no such record */
    CLAIM_CONFLICT, /* the record is another than was assumed: nothing was written */
    CLAIM_FAILED,   /* refused, not reached, or nobody knows whether it was done */
};

/* All borrowed during the call. */
struct claim_answer {
    enum claim_outcome outcome;
    const struct lease_record *record; /* CLAIM_DONE of a reading: what there is; else NULL */
    const char *version;               /* CLAIM_DONE: what the store has now; else "" */
    /* CLAIM_ABSENT: since when every record was seen to come and go without a gap (lease.h);
     * CLOCK_BOOTTIME; INT64_MAX: nobody watches. */
    int64_t since_ms;
    const char *why, *remedy; /* CLAIM_FAILED: in words; `remedy` is static, or NULL */
    bool refused;             /* CLAIM_FAILED: the store says no, and nothing was done */
    int64_t retry_after_ms;   /* then: as it asks for; 0: it does not */
};

typedef void (*claim_told)(void *context, const struct claim_answer *answer);

/* What is asked; all but `context` is copied. */
struct claim_ask {
    const char *key;                    /* the name of the record: a DNS name in lower case */
    const struct lease_record *desired; /* of a write */
    /* Of an update or a release: what is written over. The version alone does not tell where the
     * store was restored from a backup, and gives its number to another write. */
    const struct lease_record *over;
    const char *version; /* of that, or of what is removed */
    int64_t limit_ms;    /* for the answer */
    claim_told told;
    void *context;
};

/* What a watch tells, from the loop. */
struct claim_listener {
    /* A record is so now; NULL: there is none (any more). */
    void (*heard)(void *context, const char *key, const struct lease_record *record,
                  const char *version);
    /* The watch stands, or (`why`) it does not for now; `remedy` is static, or NULL. */
    void (*watching)(void *context, const char *why, const char *remedy);
    void *context;
};

/* A request that is under way: the store's own. */
struct claim_request;

struct claim_store_ops {
    const char *name; /* "Lease": what a record is called before its key */

    /*
     * These return 0 and a request, which is gone when its answer is told; or -errno, then nothing
     * is told. A release writes a desired that names nobody; a removal deletes the record, if it is
     * at that version.
     */
    int (*read)(void *store, const struct claim_ask *ask, struct claim_request **ret_request);
    int (*create)(void *store, const struct claim_ask *ask, struct claim_request **ret_request);
    int (*update)(void *store, const struct claim_ask *ask, struct claim_request **ret_request);
    int (*release)(void *store, const struct claim_ask *ask, struct claim_request **ret_request);
    int (*remove)(void *store, const struct claim_ask *ask, struct claim_request **ret_request);
    void (*cancel)(struct claim_request *request);

    /* Tells of all records, then of each change, for ever; once. Returns 0 or -errno. */
    int (*watch)(void *store, const struct claim_listener *listener);

    void (*free)(void *store); /* when no request is left */
};

struct claim_store {
    const struct claim_store_ops *ops;
    void *data;
};
