/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets to endpoints at the exits, where requests are not judged: the SNAT entry of a flow that
 * passed through the stack begins here, and a packet that this node's own sockets send straight to
 * an endpoint gets another source port where a flow has its tuple. nat.bpf.c calls may_leave()
 * first, and leave() for packets that belong to no flow.
 */
#pragma once

#include "bpf/nat/begin.h"

/*
 * Whether a packet at an exit may be for leave(): its destination may be an endpoint, and either
 * one of this node's sockets has sent it, or flows pass through the stack.
 */
ALWAYS_INLINE int may_leave(struct __sk_buff *skb, const struct nat_control *control,
                            const struct packet *packet)
{
    return (skb->ingress_ifindex == 0 || control->path) &&
           filter_has(control, &packet->tuple.dst, packet->tuple.dport);
}

/* Whether the packet belongs to a flow that has a SNAT entry; `verdict` becomes that flow's. */
ALWAYS_INLINE int takes_snat(const struct packet *packet, struct scratch *room,
                             struct verdict *verdict)
{
    tuple_reverse(&packet->tuple, &room->claim.reply);
    const struct nat_flow *flow = flow_find(&room->claim.reply);
    if (!flow || flow->half != NAT_HALF_REPLY || !nat_flow_has_snat(flow->flags))
        return 0;
    verdict->service = flow->service;
    verdict->port = flow->port;
    verdict->endpoint = flow->endpoint;
    verdict->generation = flow->generation;
    verdict->addr = packet->tuple.dst;
    verdict->endpoint_port = packet->tuple.dport;
    verdict->masquerade = flow->flags & NAT_FLOW_MASQ ? NAT_MASQUERADE_YES : NAT_MASQUERADE_HAIRPIN;
    return 1;
}

/* Sends a packet that belongs to no flow. */
GLOBAL int leave(struct __sk_buff *skb)
{
    struct scratch *room = scratch_get();
    if (!room)
        return NEXT;
    struct packet *packet = &room->packet;
    struct verdict *verdict = &room->verdict;
    __builtin_memset(verdict, 0, sizeof(*verdict));
    verdict->origin = NAT_ORIGIN_NODE;
    if (skb->ingress_ifindex == 0 ? is_opening(packet) && direct_gives_next_hop(packet, room)
                                  : takes_snat(packet, room, verdict))
        return begin_flow(skb, packet, verdict);
    return NEXT;
}
