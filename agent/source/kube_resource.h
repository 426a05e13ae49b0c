/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of the API: the kinds, where each is found, and which of its objects. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/object.h"
#include "status/kube_status.h"

/* For whom is asked. */
struct kube_asker {
    const char *node;
    const char *proxy_name; /* "": none */
    bool all_pods;          /* of every node, as a gateway of egress needs them */
};

struct kube_resource {
    enum kind kind;
    const char *path;
    bool optional;             /* of a CRD that may be missing */
    const char *label, *field; /* selectors; NULL: none. A value at the end: "%s", the node */
    const char *named_label;   /* in place of `label` where services.proxyName is set; NULL: none */
};

/* What a program asks for, KUBE_KINDS_MAX at most. */
struct kube_resources {
    const struct kube_resource *rows;
    size_t count;
};

extern const struct kube_resources kube_agent_resources;
extern const struct kube_resources kube_pods_resources; /* with pods.enabled */

/*
 * The path and the selectors, up to where further parameters go ("/api/v1/nodes?"). NULL: no
 * memory; else the caller frees it.
 */
char *kube_resource_path(const struct kube_resource *resource, const struct kube_asker *asker);

/* The path to a list of this node's own Node alone, complete. */
char *kube_resource_node_path(const char *node);
