/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The twin: it judges as the real program does, and reports the verdict instead of executing it.
 * See "The twin" in abi.h.
 */
#pragma once

#include "bpf/nat/begin.h"
#include "bpf/nat/follow.h"

/* Judges the packet and writes the verdict to skb->cb[]. */
GLOBAL int tell(struct __sk_buff *skb)
{
    const struct nat_control *control = control_get();
    struct scratch *room = scratch_get();
    struct next_hop next_hop;
    struct nat_addr source;
    __u32 pick = skb->cb[0], flags = skb->cb[1], masquerade, route = 0, out = 0;
    if (!control || !room)
        return NEXT;
    struct packet *packet = &room->packet;
    struct verdict *verdict = &room->verdict;
    __builtin_memset(verdict, 0, sizeof(*verdict));
    const struct nat_flow *flow = flags & NAT_DRY_FLOWS ? flow_find(&packet->tuple) : NULL;
    if (flow && flow->half == NAT_HALF_FORWARD && !begins_anew(packet, flow)) {
        verdict->act = NAT_ACT_FORWARD;
        verdict->service = flow->service;
        verdict->port = flow->port;
        verdict->endpoint = flow->endpoint;
        verdict->addr = flow->to.dst;
        verdict->masquerade = flow->flags & NAT_FLOW_MASQ      ? NAT_MASQUERADE_YES
                              : flow->flags & NAT_FLOW_HAIRPIN ? NAT_MASQUERADE_HAIRPIN
                                                               : NAT_MASQUERADE_NO;
    } else {
        decide(skb, pick);
        if (verdict->act == NAT_ACT_PASS && verdict->cause == NAT_CAUSE_NONE &&
            packet->hook == NAT_HOOK_SVC_OUT)
            refuse(verdict, NAT_ACT_REJECT, NAT_CAUSE_UNMAPPED_PORT);
    }
    if (flags & NAT_DRY_CAME && verdict->act == NAT_ACT_FORWARD) {
        next_hops_forget(&packet->tuple.dst, &packet->tuple.src);
        if (came_ask(skb) == CAME_WRONG)
            refuse(verdict, NAT_ACT_DROP, NAT_CAUSE_REVERSE_PATH);
    }
    masquerade = verdict->masquerade;
    if (verdict->act == NAT_ACT_FORWARD && !verdict->on_node) {
        route = next_hop_find(skb, packet, &packet->tuple.src, &verdict->addr, &next_hop);
        if (route == BPF_FIB_LKUP_RET_FRAG_NEEDED)
            route = 0;
        else if (!route && next_hop_is_back(skb, packet, &next_hop))
            route = NAT_ROUTE_SVC0;
        else if (!route)
            out = next_hop.fib.ifindex;
        if (!route && masquerade && verdict->count &&
            masquerade_source(skb, packet, verdict, &next_hop, &source) < 0)
            route = NAT_ROUTE_NO_SOURCE;
    }
    skb->cb[0] = verdict->act | (__u32)verdict->cause << 8 | masquerade << 16 | route << 24;
    skb->cb[1] = verdict->service;
    skb->cb[2] = verdict->port;
    skb->cb[3] = verdict->endpoint;
    skb->cb[4] = (__u32)verdict->set << 31 | verdict->count;
    skb->mark = out;
    return NEXT;
}
