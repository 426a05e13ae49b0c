/* SPDX-License-Identifier: Apache-2.0 */
/* Pods, and the Namespaces that choose their pools. */
#pragma once

#include "base/net/ip.h"
#include "model/fields/label_selector.h"
#include "model/object.h"

/* An Egress that a pod's annotation names. */
struct egress_ref {
    const char *namespace, *name;
};

int egress_ref_cmp(const void *a, const void *b); /* namespace, name */

enum { POD_EGRESSES_MAX = 64 };

struct pod {
    struct object object;
    const char *node_name; /* "" until scheduled */
    const struct ip *ips;  /* status.podIPs */
    uint32_t ip_count;
    bool host_network;
    bool finished; /* phase Succeeded or Failed: its addresses are no longer its own */
    /* Annotations egress.coil.cybozu.com/NAMESPACE, lists of names: sorted, no duplicates. */
    const struct egress_ref *egresses;
    uint32_t egress_count;
    bool bad_egress; /* they name something that no Egress can be, or more than are taken */
};

/* Whether its addresses are its own: it has not finished, nor is it in the host's network. */
static inline bool pod_owns_addresses(const struct pod *pod)
{
    return !pod->host_network && !pod->finished;
}

struct namespace
{
    struct object object;
    const char *pool;           /* annotation coil.cybozu.com/pool; "default" where it has none */
    const struct label *labels; /* sorted by name */
    uint32_t label_count;
};

static inline const struct pod *to_pod(const struct object *object)
{
    return (const struct pod *)object;
}

static inline const struct namespace *to_namespace(const struct object *object)
{
    return (const struct namespace *)object;
}
