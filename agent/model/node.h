/* SPDX-License-Identifier: Apache-2.0 */
/* A Node: its addresses and whether it may attract external traffic. */
#pragma once

#include "base/ip.h"
#include "model/object.h"

struct node {
    struct object object;
    const struct ip *addresses; /* InternalIP and ExternalIP of status.addresses, in their order */
    uint32_t address_count;
    bool excluded; /* label node.kubernetes.io/exclude-from-external-load-balancers, any value */
    bool network_unavailable; /* condition NetworkUnavailable is True */
};

static inline const struct node *to_node(const struct object *object)
{
    return (const struct node *)object;
}
