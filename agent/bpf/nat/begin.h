/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets that belong to no flow, at the hooks where requests are judged. The program makes a flow
 * and sends its first packet along it, or refuses the packet, or passes it unchanged because it is
 * not ours.
 */
#pragma once

#include "bpf/flow/again.h"
#include "bpf/flow/came.h"
#include "bpf/nat/delivery.h"

/*
 * How requests and replies of a flow continue; see nat.bpf.c. `own`: this node made the packet, so
 * the replies end here, even if its address counts as a pod's.
 */
ALWAYS_INLINE void set_deliveries(struct nat_flow *reply, const struct packet *packet,
                                  const struct verdict *verdict, int own, int rewritten)
{
    if (at_exit(packet->hook)) {
        reply->reverse_delivery = NAT_DELIVER_STACK;
        reply->delivery = NAT_DELIVER_STACK;
        reply->flags |= NAT_FLOW_OUTBOUND;
    } else if (verdict->on_node && rewritten) {
        reply->reverse_delivery = NAT_DELIVER_LO;
        reply->delivery = NAT_DELIVER_NEIGH;
    } else if (verdict->on_node) {
        reply->reverse_delivery =
            packet->hook == NAT_HOOK_SVC_OUT ? NAT_DELIVER_LO : NAT_DELIVER_STACK;
        reply->delivery = NAT_DELIVER_STACK;
        if (own)
            reply->delivery =
                packet->hook == NAT_HOOK_SVC_OUT ? NAT_DELIVER_SVC0 : NAT_DELIVER_STACK;
        else
            reply->flags |= NAT_FLOW_AT_EXIT;
    } else if (rewritten) {
        reply->reverse_delivery = NAT_DELIVER_NEIGH;
        reply->delivery = NAT_DELIVER_NEIGH;
        if (own)
            reply->delivery = packet->hook == NAT_HOOK_SVC_OUT ? NAT_DELIVER_SVC0 : NAT_DELIVER_LO;
    } else {
        reply->reverse_delivery = NAT_DELIVER_STACK;
        reply->delivery = NAT_DELIVER_STACK;
        reply->flags |= NAT_FLOW_AT_EXIT;
    }
}

/* This node's address for packets that leave masqueraded by a device. Returns 0 or -cause. */
ALWAYS_INLINE int source_at(__u32 out, __u8 family, struct nat_addr *ret_source)
{
    const struct nat_interface_value *value = bpf_map_lookup_elem(&interfaces, &out);
    if (!value || value->check != out) {
        out = 0;
        value = bpf_map_lookup_elem(&interfaces, &out);
        if (!value)
            return -NAT_CAUSE_NO_ROUTE;
    }
    *ret_source = family == 4 ? value->v4 : value->v6;
    return ret_source->halves[0] | ret_source->halves[1] ? 0 : -NAT_CAUSE_NO_ROUTE;
}

/*
 * Finds the next hop of a masqueraded packet, and the source address that the packet gets. Returns
 * 0 or -cause.
 */
SUBPROGRAM int masquerade_source(struct __sk_buff *skb, const struct packet *packet,
                                 const struct verdict *verdict, struct next_hop *ret_next_hop,
                                 struct nat_addr *ret_source)
{
    if (verdict->on_node) {
        *ret_source = verdict->addr;
        return 0;
    }
    __u32 answer = next_hop_find(skb, packet, &packet->tuple.src, &verdict->addr, ret_next_hop);
    if (answer)
        return answer == BPF_FIB_LKUP_RET_FRAG_NEEDED ? -NAT_CAUSE_TOO_BIG : -NAT_CAUSE_NO_ROUTE;
    if (next_hop_is_back(skb, packet, ret_next_hop))
        return -NAT_CAUSE_NO_ROUTE;
    return source_at(ret_next_hop->fib.ifindex, packet->family, ret_source);
}

/*
 * Whether the packet of a new flow passes through the stack, although it is masqueraded, and gets
 * its source where it leaves. Not from svc0: the stack would route it there again. Nor if it is for
 * XFRM, which would encrypt it before it leaves.
 */
ALWAYS_INLINE int has_snat(const struct nat_control *control, const struct packet *packet,
                           const struct verdict *verdict)
{
    return (control->path & (NAT_PATH_STACK | NAT_PATH_WHOLE)) == NAT_PATH_STACK &&
           verdict->masquerade != NAT_MASQUERADE_NO &&
           (packet->hook == NAT_HOOK_UPLINK_IN || packet->hook == NAT_HOOK_POD_IN);
}

