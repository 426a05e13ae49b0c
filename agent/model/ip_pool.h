/* SPDX-License-Identifier: Apache-2.0 */
/* MetalLB's IPAddressPool (metallb.io/v1beta1, namespaced): addresses for Services of type
 * LoadBalancer. Not to be taken for Coil's AddressPool, which is of pods' blocks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/net/ip_range.h"
#include "model/fields/name_list.h"
#include "model/object.h"
#include "model/object_selector.h"

/* Annotation of a pool: ranges that are given only to who asks for one of their addresses. */
#define IP_POOL_RESERVED "fingerpost.io/reserved"

/* What a pool's status says of its addresses: of IPv4, of IPv6; -1: nothing. */
struct ip_pool_counts {
    int64_t assigned[2], available[2];
};

struct ip_pool {
    struct object object;
    const struct ip_range *ranges; /* as they are written; they may overlap */
    uint32_t range_count;
    const struct ip_range *reserved; /* likewise; some may be outside of the pool */
    uint32_t reserved_count;
    bool auto_assign; /* default true: may be given to who does not ask for it */
    bool avoid_buggy; /* .0 and .255 are not given */
    /* serviceAllocation: which Services may have an address of it, and before which other pools. */
    bool chosen;       /* it has a serviceAllocation */
    uint32_t priority; /* lower first; 0: after all others */
    struct name_list namespaces;
    struct object_selectors namespace_selectors, service_selectors;
    const struct label *labels; /* sorted by name */
    uint32_t label_count;
    struct ip_pool_counts counts; /* with other ones it is no other pool */
};

static inline const struct ip_pool *to_ip_pool(const struct object *object)
{
    return (const struct ip_pool *)object;
}
