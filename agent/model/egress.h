/* SPDX-License-Identifier: Apache-2.0 */
/* Coil's Egress (coil.cybozu.com/v2, namespaced): destinations that leave through gateways. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "model/object.h"

struct egress {
    struct object object;
    const struct prefix *destinations;
    uint32_t destination_count;
    uint32_t replicas;
    bool source_port_auto;
    bool by_client; /* sessionAffinity ClientIP: all flows of a client leave by one gateway */
    /* Annotation fingerpost.io/gateway-nodes: a selector of Nodes (label_selector.h), not yet
     * read. NULL: gateways are the endpoints of the Service of the same name. */
    const char *gateway_nodes;
    /* What the gateways' Deployment, Service and budget are made from, as JSON; NULL: absent. */
    const char *strategy, *pod_template, *affinity_config, *min_available, *max_unavailable;
    /* status.replicas and selector: what is told of the Deployment; -1 and NULL: nothing. */
    int32_t told_replicas;
    const char *told_selector;
};

#define EGRESS_GATEWAY_NODES "fingerpost.io/gateway-nodes"

static inline const struct egress *to_egress(const struct object *object)
{
    return (const struct egress *)object;
}