/*
 * Whether a packet at svc0 entered by an interface that the agent has not handled yet: its flow is
 * masqueraded, since no program there would translate the replies. Such are the interfaces of pods
 * that start while no agent runs.
 */
ALWAYS_INLINE int is_unseen(struct __sk_buff *skb, const struct packet *packet)
{
    __u32 in = skb->ingress_ifindex;
    return packet->hook == NAT_HOOK_SVC_OUT && in && !bpf_map_lookup_elem(&interfaces, &in);
}

/*
 * Judges the packet in the scratch room as the first of a flow, into the verdict there, and ensures
 * that the replies return here. `pick`: see choose(). Returns 0.
 */
GLOBAL int decide(struct __sk_buff *skb, __u32 pick)
{
    const struct nat_control *control = control_get();
    struct scratch *room = scratch_get();
    if (!control || !room)
        return 0;
    struct verdict *verdict = &room->verdict;
    __builtin_memset(verdict, 0, sizeof(*verdict));
    room->source = source_of(control, &room->packet);
    verdict->origin = origin_of(skb, &room->packet, room->source);
    choose(control, &room->packet, pick, verdict);
    if (verdict->act == NAT_ACT_FORWARD && is_unseen(skb, &room->packet))
        verdict->masquerade = NAT_MASQUERADE_YES;
    return 0;
}

/*
 * Whether a masqueraded flow may keep its client's port: privileged ports have a meaning to some
 * servers, and a packet to a node port is treated as a request.
 */
ALWAYS_INLINE int may_keep_port(const struct nat_control *control, const struct nat_tuple *reply)
{
    return bpf_ntohs(reply->dport) >= 1024 && !filter_has(control, &reply->dst, reply->dport);
}

/* Whether requests and replies have the same tuple: from a pod to itself, from the same port. */
ALWAYS_INLINE int is_mirrored(const struct nat_tuple *tuple)
{
    return tuple->sport == tuple->dport && addr_equal(&tuple->src, &tuple->dst);
}

/* Makes a forward half, for its first packet, of the reply half of the same flow. */
ALWAYS_INLINE void make_forward(struct __sk_buff *skb, const struct packet *packet,
                                const struct nat_tuple *to, struct nat_flow *half)
{
    __u8 delivery = half->reverse_delivery;
    half->reverse_delivery = half->delivery;
    half->delivery = delivery;
    half->to = *to;
    half->half = NAT_HALF_FORWARD;
    half->packets = 1;
    half->bytes = skb->len;
    half->next = packet->end;
    half->ack = packet->ack;
    half->check = nat_tuple_check(&packet->tuple);
}

/* Fills in what a reply half has from the packet and the verdict, except its deliveries. */
ALWAYS_INLINE void fill_reply(struct nat_flow *reply, const struct packet *packet,
                              const struct verdict *verdict)
{
    tuple_reverse(&packet->tuple, &reply->to);
    reply->service = verdict->service;
    reply->port = verdict->port;
    reply->endpoint = verdict->endpoint;
    reply->generation = verdict->generation;
    reply->seen_s = now_s();
    reply->half = NAT_HALF_REPLY;
    if (verdict->masquerade == NAT_MASQUERADE_YES)
        reply->flags = NAT_FLOW_MASQ;
    else if (verdict->masquerade == NAT_MASQUERADE_HAIRPIN)
        reply->flags = NAT_FLOW_HAIRPIN;
}

/* The source of a flow's replies, and their destination if the flow's source is unchanged. */
ALWAYS_INLINE void fill_reply_tuple(struct nat_tuple *reply, const struct packet *packet,
                                    const struct verdict *verdict)
{
    reply->src = verdict->addr;
    reply->sport = verdict->endpoint_port;
    reply->dst = packet->tuple.src;
    reply->dport = packet->tuple.sport;
    reply->protocol = packet->tuple.protocol;
}

/*
 * Makes both halves of a flow. Returns its delivery, with the packet's new tuple; TAKEN if another
 * CPU has just made it; or -cause.
 */
