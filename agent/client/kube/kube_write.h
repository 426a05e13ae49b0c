/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One write to the Kubernetes API and its outcome.
 *
 * An attempt keeps a copy of the request. It is sent once; its outcome is reported once. Where that
 * is KUBE_UNCERTAIN (the connection broke, or the answer was not usable), the attempt can find the
 * outcome by reading the object, as often as needed; it is never sent a second time. kube_writer.h
 * decides on retries, their times and bodies; a caller with its own timing (a Lease's holder) uses
 * attempts directly.
 *
 * Our typed objects keep only some fields, so their encoding must never be sent with KUBE_UPDATE:
 * that verb is for objects that are entirely ours. Of other objects we write single fields, by
 * KUBE_APPLY or KUBE_MERGE.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "client/kube/kube.h"
#include "format/doc.h"

enum kube_verb {
    KUBE_GET,       /* writes nothing: reads a single object before a write */
    KUBE_CREATE,    /* POST */
    KUBE_UPDATE,    /* PUT of the whole object, with the resourceVersion that it is based on */
    KUBE_MERGE,     /* a merge patch (RFC 7386) */
    KUBE_TESTED,    /* a JSON patch (RFC 6902) with tests: KUBE_CONFLICT if one of them fails. Its
                       outcome can't be found by reading */
    KUBE_STRATEGIC, /* a strategic merge patch, which knows the keys of lists; only for built-in
                       kinds */
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

    const char *uid;     /* KUBE_DELETE: of the object; required */
    const char *version; /* KUBE_DELETE: the required resourceVersion; NULL: any */
    const char *manager; /* KUBE_APPLY: the field manager, required. KUBE_STRATEGIC: it or NULL */
    bool force;          /* KUBE_APPLY: take over fields of other managers; otherwise a conflict */

    /*
     * Only the object's metadata is needed in the answer: the API is asked for that alone, which is
     * cheaper than the whole object. A server without support for it returns the whole object.
     */
    bool brief;

    /*
     * A second write does no harm: an uncertain outcome is KUBE_LATER. For a create whose name
     * identifies its content, where KUBE_EXISTS is as good as success; the object need not be
     * readable then.
     */
    bool repeatable;
    /*
     * KUBE_CREATE of a kind that is answered and never stored (SelfSubjectAccessReview): without a
     * name, and repeatable.
     */
    bool review;
};

enum kube_outcome {
    KUBE_DONE,
    KUBE_CONFLICT, /* the object has changed, or another manager owns a field: read again */
    KUBE_EXISTS,   /* another object has the name */
    KUBE_MISSING,  /* the object (of a create: its namespace or kind) does not exist */
    /*
     * Fails again unless the request or the client's rights change. Only 403 may pass by itself: an
     * API server that has just started answers so until it has loaded the roles.
     */
    KUBE_REFUSED,
    KUBE_LATER,     /* not done: not reached, overloaded, or not authenticated */
    KUBE_UNCERTAIN, /* it may have been done */
};

/* "uncertain": part of the agent's API. */
const char *kube_outcome_name(enum kube_outcome outcome);

struct kube_result {
    enum kube_outcome outcome;
    int status;             /* of HTTP; 0: there was no answer */
    const char *why;        /* in words, fit to be shown; "" for KUBE_DONE; borrowed */
    const char *remedy;     /* static, or NULL */
    int64_t retry_after_ms; /* Retry-After of the API; 0: there was none */
    /*
     * KUBE_DONE, except of KUBE_DELETE: the object as the API has it, or its metadata (`brief`), or
     * the review. Borrowed.
     */
    const struct doc *object;
};

struct kube_attempt;

/* May free the attempt, or call kube_attempt_find(). */
typedef void (*kube_attempt_told)(void *context, const struct kube_result *result);

/*
 * An attempt, not sent yet. `write` is copied; `limit_ms` is for each request. Returns 0; -EINVAL
 * if something is missing that the verb requires; -ENOMEM.
 */
int kube_attempt_new(struct kube_client *client, const struct kube_write *write, int64_t limit_ms,
                     kube_attempt_told told, void *context, struct kube_attempt **ret_attempt);

/*
 * Sends it. Returns 0, or -errno after writing the reason to `error`: then no outcome is reported.
 */
int kube_attempt_send(struct kube_attempt *attempt, char error[static KUBE_ERROR_LEN]);

/*
 * After KUBE_UNCERTAIN: reads whether the write was done, and reports the outcome. Returns
 * likewise.
 */
int kube_attempt_find(struct kube_attempt *attempt, char error[static KUBE_ERROR_LEN]);

/* "create /api/v1/namespaces/default/configmaps", borrowed: for people. */
const char *kube_attempt_words(const struct kube_attempt *attempt);

/* No outcome is reported any more; a write that was sent may still happen. */
void kube_attempt_free(struct kube_attempt *attempt);
DEFINE_CLEANUP(struct kube_attempt *, kube_attempt_free);

/* Error and remedy for a write that the API reported as done and that reading does not confirm. */
extern const char kube_not_so[], kube_not_so_remedy[];
