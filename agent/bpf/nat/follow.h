/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets that belong to a flow, and ICMP errors about such packets.
 */
#pragma once

#include "bpf/flow/came.h"
#include "bpf/flow/segment.h"
#include "bpf/nat/delivery.h"
#include "bpf/packet/icmp_error.h"

enum { SILENT_S = 60 }; /* an endpoint that is gone, and was silent for this long */

/* Whether a packet may begin a flow again: most TCP segments can't, and need no check. */
ALWAYS_INLINE int may_begin_anew(const struct packet *packet)
{
    return packet->tuple.protocol != IPPROTO_TCP || (packet->tcp & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

/*
 * Whether such a packet of a forward half begins a new flow: a datagram whose flow has been silent
 * for too long, or whose endpoint is gone; a SYN under the tuple of a connection that is over, was
 * silent for too long, or can't continue because its endpoint is gone. A SYN does not affect a live
 * connection: it may be forged.
 */
SUBPROGRAM int begins_anew(const struct packet *packet, const struct nat_flow *flow)
{
    struct nat_tuple reverse_key;
    const struct nat_control *control = control_get();
    __u8 protocol = packet->tuple.protocol;
    int tcp = protocol == IPPROTO_TCP;
    if (!control)
        return 0;
    if (tcp && flow->flags & NAT_FLOW_RST) /* both halves have it: closed */
        return 1;
    int gone = flow->endpoint && !endpoint_lives(flow->endpoint, flow->generation);
    if (!tcp && gone)
        return 1;
    if (!tcp && idle_s(flow) <= (__s32)nat_timeout_s(control, flow, protocol, NAT_STATE_UNANSWERED))
        return 0;
    const struct nat_flow *reverse = flow_find_reverse(&packet->tuple, &flow->to, &reverse_key);
    __u8 alone = 0;
    if (!reverse) {
        reverse = flow;
        alone = 1;
    }
    enum nat_state state = nat_flow_state(flow, reverse, alone, protocol);
    if (state == NAT_STATE_CLOSED ||
        flow_idle_s(flow, reverse) > (__s32)nat_timeout_s(control, flow, protocol, state))
        return 1;
    if (!gone)
        return 0;
    return state != NAT_STATE_ESTABLISHED || alone || idle_s(reverse) > SILENT_S;
}

/* Sends a packet along its flow. Returns the verdict, or 1 if it belongs to no flow. */
GLOBAL int follow(struct __sk_buff *skb)
{
    const struct nat_control *control = control_get();
    struct scratch *room = scratch_get();
    if (!control || !room)
        return 1;
    struct packet *packet = &room->packet;
    struct nat_flow *flow = flow_find(&packet->tuple);
    if (!flow)
        return 1;
    __u32 delivery = flow->delivery, service = flow->service, half = flow->half,
          now = clock_s(&room->clock);
    if (delivery == NAT_DELIVER_EGRESS)
        return NEXT;
    if (came_wrong(skb, packet, flow))
        return drop(skb, packet, service, NAT_CAUSE_REVERSE_PATH);
    if (half == NAT_HALF_FORWARD) {
        if (!!(flow->flags & NAT_FLOW_OUTBOUND) != at_exit(packet->hook))
            return NEXT;
        if ((may_begin_anew(packet) && begins_anew(packet, flow)) ||
            (flow->seen_s != now && flow_keep_reverse(&packet->tuple, flow) < 0)) {
            room->old = flow->to;
            room->reopens = 1;
            return 1;
        }
    } else if (half == NAT_HALF_DIRECT) {
        if (at_exit(packet->hook))
            return NEXT;
    } else if (!!(flow->flags & NAT_FLOW_AT_EXIT) != at_exit(packet->hook)) {
        return NEXT;
    }
    int outbound = flow->flags & NAT_FLOW_OUTBOUND;
    room->to = flow->to;
    /*
     * If its flow, which is over, does not translate it, a reply would reach the client from the
     * endpoint.
     */
    if (half == NAT_HALF_REPLY && nat_flow_is_source_snat(flow->flags) && !flow_find(&room->to))
        return drop(skb, packet, service, NAT_CAUSE_INVALID);
    note(skb, packet, flow, now);
    if (half == NAT_HALF_DIRECT)
        return NEXT;
    /* The flow before a SNAT entry counts for the Service. */
    return hand_on(skb, control, room, delivery, outbound ? 0 : service);
}

/*
 * Translates an ICMP error about a packet of a flow: its receiver knows that packet by its original
 * tuple. Returns the verdict on the error; 1 if it is none; or STRANGER if it is about no flow:
 * `room->to` is then the tuple that it quotes. XFRM policies see the error, as they see the flow.
 */
GLOBAL int follow_error(struct __sk_buff *skb)
{
    struct nat_tuple other;
    struct nat_addr src, dst;
    const struct nat_control *control = control_get();
    struct scratch *room = scratch_get();
    if (!control || !room || !parse_icmp_error(skb, &room->to))
        return 1;
    struct packet *packet = &room->packet;
    const struct nat_tuple *inner = &room->to;
    tuple_reverse(inner, &other);
    const struct nat_flow *flow = flow_find(&other);
    if (!flow)
        return STRANGER;
    if (flow->half == NAT_HALF_DIRECT || flow->delivery == NAT_DELIVER_EGRESS)
        return 1;
    __u8 exits = flow->half == NAT_HALF_FORWARD ? NAT_FLOW_OUTBOUND : NAT_FLOW_AT_EXIT;
    if (!!(flow->flags & exits) != at_exit(packet->hook))
        return NEXT;
    __u32 delivery = flow->delivery;
    /*
     * The error comes from the service's address, whether the endpoint or a router on the path sent
     * it. Conntrack does the same, and strict reverse path filters would drop a router's address.
     */
    src = flow->to.src;
    dst = flow->to.dst;
    tuple_reverse(&flow->to, &other);
    int past = delivery == NAT_DELIVER_NEIGH ||
               (delivery == NAT_DELIVER_STACK && packet->hook == NAT_HOOK_SVC_OUT);
    int own = is_own(skb, packet);
    __u32 in = past && is_for_xfrm(own) ? way_in(skb, control, packet, &src) : 0;
    if (past && !in && next_hop_find(skb, packet, &src, &dst, &room->next_hop))
        return SHOT;
    if (icmp_error_translate(skb, inner, &other, &src, &dst) < 0)
        return SHOT;
    if (in)
        return enter_by(skb, control, in);
    if (past)
        return next_hop_send(skb, &room->next_hop, own);
    return pass_on(skb, control, delivery);
}
