/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A gateway's new flow: a source address and port of the client (egress_claim.h), and both halves
 * in the table of flows. The reply half is inserted first, because other flows compete for it.
 */
#pragma once

#include "bpf/egress/egress_claim.h"

/* Makes both halves of a flow for the packet. Returns 0 with `room->to`, TAKEN, or -cause. */
GLOBAL int egress_make(struct __sk_buff *skb, __u32 client)
{
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    if (!settings || !room)
        return -EGRESS_CAUSE_NO_ROUTE;
    const struct packet *packet = &room->packet;
    struct claim *claim = &room->claim;
    struct nat_tuple *reply = &claim->reply;
    struct nat_flow *half = &claim->value;
    struct egress_ports_value *ports = ports_of(client);
    if (!ports)
        return -EGRESS_CAUSE_STRANGER;
    __builtin_memset(claim, 0, sizeof(*claim));
    tuple_reverse(&packet->tuple, reply);
    if (settings->sources[packet->family == 6] == 0)
        return -EGRESS_CAUSE_NO_ROUTE;
    tuple_reverse(&packet->tuple, &half->to);
    half->port = client;
    half->generation = READ_ONCE(ports->generation);
    if (!(half->generation & 1)) /* it was just deleted */
        return -EGRESS_CAUSE_STRANGER;
    half->seen_s = now_s();
    half->half = NAT_HALF_REPLY;
    half->flags = NAT_FLOW_MASQ;
    half->delivery = half->reverse_delivery = NAT_DELIVER_EGRESS;
    claim->family = packet->family;
    claim->sockets = !is_icmp(packet->tuple.protocol);
    half->slot = flow_slot(packet, room);
    if (half->slot == NAT_NO_SLOT)
        return -EGRESS_CAUSE_FLOWS_FULL;
    int r = egress_claim(skb);
    if (r < 0)
        return r;
    ring_put(half->slot, reply);
    tuple_reverse(reply, &room->to);
    make_forward(skb, packet, &room->to, half);
    if (flow_complete(&packet->tuple, room) == -EEXIST) {
        bpf_map_delete_elem(&flows, reply);
        return TAKEN;
    }
    __sync_fetch_and_add(&ports->flows, 1);
    return 0;
}
