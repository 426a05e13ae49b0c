/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One write to the Kubernetes API, and what has become of it.
 *
 * An attempt keeps a copy of what is asked for. It is sent once; its outcome is told once. Where
 * that is KUBE_UNCERTAIN (the connection broke, the answer was none), the attempt can find out by
 * reading the object, as often as it takes; it is never sent a second time. Who retries, when, and
 * with which body is kube_writer.h's to decide; who has times of his own (a Lease's holder) uses
 * attempts by themselves.
 *
 * Our typed objects keep only some fields, so their encoding must never be sent with KUBE_UPDATE:
 * that verb is for objects that are altogether ours. Of others we write single fields, by
 * KUBE_APPLY or KUBE_MERGE.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "client/kube/kube.h"
#include "format/doc.h"

enum kube_verb {
    KUBE_GET,       /* writes nothing: for who reads a single object before he writes it */
    KUBE_CREATE,    /* POST */
    KUBE_UPDATE,    /* PUT of the whole object, with the resourceVersion that it is based on */
    KUBE_MERGE,     /* a merge patch (RFC 7386) */
    KUBE_TESTED,    /* a JSON patch (RFC 6902) with tests: KUBE_CONFLICT if one of them fails. No
                       reading tells what has become of it */
    KUBE_STRATEGIC, /* a patch that knows the keys of lists; of Kubernetes' own kinds only */
    KUBE_APPLY,     /* server-side apply: the body has all fields that are ours, and no others */
    KUBE_DELETE,
};

/* "create". */
const char *kube_verb_name(enum kube_verb verb);

struct kube_target {
    const char *group; /* "" for the core group */
    const char *version, *plural;
    const char *namespace;   /* NULL: of cluster scope */
    const char *name;        /* that the body has, too */
    const char *subresource; /* "status"; NULL: none */
};

struct kube_write {
    enum kube_verb verb;
    struct kube_target target;
    const char *body; /* JSON; NULL for KUBE_GET and KUBE_DELETE */

    const char *uid;     /* KUBE_DELETE: whose; required */
    const char *version; /* KUBE_DELETE: as of which resourceVersion; NULL: whichever */
    const char *manager; /* KUBE_APPLY: the name under which the fields are ours; required.
                            KUBE_STRATEGIC: likewise, or NULL */
    bool force;          /* KUBE_APPLY: take fields that another manager has; else a conflict */

    /* Of the answer no more than the object's metadata is needed: the API is asked for that alone,
     * and saves what the whole object costs. One that does not know how gives all. */
    bool brief;

    /* A second time does no harm: an outcome that nobody knows is KUBE_LATER. For a create whose
     * name says all, where KUBE_EXISTS is as good; the object need not be readable then. */
    bool repeatable;
    /* KUBE_CREATE of what is only answered and never stored (SelfSubjectAccessReview): without a
     * name, and repeatable. */
    bool review;
};

enum kube_outcome {
    KUBE_DONE,
    KUBE_CONFLICT, /* the object is another than assumed, or another manager has a field: read again
                    */
    KUBE_EXISTS,   /* something else has the name */
    KUBE_MISSING,  /* the object (of a create: its namespace or kind) is not there */
    /* What was asked for, or who asked, would have to be another. Only 403 may pass by itself: an
     * API server that has just started says it to everybody, until it has read the roles. */
    KUBE_REFUSED,
    KUBE_LATER,     /* it was not done: not reached, too much to do, not let in */
    KUBE_UNCERTAIN, /* it may have been done */
};

/* "uncertain": part of the agent's API. */
const char *kube_outcome_name(enum kube_outcome outcome);

struct kube_result {
    enum kube_outcome outcome;
    int status;             /* of HTTP; 0: there was no answer */
    const char *why;        /* in words, fit to be shown; "" for KUBE_DONE; borrowed */
    const char *remedy;     /* static, or NULL */
    int64_t retry_after_ms; /* as the API asked for; 0: it did not */
    /* KUBE_DONE, but of KUBE_DELETE: the object as the API has it, or its metadata (`brief`), or
     * the review. Borrowed. */
    const struct doc *object;
};

struct kube_attempt;

/* May free the attempt, or have it find out. */
typedef void (*kube_attempt_told)(void *context, const struct kube_result *result);

/*
 * An attempt, not sent yet. `write` is copied; `limit_ms` is for each request. Returns 0; -EINVAL
 * if something is missing that the verb requires; -ENOMEM.
 */
int kube_attempt_new(struct kube_client *client, const struct kube_write *write, int64_t limit_ms,
                     kube_attempt_told told, void *context, struct kube_attempt **ret_attempt);

/* Sends it. Returns 0, or -errno after writing the reason to `error`: then nothing is told. */
int kube_attempt_send(struct kube_attempt *attempt, char error[static KUBE_ERROR_LEN]);

/* After KUBE_UNCERTAIN: asks whether it was done, and tells. Returns likewise. */
int kube_attempt_find(struct kube_attempt *attempt, char error[static KUBE_ERROR_LEN]);

/* "create /api/v1/namespaces/default/configmaps", borrowed: for people. */
const char *kube_attempt_words(const struct kube_attempt *attempt);

/* Without a further word: what was sent may happen all the same. */
void kube_attempt_free(struct kube_attempt *attempt);
DEFINE_CLEANUP(struct kube_attempt *, kube_attempt_free);

/* What is said of a success that a look finds not to be one, and what to do about it. */
extern const char kube_not_so[], kube_not_so_remedy[];
