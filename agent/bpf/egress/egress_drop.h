/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What both programs of egress share besides the wire format: their control map, and their drops.
 */
#pragma once

#include "bpf/egress/egress_maps.h"
#include "bpf/packet/parse.h"

ALWAYS_INLINE const struct egress_control *egress_control_get(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&egress_control, &zero);
}

/* Counts a packet under its cause. */
SUBPROGRAM int egress_count(struct __sk_buff *skb, const struct nat_tuple *tuple, __u32 cause)
{
    struct egress_drop_value *value = bpf_map_lookup_elem(&egress_drops, &cause);
    if (!value)
        return 0;
    __sync_fetch_and_add(&value->count, 1);
    value->last_ns = bpf_ktime_get_coarse_ns();
    value->last = *tuple;
    value->ifindex = skb->ifindex;
    return 0;
}

ALWAYS_INLINE int egress_drop(struct __sk_buff *skb, const struct nat_tuple *tuple, __u32 cause)
{
    egress_count(skb, tuple, cause);
    return SHOT;
}

/* Whether a device looks up the route of each packet: a tunnel without a fixed remote endpoint. */
ALWAYS_INLINE int is_by_route(const struct egress_control *control, __u32 ifindex)
{
    if (!control->by_route[0])
        return 0;
#pragma unroll
    for (int i = 0; i < NAT_MAX_BY_ROUTE; i++) {
        if (control->by_route[i] == ifindex)
            return 1;
    }
    return 0;
}
