/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets that belong to a flow, and ICMP errors about such packets.
 */
#pragma once

#include "bpf/hand.h"
#include "bpf/icmp_error.h"

/* Whether a forward half no longer holds for this packet, which is then judged like a new flow's.
 */
ALWAYS_INLINE int is_outdated(const struct packet *packet, const struct nat_flow *flow,
                              int established)
{
    if (packet->tuple.protocol == IPPROTO_TCP) {
        if ((packet->tcp & (TCP_SYN | TCP_ACK)) == TCP_SYN &&
            (flow_is_over(&packet->tuple, flow, established) ||
             (flow->endpoint && !endpoint_lives(flow->endpoint, flow->generation))))
            return 1;
    } else if (flow->endpoint && !endpoint_lives(flow->endpoint, flow->generation)) {
        return 1;
    }
    if (established)
        return 0;
    __s32 idle_s = (__s32)(now_s() - flow->seen_s);
    return idle_s > (packet->tuple.protocol == IPPROTO_TCP ? TCP_UNANSWERED_S : UDP_UNANSWERED_S);
}

/*
 * A half-open flow may have lost its reply half to a flood: inserts it again. Returns 0, or < 0 if
 * another flow has taken its tuple.
 */
SUBPROGRAM int keep_reply_half(const struct nat_tuple *key)
{
    struct nat_tuple mate_key;
    struct nat_flow mate;
    int established;
    const struct nat_flow *flow = bpf_map_lookup_elem(&flows_new, key);
    if (!flow || flow_find_mate(key, &flow->to, &mate_key, &established))
        return 0;
    flow_mate(key, flow, &mate_key, &mate);
    return flow_insert(&mate_key, &mate) == -EEXIST ? -1 : 0;
}

SUBPROGRAM int mate_has_closed(const struct nat_tuple *key, const struct nat_flow *flow)
{
    struct nat_tuple mate_key;
    int established;
    const struct nat_flow *mate = flow_find_mate(key, &flow->to, &mate_key, &established);
    return mate && mate->flags & NAT_FLOW_FIN;
}

ALWAYS_INLINE void note(struct __sk_buff *skb, const struct packet *packet, struct nat_flow *flow)
{
    __u32 now = now_s();
    if (flow->seen_s != now)
        flow->seen_s = now;
    flow->packets++;
    flow->bytes += skb->len;
    if (packet->tcp & TCP_RST)
        flow->flags |= NAT_FLOW_RST;
    if (packet->tcp & TCP_FIN && !(flow->flags & NAT_FLOW_FIN))
        flow->flags |= NAT_FLOW_FIN | (mate_has_closed(&packet->tuple, flow) ? 0 : NAT_FLOW_FIRST);
    else if ((flow->flags & (NAT_FLOW_FIRST | NAT_FLOW_LAST)) == NAT_FLOW_FIRST &&
             (packet->tcp & (TCP_ACK | TCP_FIN)) == TCP_ACK &&
             mate_has_closed(&packet->tuple, flow))
        flow->flags |= NAT_FLOW_LAST;
}

/* Sends a packet along its flow. Returns what becomes of it, or 1 if it belongs to no flow. */
SUBPROGRAM int follow(struct __sk_buff *skb, struct packet *packet)
{
    int established;
    struct nat_flow *flow = flow_find(&packet->tuple, &established);
    if (!flow)
        return 1;
    struct nat_tuple to = flow->to;
    __u32 hand = flow->hand, service = flow->service, half = flow->half;
    if (half == NAT_HALF_DIRECT) {
        if (!at_exit(packet->hook))
            note(skb, packet, flow);
        return NEXT;
    }
    if (half == NAT_HALF_FORWARD) {
        if (at_exit(packet->hook))
            return NEXT;
        if (is_outdated(packet, flow, established) ||
            (!established && keep_reply_half(&packet->tuple) < 0)) {
            flow_reopen(&packet->tuple, &to);
            return 1;
        }
    } else if (!!(flow->flags & NAT_FLOW_AT_EXIT) != at_exit(packet->hook)) {
        return NEXT;
    }
    note(skb, packet, flow);
    if (half == NAT_HALF_REPLY && !established && !(packet->tcp & TCP_RST))
        flow_answer(&packet->tuple);
    return forward(skb, packet, &to, hand, service);
}

/*
 * Translates an ICMP error about a packet of a flow: its receiver knows that packet by the tuple it
 * had before. Returns what becomes of the error, or 1 if it is about no flow.
 */
SUBPROGRAM int follow_error(struct __sk_buff *skb, struct packet *packet)
{
    struct nat_tuple other;
    struct nat_addr src, dst;
    int established;
    const struct nat_control *control = control_get();
    struct scratch *room = scratch_get();
    if (!control || !room || !parse_icmp_error(skb, &room->to))
        return 1;
    const struct nat_tuple *inner = &room->to;
    tuple_reverse(inner, &other);
    const struct nat_flow *flow = flow_find(&other, &established);
    if (!flow || flow->half == NAT_HALF_DIRECT)
        return 1;
    if (flow->half == NAT_HALF_FORWARD
            ? at_exit(packet->hook)
            : !!(flow->flags & NAT_FLOW_AT_EXIT) != at_exit(packet->hook))
        return NEXT;
    __u32 hand = flow->hand;
    /*
     * The error comes from the service's address, whether the endpoint or a router on the way sent
     * it. Conntrack does the same, and strict reverse path filters would drop a router's address.
     */
    src = flow->to.src;
    dst = flow->to.dst;
    tuple_reverse(&flow->to, &other);
    int past =
        hand == NAT_HAND_NEIGH || (hand == NAT_HAND_STACK && packet->hook == NAT_HOOK_SVC_OUT);
    if (past && way_find(skb, packet, &src, &dst, &room->way))
        return SHOT;
    if (icmp_error_translate(skb, inner, &other, &src, &dst) < 0)
        return SHOT;
    if (past)
        return way_send(&room->way, is_own(skb, packet));
    return pass_on(skb, control, hand);
}
