/* SPDX-License-Identifier: Apache-2.0 */
/* The resources that are read from the API: the kinds, their paths, and the selectors. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/object.h"
#include "status/kube_status.h"

/* The node that reads them. */
struct kube_asker {
    const char *node;
    const char *proxy_name; /* "": none */
    bool all_pods;          /* pods of every node, as a gateway of egress needs them */
};

struct kube_resource {
    enum kind kind;
    const char *path;
    bool optional;             /* of a CRD that may be missing */
    const char *label, *field; /* selectors; NULL: none. A final "%s" stands for the node */
    const char *named_label;   /* replaces `label` if services.proxyName is set; NULL: none */
};

/* The resources that a program reads, KUBE_KINDS_MAX at most. */
struct kube_resources {
    const struct kube_resource *rows;
    size_t count;
};

extern const struct kube_resources kube_agent_resources;
extern const struct kube_resources kube_pods_resources; /* with pods.enabled */

/*
 * The path and the selectors; further parameters can be appended ("/api/v1/nodes?"). NULL: no
 * memory; otherwise the caller frees it.
 */
char *kube_resource_path(const struct kube_resource *resource, const struct kube_asker *asker);

/* The complete path to a list of only this node's own Node. */
char *kube_resource_node_path(const char *node);