GLOBAL int flow_make(struct __sk_buff *skb)
{
    const struct nat_control *control = control_get();
    struct scratch *room = scratch_get();
    if (!control || !room)
        return -NAT_CAUSE_NO_ROUTE;
    const struct packet *packet = &room->packet;
    const struct verdict *verdict = &room->verdict;
    struct claim *claim = &room->claim;
    __builtin_memset(claim, 0, sizeof(*claim));
    /* To an endpoint on this node the source stays: the stack accepts its address on lo only. */
    int own = is_own(skb, packet);
    int exit = at_exit(packet->hook);
    int rewritten =
        is_unseen(skb, packet) || ((verdict->masquerade != NAT_MASQUERADE_NO || own) &&
                                   !verdict->on_node && !has_snat(control, packet, verdict));
    struct nat_tuple *reply = &claim->reply;
    fill_reply_tuple(reply, packet, verdict);
    room->next_hop_found = rewritten && !exit && !verdict->on_node;
    if (rewritten && exit) {
        int r = source_at(skb->ifindex, packet->family, &reply->dst);
        if (r < 0)
            return r;
    } else if (rewritten) {
        int r = masquerade_source(skb, packet, verdict, &room->next_hop, &reply->dst);
        if (r < 0)
            return r;
        if (verdict->masquerade == NAT_MASQUERADE_NO)
            reply->dst = packet->tuple.src;
    }

    fill_reply(&claim->value, packet, verdict);
    set_deliveries(&claim->value, packet, verdict, own, rewritten);
    claim->first = control->snat_first;
    claim->count = control->snat_count;
    claim->family = packet->family;
    claim->keep = rewritten ? may_keep_port(control, reply) : !is_mirrored(reply);
    claim->sockets = rewritten || (verdict->on_node && packet->tuple.protocol == IPPROTO_TCP);
    if (room->reopens && claim->keep && flow_again(room, skb->len)) {
        room->to = room->old;
        if (!exit)
            count_flow(verdict->service);
        return claim->value.reverse_delivery;
    }
    claim->value.slot = flow_slot(packet, room);
    if (claim->value.slot == NAT_NO_SLOT)
        return -NAT_CAUSE_FLOWS_FULL;
    if (!claim_any(skb))
        return -NAT_CAUSE_SNAT_EXHAUSTED;
    ring_put(claim->value.slot, reply);
    if (room->came == CAME_RIGHT)
        came_begin(skb, packet, claim->value.slot);

    tuple_reverse(reply, &room->to);
    make_forward(skb, packet, &room->to, &claim->value);
    /* If the table refuses the forward half now, the reply half rebuilds it once answered. */
    if (flow_complete(&packet->tuple, room) == -EEXIST) {
        bpf_map_delete_elem(&flows, reply);
        return TAKEN;
    }
    if (!exit)
        count_flow(verdict->service);
    return claim->value.delivery;
}

/* Makes a flow and sends its first packet along it. */
ALWAYS_INLINE int begin_flow(struct __sk_buff *skb, struct packet *packet,
                             const struct verdict *verdict)
{
    struct scratch *room = scratch_get();
    if (!room)
        return SHOT;
    int r = flow_make(skb);
    if (r == TAKEN) {
        const struct nat_flow *flow = flow_find(&packet->tuple);
        if (!flow || flow->half != NAT_HALF_FORWARD)
            return SHOT;
        room->to = flow->to;
        room->next_hop_found = 0; /* the other CPU's flow may lead to another endpoint */
        r = flow->delivery;
    }
    if (r == -NAT_CAUSE_TOO_BIG)
        return refuse_too_big(skb, packet, verdict->service, &room->next_hop);
    if (r == -NAT_CAUSE_SNAT_EXHAUSTED) /* reports which endpoint has no free port */
        tuple_reverse(&room->claim.reply, &packet->tuple);
    if (r < 0)
        return drop(skb, packet, verdict->service, -r);
    if (r != NAT_DELIVER_NEIGH || !room->next_hop_found)
        return forward(skb, r, at_exit(packet->hook) ? 0 : verdict->service);
    count_packet(skb, verdict->service);
    return forward_by(skb, verdict->service);
}

/*
 * Reserves the tuple of a connection straight to an endpoint: that of its replies, which is in
 * `room->claim`. Returns 0, or < 0: -EEXIST if a flow has it.
 */
