/* SPDX-License-Identifier: Apache-2.0 */
/* Pods, and the Namespaces that choose their pools. */
#pragma once

#include "base/ip.h"
#include "model/object.h"

struct pod {
    struct object object;
    const char *node_name; /* "" until scheduled */
    const struct ip *ips;  /* status.podIPs */
    uint32_t ip_count;
    bool host_network;
    bool finished; /* phase Succeeded or Failed: its addresses are no longer its own */
};

struct namespace
{
    struct object object;
    const char *pool; /* annotation coil.cybozu.com/pool; "default" where it has none */
};

static inline const struct pod *to_pod(const struct object *object)
{
    return (const struct pod *)object;
}

static inline const struct namespace *to_namespace(const struct object *object)
{
    return (const struct namespace *)object;
}
