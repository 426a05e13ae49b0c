// SPDX-License-Identifier: Apache-2.0
/* The order of places and the names of directions; see place.h. */
#include "apply/nat/hooks/place.h"

#include "base/macro.h"

int nat_place_cmp(const void *a, const void *b)
{
    const struct nat_place *left = a, *right = b;
    int r = CMP(left->ifindex, right->ifindex);
    if (r == 0)
        r = CMP(left->direction, right->direction);
    return r ? r : CMP(left->layer, right->layer);
}

const char *nat_direction_name(enum nat_direction direction)
{
    return direction == NAT_INGRESS ? "ingress" : "egress";
}

const char *nat_layer_folder(enum nat_layer layer)
{
    static const char *const folders[NAT_LAYERS] = { "links", "egress-links", "passage-links" };
    return folders[layer];
}
