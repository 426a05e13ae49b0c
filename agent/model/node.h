/* SPDX-License-Identifier: Apache-2.0 */
/* A Node: its addresses, its pods', its zone, whether it may attract traffic, or is to go. */
#pragma once

#include "base/net/ip.h"
#include "model/fields/label_selector.h"
#include "model/object.h"

struct node {
    struct object object;
    const struct ip *addresses; /* InternalIP and ExternalIP of status.addresses, in their order */
    uint32_t address_count;
    const bool *internal;             /* which of them are InternalIPs */
    struct ip primary_v4, primary_v6; /* the first InternalIP of each family; IP_NONE: none */
    const struct prefix *pod_nets;    /* spec.podCIDRs */
    uint32_t pod_net_count;
    const char *zone;           /* label topology.kubernetes.io/zone; "" if absent */
    const struct label *labels; /* sorted by name; what selectors of Nodes ask for */
    uint32_t label_count;
    bool excluded; /* label node.kubernetes.io/exclude-from-external-load-balancers, any value */
    bool network_unavailable;        /* condition NetworkUnavailable is True */
    bool ready;                      /* condition Ready is True */
    bool ready_is_said;              /* there is such a condition, whatever it says */
    bool unschedulable;              /* cordoned */
    const char *pretend_ready_until; /* annotation of kube-service-exporter; NULL: none */
    bool to_be_deleted;              /* taint ToBeDeletedByClusterAutoscaler, any effect */
};

static inline const struct node *to_node(const struct object *object)
{
    return (const struct node *)object;
}
