/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the controller makes for Egresses, by Coil's rules, and what it writes next of it. Pure: the
 * next step is read off what is known now, each time anew.
 *
 * - An Egress has a Deployment of gateways, a Service and, if it asks for one, a
 *   PodDisruptionBudget, all of its name, and is their owner: when it goes, the API collects them.
 * An Egress whose gateways are Nodes has none of them.
 * - A namespace with such an Egress, or with a Deployment of one, has the ServiceAccount of the
 *   gateways; one ClusterRoleBinding has all of these accounts as subjects.
 * - The status of an Egress has the Deployment's number of pods, and their selector.
 *
 * What is there and is of nobody, or of somebody else, is never written to. "Ours" is what has the
 * Egress as its controller; what has no controller but the Egress's labels (somebody took the owner
 * away); and accounts and bindings with the label of what is managed by us.
 *
 * Only what is ours is written, by server-side apply. Whether it is still so is told by a digest of
 * the object, which the API answered with when it was applied (struct workload_mark): what a
 * webhook or another controller adds to it then is part of that digest, and starts no fight.
 */
#pragma once

#include <stdint.h>

#include "base/text.h"
#include "model/egress.h"
#include "model/workload.h"
#include "store/store.h"

#define WORKLOAD_ACCOUNT     "fingerpost-egress"       /* the ServiceAccount */
#define WORKLOAD_BINDING     "fingerpost-egress-reads" /* the ClusterRoleBinding */
#define WORKLOAD_ROLE        "fingerpost-egress" /* the ClusterRole that it binds: it only reads */
#define WORKLOAD_OLD_BINDING "fingerpost-egress" /* of older controllers, to the role of agents */
/* Annotation of pods: what agentd is told. */
#define WORKLOAD_CONFIG      "fingerpost.io/agentd.yaml"

/* An object that is made: its kind, its namespace ("" for a ClusterRoleBinding) and its name. */
struct workload_key {
    enum kind kind;
    const char *namespace, *name;
};

/* How an object was when it was last applied; all zero: it was not. */
struct workload_mark {
    char uid[OBJECT_UID_MAX + 1];
    char version[32];
    uint64_t digest;    /* model/fields/digest.h, of the API's answer */
    uint64_t wanted;    /* of the body that was applied */
    int64_t applied_ms; /* monotonic, when the API has answered; 0: not yet */
    bool doubted;       /* that was long ago, and the source may know nothing of it still */
};

enum workload_step {
    WORKLOAD_NOTHING,
    WORKLOAD_APPLY,
    WORKLOAD_DELETE, /* under the uid and version of `there` */
    WORKLOAD_WRONG,  /* it can't be made: `why` and `remedy` say so */
};

struct workload_plan {
    enum workload_step step;
    const struct object *there; /* what has the name now; NULL: nothing */
    uint64_t wanted;            /* WORKLOAD_APPLY: for the mark */
    const char *why, *remedy;   /* static, or the texts below */
    char excess[1024], names[640];
};

/* What controller.yaml says. */
struct workload_settings {
    const char *image; /* that gateways run, where a template may say another and does not */
    uint32_t allowed;  /* to templates: bits by enum template_right of config/template_rights.h */
};

/*
 * The next step about an object. The body of WORKLOAD_APPLY is added to `body`, with the uid and
 * resourceVersion of what is there as preconditions. What is there stays where its template asks
 * for what is not allowed. Returns 0 or -ENOMEM.
 */
int plan_workload(const struct store *store, const struct workload_key *key,
                  const struct workload_settings *settings, const struct workload_mark *mark,
                  struct text *body, struct workload_plan *ret_plan);

/* Whether gateways of an Egress are pods that are made for it. */
static inline bool egress_has_workload(const struct egress *egress)
{
    return !egress->gateway_nodes;
}

/* The Deployment of an Egress if it is ours; else NULL. */
const struct workload *workload_of(const struct store *store, const struct egress *egress);

/*
 * The status that an Egress ought to have. Returns 1 with the body of its apply in `body`; 0: it
 * has it, or gets none; -ENOMEM.
 */
int plan_workload_status(const struct store *store, const struct egress *egress, struct text *body);
