/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a packet entered by the interface of the pod whose address it has. Packets to a gateway
 * are sent from this program, so the kernel's own check (rp_filter) never sees them; and IPv6 has
 * no such check for packets that a pod itself encapsulates for a gateway.
 *
 * The kernel's route to the pod determines the interface. It is looked up if a packet enters by
 * another interface than the previous one, and the result is stored with the pod: so the agent does
 * not have to write a pod's interface, and a packet of a known pod costs one comparison.
 *
 * A route to pods behind a bridge leads to the bridge, or to this node's interface in a VLAN of it,
 * and not to one of its ports. There the pod's port is the one behind which the agent has found the
 * address. Where it has found none, the port of the first packet is the pod's, as long as that port
 * is in the bridge; and the first packet has to have the hardware address of the kernel's neighbour
 * entry for the pod, if there is one.
 */
#pragma once

#include "bpf/egress/egress_room.h"

ALWAYS_INLINE int is_sender(struct __sk_buff *skb, const __u8 *mac)
{
    __u16 parts[ETH_ALEN / 2];
    __u32 differ = 0;
    if (bpf_skb_load_bytes(skb, ETH_ALEN, parts, sizeof(parts)))
        return 0;
#pragma unroll
    for (int i = 0; i < ETH_ALEN / 2; i++)
        differ |= parts[i] ^ *(const __u16 *)(mac + 2 * i);
    return !differ;
}

/* Whether a pod's address is behind the bridge that the route leads to, and may be behind this
 * port; `known` is the port that it has used so far. */
ALWAYS_INLINE int by_port(struct __sk_buff *skb, const struct next_hop *next_hop, __u32 known)
{
    __u32 in = skb->ifindex, out = next_hop->fib.ifindex;
    const __u32 *bridge = bpf_map_lookup_elem(&egress_bridges, &out);
    if (bridge)
        out = *bridge;
    bridge = bpf_map_lookup_elem(&egress_bridges, &in);
    if (!bridge || *bridge != out)
        return 0;
    bridge = known ? bpf_map_lookup_elem(&egress_bridges, &known) : NULL;
    if (bridge && *bridge == out)
        return 0;
    if (next_hop->answer || next_hop->unresolved)
        return 1;
    return is_sender(skb, next_hop->fib.dmac);
}

/* Looks up the interface that the sender is behind in the kernel's routes. Returns 1 if it is the
 * packet's. `known`: the interface that it has used so far; 0: none yet. */
SUBPROGRAM int by_route(struct __sk_buff *skb, struct room *room, __u32 known)
{
    const struct packet *packet = &room->packet;
    struct next_hop *next_hop = &room->next_hop;
    __u32 answer = next_hop_ask(skb, packet->family, NEXT_HOP_FRAGMENT, &packet->tuple.dst,
                                &packet->tuple.src, next_hop);
    if (answer && answer != BPF_FIB_LKUP_RET_FRAG_NEEDED)
        return 0;
    return next_hop->fib.ifindex == skb->ifindex || by_port(skb, next_hop, known);
}

/* Whether a packet may come from the pod according to the bridge port that the agent has found:
 * packets of the pod are accepted from no other port, not even when that port is gone. Where no
 * port is known, or the packet entered by no port of a bridge, this function does not decide. */
ALWAYS_INLINE int by_known_port(struct __sk_buff *skb, const struct egress_pod_value *pod)
{
    __u32 in = skb->ifindex, port = READ_ONCE(pod->port);
    return !port || port == in || !bpf_map_lookup_elem(&egress_bridges, &in);
}

/* Whether a pod's packet entered by the pod's own interface. `pod` NULL: the pod is unknown, and
 * nothing is stored. */
ALWAYS_INLINE int came_by_own(struct __sk_buff *skb, struct room *room,
                              struct egress_pod_value *pod)
{
    __u32 known = pod ? READ_ONCE(pod->ifindex) : 0;
    if (known && known == skb->ifindex)
        return 1;
    if (!by_route(skb, room, known))
        return 0;
    if (pod && !dry_run)
        WRITE_ONCE(pod->ifindex, skb->ifindex);
    return 1;
}
