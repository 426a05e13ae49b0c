/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pods whose port of a bridge the agent has found: by another port none of their packets comes, not
 * even when that one is gone.
 */
#pragma once

#include "bpf/egress/egress_room.h"

/* Whether a packet may be a pod's by the port that is known; where none is, or the packet came by
 * no port of a bridge, that is not said here. */
ALWAYS_INLINE int by_known_port(struct __sk_buff *skb, const struct egress_pod_value *pod)
{
    __u32 in = skb->ifindex, port = READ_ONCE(pod->port);
    return !port || port == in || !bpf_map_lookup_elem(&egress_bridges, &in);
}
