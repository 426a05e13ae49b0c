/* SPDX-License-Identifier: Apache-2.0 */
/* MetalLB's BGPAdvertisement and L2Advertisement (metallb.io/v1beta1, namespaced): which addresses
 * of pools are announced, by which nodes. */
#pragma once

#include "model/fields/name_list.h"
#include "model/object.h"
#include "model/object_selector.h"

/* Both kinds. Lists that are empty select everything; pools are those that either list selects. */
struct advertisement {
    struct object object;
    struct name_list pools;
    struct name_list interfaces; /* of an L2Advertisement: of nodes, which may announce there */
    struct object_selectors pool_selectors, service_selectors, node_selectors;
};

static inline const struct advertisement *to_advertisement(const struct object *object)
{
    return (const struct advertisement *)object;
}
