/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gateway's twin: a packet of a client goes through the steps of the gateway's program, and
 * nothing is left behind: no flow, no port, no count. The agent runs it by BPF_PROG_TEST_RUN and
 * looks at the packet that comes out; see "The gateway's twin" in egress_abi.h.
 *
 * What it leaves out is what writes: who the client is, and the search for a port.
 * bpf_redirect_neigh() only notes where to; who runs a test sends nothing.
 */
#pragma once

#include <linux/pkt_cls.h>

#include "bpf/egress_tunnel.h"

ALWAYS_INLINE int twin_tell(struct __sk_buff *skb, __u32 found, __u32 what)
{
    skb->cb[0] = found;
    skb->cb[1] = what;
    return SHOT;
}

SEC("tc")
int gateway_twin(struct __sk_buff *skb)
{
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    struct gateway_room *own = gateway_room_get();
    if (!settings || !room || !own)
        return SHOT;
    struct packet *packet = &room->packet;
    parse(skb, NAT_HOOK_UPLINK_IN, packet);
    if (packet->shape == SHAPE_NONE || !is_fou_for(settings, packet))
        return twin_tell(skb, EGRESS_TWIN_NOT_OURS, 0);
    struct nat_addr snat = settings->snat[packet->family == 6];
    skb->cb[2] =
        gateway_ask(skb, packet->family, WAY_FRAGMENT, &packet->tuple.dst, &snat, &room->way);
    int r = take_inner(skb, settings, packet, own);
    if (r < 0)
        return twin_tell(skb, EGRESS_TWIN_DROPPED, (__u32)-r);
    parse(skb, NAT_HOOK_UPLINK_IN, packet);
    if (packet->shape != SHAPE_PORTS)
        return twin_tell(skb, EGRESS_TWIN_DROPPED, EGRESS_CAUSE_MALFORMED);
    if (is_zero(&snat))
        return twin_tell(skb, EGRESS_TWIN_DROPPED, EGRESS_CAUSE_NO_ROUTE);
    room->to = packet->tuple;
    room->to.src = snat;
    room->to.sport = bpf_htons(settings->snat_first);
    if (gateway_find(skb, packet, &room->to.src, &room->to.dst, &room->way))
        return twin_tell(skb, EGRESS_TWIN_NO_ROUTE, room->way.answer);
    r = send_outside(skb);
    twin_tell(skb, r == TC_ACT_REDIRECT ? EGRESS_TWIN_SENT : EGRESS_TWIN_DROPPED,
              r == TC_ACT_REDIRECT ? room->way.fib.ifindex : EGRESS_CAUSE_NO_ROUTE);
    return r;
}
