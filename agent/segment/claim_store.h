/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a store of claims: small records that every node sees, in which a write names
 * the version that it changes. Leases of the Kubernetes API are one store (lease_store.h); any
 * other store has the same few operations.
 *
 * One request per key is under way at a time. Its answer is reported once, from the loop, never
 * from within the call that made the request; a cancelled request reports no answer, and may be
 * executed all the same. The store does not retry: plan/claims/lease_state.h decides on the next
 * request.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/lease.h"

enum claim_outcome {
    CLAIM_DONE,
    CLAIM_ABSENT,   /* of a read or a removal: there is no such record */
    CLAIM_CONFLICT, /* the record has changed: nothing was written */
    CLAIM_FAILED,   /* refused, not reached, or with an unknown outcome */
};

/* All borrowed during the call. */
struct claim_answer {
    enum claim_outcome outcome;
    const struct lease_record *record; /* CLAIM_DONE of a read: the record; otherwise NULL */
    const char *version;               /* CLAIM_DONE: the version in the store; otherwise "" */
    /* CLAIM_ABSENT: since when all records have been watched without a gap (lease.h);
     * CLOCK_BOOTTIME; INT64_MAX: they are not watched. */
    int64_t since_ms;
    const char *why, *remedy; /* CLAIM_FAILED: for people; `remedy` is static, or NULL */
    bool refused;           /* CLAIM_FAILED: the store refused the request, and nothing was done */
    int64_t retry_after_ms; /* then: the delay that the store asks for; 0: none */
};

typedef void (*claim_told)(void *context, const struct claim_answer *answer);

/* A request; all but `context` is copied. */
struct claim_ask {
    const char *key;                    /* the name of the record: a DNS name in lower case */
    const struct lease_record *desired; /* of a write */
    /* Of an update or a release: the record that is overwritten. The version alone is not enough: a
     * store that was restored from a backup may assign the same version to another write. */
    const struct lease_record *over;
    const char *version; /* of that record, or of the one that is removed */
    int64_t limit_ms;    /* for the answer */
    claim_told told;
    void *context;
};

/* Callbacks of a watch, from the loop. */
struct claim_listener {
    /* The current record; NULL: there is none (any more). */
    void (*heard)(void *context, const char *key, const struct lease_record *record,
                  const char *version);
    /* The watch is established, or (`why`) it is interrupted; `remedy` is static, or NULL. */
    void (*watching)(void *context, const char *why, const char *remedy);
    void *context;
};

/* A request that is under way; owned by the store. */
struct claim_request;

struct claim_store_ops {
    const char *name; /* "Lease": the kind of a record, shown before its key */

    /*
     * These return 0 and a request, which is freed when its answer is reported; or -errno, then no
     * answer is reported. A release writes a `desired` without a holder; a removal deletes the
     * record, if it is at that version.
     */
    int (*read)(void *store, const struct claim_ask *ask, struct claim_request **ret_request);
    int (*create)(void *store, const struct claim_ask *ask, struct claim_request **ret_request);
    int (*update)(void *store, const struct claim_ask *ask, struct claim_request **ret_request);
    int (*release)(void *store, const struct claim_ask *ask, struct claim_request **ret_request);
    int (*remove)(void *store, const struct claim_ask *ask, struct claim_request **ret_request);
    void (*cancel)(struct claim_request *request);

    /* Reports all records, then each change, without end; called once. Returns 0 or -errno. */
    int (*watch)(void *store, const struct claim_listener *listener);

    void (*free)(void *store); /* to be called when no request is left */
};

struct claim_store {
    const struct claim_store_ops *ops;
    void *data;
};