SUBPROGRAM int keep_direct(struct scratch *room)
{
    const struct nat_tuple *reply = &room->claim.reply;
    struct nat_flow *direct = &room->claim.value;
    const struct nat_flow *flow = flow_find(reply);
    if (flow && flow->half == NAT_HALF_DIRECT)
        return 0;
    if (flow && flow_end(reply, NAT_NO_SLOT, WORTH_PAST))
        return -EEXIST;
    __builtin_memset(direct, 0, sizeof(*direct));
    direct->seen_s = now_s();
    direct->half = NAT_HALF_DIRECT;
    direct->check = nat_tuple_check(reply);
    direct->slot = ring_take();
    if (direct->slot == NAT_NO_SLOT)
        return 0;
    int r = flow_insert(reply, direct);
    if (r == 0)
        ring_put(direct->slot, reply);
    return r;
}

/*
 * A connection straight to an endpoint leaves a direct half, so that no flow gets the same tuple.
 * Returns 1 where a flow has that tuple already, so that the connection has to get another source
 * port; `room->verdict` is then its endpoint.
 */
ALWAYS_INLINE int direct_gives_next_hop(const struct packet *packet, struct scratch *room)
{
    tuple_reverse(&packet->tuple, &room->claim.reply);
    if (keep_direct(room) != -EEXIST)
        return 0;
    const struct nat_flow *flow = flow_find(&room->claim.reply);
    if (!flow || flow->half != NAT_HALF_REPLY)
        return 0;
    room->verdict.addr = packet->tuple.dst;
    room->verdict.endpoint_port = packet->tuple.dport;
    return 1;
}

/* TCP that conntrack considers invalid as the first packet of a connection: an endpoint could not
 * use it, and its reset would reach the client with the endpoint's own address. */
ALWAYS_INLINE int opens_nothing(const struct packet *packet)
{
    __u8 flags = packet->tcp & (TCP_FIN | TCP_SYN | TCP_RST | TCP_ACK);
    if (packet->tuple.protocol != IPPROTO_TCP)
        return 0;
    return flags != TCP_SYN && flags != TCP_ACK && flags != (TCP_SYN | TCP_FIN);
}

ALWAYS_INLINE int is_opening(const struct packet *packet)
{
    return packet->tuple.protocol != IPPROTO_TCP ||
           (packet->tcp & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) == TCP_SYN;
}

ALWAYS_INLINE int has_ports(const struct packet *packet)
{
    return packet->shape == SHAPE_PORTS || packet->shape == SHAPE_FIRST ||
           (packet->shape == SHAPE_LATER && (packet->tuple.sport || packet->tuple.dport));
}

ALWAYS_INLINE int is_multicast(const struct packet *packet)
{
    if (packet->family == 6)
        return packet->tuple.dst.bytes[0] == 0xff;
    return packet->tuple.dst.bytes[12] >= 224;
}

/* Judges a packet that belongs to no flow. */
GLOBAL int judge(struct __sk_buff *skb)
{
    const struct nat_control *control = control_get();
    struct scratch *room = scratch_get();
    if (!control || !room)
        return NEXT;
    struct packet *packet = &room->packet;
    struct verdict *verdict = &room->verdict;
    decide(skb, 0);
    room->came = CAME_UNCHECKED;
    if (verdict->act == NAT_ACT_FORWARD) {
        if (opens_nothing(packet))
            return drop(skb, packet, verdict->service, NAT_CAUSE_INVALID);
        room->came = came_first(skb, packet, room->source);
        if (room->came == CAME_WRONG)
            return drop(skb, packet, verdict->service, NAT_CAUSE_REVERSE_PATH);
        if (verdict->affinity_s)
            remember(packet, verdict);
        return begin_flow(skb, packet, verdict);
    }
    if (room->reopens)
        flow_forget(&packet->tuple, &room->old);
    if (verdict->act == NAT_ACT_REJECT)
        return refuse_with(skb, packet, verdict->service, verdict->cause, ANSWER_PORT_UNREACHABLE);
    if (verdict->act == NAT_ACT_DROP)
        return drop(skb, packet, verdict->service, verdict->cause);
    if (verdict->cause == NAT_CAUSE_OTHER_PROXY)
        return NEXT;
    if (packet->hook == NAT_HOOK_SVC_OUT) {
        if (is_multicast(packet))
            return NEXT;
        return refuse_with(skb, packet, 0, NAT_CAUSE_UNMAPPED_PORT, ANSWER_PORT_UNREACHABLE);
    }
    if (packet->hook != NAT_HOOK_LO_OUT && has_ports(packet) && is_opening(packet) &&
        filter_has(control, &packet->tuple.dst, packet->tuple.dport) &&
        direct_gives_next_hop(packet, room))
        return begin_flow(skb, packet, verdict);
    return NEXT;
}
