/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a packet came by the interface of the pod whose address it has. Who leaves by a gateway
 * is sent on from here, so that the kernel's own check (rp_filter) never sees the packet; and of
 * what a pod itself wraps for a gateway, IPv6 has no such check.
 *
 * The kernel's route to the pod says which interface that is. It is asked where a packet comes by
 * another one than the last time, and what it says is kept with the pod: so nobody has to tell the
 * programs of a pod's interface, and a packet of an established pod costs one comparison.
 *
 * A route to pods behind a bridge leads to the bridge, or to this node's interface in a VLAN of it,
 * and not to one of its ports. There it is the port that the agent has found the address behind.
 * Where it has found none, the port of the first packet is the pod's, as long as that port is in
 * the bridge; and the first packet has to have the hardware address that the kernel knows of the
 * pod, if it knows one.
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
 * port, where `known` is the port that it has spoken by. */
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

/* Asks the kernel which interface the sender is behind. Returns 1 if it is the packet's. `known`:
 * the one that it has spoken by; 0: none yet. */
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

/* Whether a packet may be a pod's by the port of a bridge that the agent has found: by another one
 * none of the pod's packets comes, not even when that port is gone. Where none is known, or the
 * packet came by no port of a bridge, that is not said here. */
ALWAYS_INLINE int by_known_port(struct __sk_buff *skb, const struct egress_pod_value *pod)
{
    __u32 in = skb->ifindex, port = READ_ONCE(pod->port);
    return !port || port == in || !bpf_map_lookup_elem(&egress_bridges, &in);
}

/* Whether a pod's packet came by the pod's own interface. `pod` NULL: nothing is known of it, and
 * nothing is kept. */
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
