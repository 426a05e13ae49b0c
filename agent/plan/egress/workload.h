/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that the controller creates for Egresses, by Coil's rules, and its next write. Pure:
 * the next step is derived from the current state each time.
 *
 * - An Egress has a Deployment of gateways, a Service and, if requested, a PodDisruptionBudget, all
 *   with its name, and is their owner: when it is deleted, they are garbage-collected.
 * An Egress whose gateways are Nodes has none of them.
 * - A namespace with such an Egress, or with a Deployment of one, has the ServiceAccount of the
 *   gateways; one ClusterRoleBinding has all of these accounts as subjects.
 * - The status of an Egress has the Deployment's number of replicas, and their selector.
 *
 * Existing objects without an owner, or with another one, are never written to. "Ours" are objects
 * with the Egress as their controller; objects without a controller but with the Egress's labels
 * (another client removed the owner); and accounts and bindings with our managed-by label.
 *
 * Only our objects are written, by server-side apply. Later changes are detected by a digest of the
 * object that the API returned to the apply (struct workload_mark): fields that a webhook or
 * another controller added by then are part of that digest, and do not cause repeated writes.
 */
#pragma once

#include <stdint.h>

#include "base/text.h"
#include "model/egress.h"
#include "model/workload.h"
#include "store/store.h"

#define WORKLOAD_ACCOUNT     "fingerpost-egress"       /* the ServiceAccount */
#define WORKLOAD_BINDING     "fingerpost-egress-reads" /* the ClusterRoleBinding */
#define WORKLOAD_ROLE        "fingerpost-egress" /* the ClusterRole that it binds: read-only */
#define WORKLOAD_OLD_BINDING "fingerpost-egress" /* of older controllers, for the agents' role */
/* Annotation of pods: agentd's configuration. */
#define WORKLOAD_CONFIG      "fingerpost.io/agentd.yaml"

/* An object to create: its kind, its namespace ("" for a ClusterRoleBinding) and its name. */
struct workload_key {
    enum kind kind;
    const char *namespace, *name;
};

/* The state of an object when it was last applied; all zero: never. */
struct workload_mark {
    char uid[OBJECT_UID_MAX + 1];
    char version[32];
    uint64_t digest;    /* model/fields/digest.h, of the API's response */
    uint64_t wanted;    /* of the body that was applied */
    int64_t applied_ms; /* monotonic, of the API's response; 0: none yet */
    bool doubted;       /* that was long ago, and the source may still not have it */
};

enum workload_step {
    WORKLOAD_NOTHING,
    WORKLOAD_APPLY,
    WORKLOAD_DELETE, /* under the uid and version of `there` */
    WORKLOAD_WRONG,  /* it can't be created: see `why` and `remedy` */
};

struct workload_plan {
    enum workload_step step;
    const struct object *there; /* the existing object of the name; NULL: none */
    uint64_t wanted;            /* WORKLOAD_APPLY: for the mark */
    const char *why, *remedy;   /* static, or the texts below */
    char excess[1024], names[640];
};

/* Settings of controller.yaml. */
struct workload_settings {
    const char *image; /* of gateways, unless a template specifies another and may */
    uint32_t allowed;  /* to templates: bits by enum template_right of config/template_rights.h */
};

/*
 * The next step about an object. The body of WORKLOAD_APPLY is added to `body`, with the uid and
 * resourceVersion of what is there as preconditions. The existing object stays if its template
 * requests something that is not allowed. Returns 0 or -ENOMEM.
 */
int plan_workload(const struct store *store, const struct workload_key *key,
                  const struct workload_settings *settings, const struct workload_mark *mark,
                  struct text *body, struct workload_plan *ret_plan);

/* Whether gateways of an Egress are pods created for it. */
static inline bool egress_has_workload(const struct egress *egress)
{
    return !egress->gateway_nodes;
}

/* The Deployment of an Egress if it is ours; else NULL. */
const struct workload *workload_of(const struct store *store, const struct egress *egress);

/*
 * The wanted status of an Egress. Returns 1 with the body of its apply in `body`; 0: it is up to
 * date, or gets none; -ENOMEM.
 */
int plan_workload_status(const struct store *store, const struct egress *egress, struct text *body);
