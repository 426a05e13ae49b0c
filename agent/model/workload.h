/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is made for Egresses: Deployments and PodDisruptionBudgets, ServiceAccounts and
 * ClusterRoleBindings, as far as the controller looks at them. (Their Services are as all others,
 * service.h.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/object.h"

/* The labels of Coil's, by which its Deployments select pods. */
#define WORKLOAD_NAME_LABEL      "app.kubernetes.io/name"
#define WORKLOAD_NAME            "coil"
#define WORKLOAD_INSTANCE_LABEL  "app.kubernetes.io/instance" /* the Egress */
#define WORKLOAD_COMPONENT_LABEL "app.kubernetes.io/component"
#define WORKLOAD_COMPONENT       "egress"

/* What has no Egress as its owner, and is ours. */
#define WORKLOAD_MANAGED_LABEL "app.kubernetes.io/managed-by"
#define WORKLOAD_MANAGED       "fingerpost"

struct workload {
    struct object object;
    /* digest.h; 0: an object of somebody else's, of which nothing further is kept. */
    uint64_t digest;
    const char *egress; /* its labels say that it is this Egress's; NULL: they do not */
    bool managed;       /* its label says that it is ours */
    uint32_t replicas, available_replicas; /* status of a Deployment */
};

static inline const struct workload *to_workload(const struct object *object)
{
    return (const struct workload *)object;
}
