/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a packet tells of its flow's state. follow.h calls note() for each packet of a flow.
 *
 * The first packet of a reply half is the endpoint's answer, and the first of the forward half
 * after it confirms the flow. Both are remembered as flags; nat_flow_state() in flow_abi.h reads
 * them.
 *
 * Of TCP each half keeps the sequence number that follows all it has carried in order (`next`), and
 * the last acknowledgement it has carried (`ack`), which is what its sender expects of the other
 * side. A RST or a FIN counts only at exactly the number that the other side expects (RFC 5961,
 * section 3.2): so nobody who has to guess it can end a flow. A RST that was right is forgotten
 * when the connection goes on all the same, and so is a FIN when more data follows.
 *
 * Where a segment was lost before it came here, `next` stays behind; once a second it is brought to
 * what the other side has acknowledged.
 */
#pragma once

#include "bpf/flow/flow.h"

enum { SPAN = 1 << 25 /* bytes under way: more than windows are */ };

/* The endpoint has answered: both halves know. If the forward half is missing, it is made anew. */
SUBPROGRAM int note_answer(const struct nat_tuple *key, struct nat_flow *flow,
                           const struct packet *packet)
{
    struct nat_tuple reverse_key;
    flow->next = packet->end;
    flow->flags |= NAT_FLOW_ANSWERED;
    if (flow->half == NAT_HALF_DIRECT)
        return 0;
    struct nat_flow *reverse = flow_find_reverse(key, &flow->to, &reverse_key);
    if (reverse) {
        reverse->flags |= NAT_FLOW_ANSWERED;
        return 0;
    }
    struct nat_flow made;
    flow_reverse(key, flow, &reverse_key, &made);
    return flow_insert(&reverse_key, &made);
}

/*
 * The client has spoken after the answer, or an endpoint again that was spoken to directly. A
 * client of TCP must acknowledge all that the endpoint has said, to the byte: one that isn't there
 * would have to guess the number, and were a span enough, some thousands of guesses would do. An
 * endpoint says nothing behind its SYN-ACK before that; with TCP Fast Open it may (RFC 7413), and a
 * later acknowledgement counts. The reply half is asked whether there was an answer: the mark in
 * this half may be lost where two CPUs write its flags at once.
 */
SUBPROGRAM int note_confirmation(const struct nat_tuple *key, struct nat_flow *flow,
                                 const struct packet *packet)
{
    struct nat_tuple reverse_key;
    int tcp = key->protocol == IPPROTO_TCP;
    if (flow->half == NAT_HALF_FORWARD) {
        if (tcp && (packet->tcp & (TCP_ACK | TCP_SYN)) != TCP_ACK)
            return 0;
        const struct nat_flow *reverse = flow_find_reverse(key, &flow->to, &reverse_key);
        if (!reverse || !(reverse->flags & NAT_FLOW_ANSWERED) ||
            (tcp && packet->ack != reverse->next))
            return 0;
    }
    flow->flags |= NAT_FLOW_ANSWERED | NAT_FLOW_CONFIRMED;
    return 0;
}

/* A RST: if it is at the number that is expected, the flow is closed. */
SUBPROGRAM int note_reset(const struct nat_tuple *key, struct nat_flow *flow,
                          const struct packet *packet)
{
    struct nat_tuple reverse_key;
    struct nat_flow *reverse =
        flow->half == NAT_HALF_DIRECT ? NULL : flow_find_reverse(key, &flow->to, &reverse_key);
    int answered = flow->half == NAT_HALF_FORWARD || flow->flags & NAT_FLOW_ANSWERED;
    if (answered ? packet->seq != flow->next && (!reverse || packet->seq != reverse->ack)
                 : reverse && packet->ack != reverse->next) /* refuses the SYN */
        return 0;
    flow->flags |= NAT_FLOW_RST;
    if (reverse)
        reverse->flags |= NAT_FLOW_RST;
    return 0;
}

/* The connection goes on after a RST: the other side did not take it. */
SUBPROGRAM int note_revival(const struct nat_tuple *key, struct nat_flow *flow)
{
    struct nat_tuple reverse_key;
    flow->flags &= ~NAT_FLOW_RST;
    if (flow->half == NAT_HALF_DIRECT)
        return 0;
    struct nat_flow *reverse = flow_find_reverse(key, &flow->to, &reverse_key);
    if (reverse)
        reverse->flags &= ~NAT_FLOW_RST;
    return 0;
}

/* Segments are missing before this one: goes on from what the other side has acknowledged. */
SUBPROGRAM int note_gap(const struct nat_tuple *key, struct nat_flow *flow, __u32 seq)
{
    struct nat_tuple reverse_key;
    if (flow->half == NAT_HALF_DIRECT)
        return 0;
    const struct nat_flow *reverse = flow_find_reverse(key, &flow->to, &reverse_key);
    if (reverse && (__s32)(reverse->ack - flow->next) > 0 && (__s32)(seq - reverse->ack) >= 0)
        flow->next = reverse->ack;
    return 0;
}

ALWAYS_INLINE void note_segment(const struct packet *packet, struct nat_flow *flow, int first_in_s)
{
    if (packet->tcp & TCP_RST) {
        note_reset(&packet->tuple, flow, packet);
        return;
    }
    if (flow->flags & NAT_FLOW_RST)
        note_revival(&packet->tuple, flow);
    if (packet->tcp & TCP_SYN && !(flow->flags & NAT_FLOW_CONFIRMED))
        flow->next = packet->end; /* a client that tries again may begin elsewhere */
    if (packet->seq - flow->next + SPAN > 2 * SPAN)
        return; /* no sender is so far ahead: a guess */
    if (first_in_s && (__s32)(packet->seq - flow->next) > 0)
        note_gap(&packet->tuple, flow, packet->seq);
    if ((__s32)(packet->seq - flow->next) <= 0 && (__s32)(packet->end - flow->next) > 0) {
        flow->next = packet->end;
        flow->flags &= ~NAT_FLOW_FIN;
        if (packet->tcp & TCP_FIN)
            flow->flags |= NAT_FLOW_FIN;
    }
    if (packet->tcp & TCP_ACK)
        flow->ack = packet->ack;
}

/* `now`: in seconds. */
ALWAYS_INLINE void note(struct __sk_buff *skb, const struct packet *packet, struct nat_flow *flow,
                        __u32 now)
{
    int first_in_s = flow->seen_s != now;
    if (first_in_s)
        flow->seen_s = now;
    flow->packets++;
    flow->bytes += skb->len;
    if (flow->half != NAT_HALF_FORWARD && !(flow->flags & NAT_FLOW_ANSWERED)) {
        if (!(packet->tcp & TCP_RST))
            note_answer(&packet->tuple, flow, packet);
    } else if (flow->half != NAT_HALF_REPLY && !(flow->flags & NAT_FLOW_CONFIRMED)) {
        note_confirmation(&packet->tuple, flow, packet);
    }
    if (packet->tuple.protocol == IPPROTO_TCP)
        note_segment(packet, flow, first_in_s);
}
