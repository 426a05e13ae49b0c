/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tracks the state of flows by their packets. follow.h calls note() for each packet of a flow.
 *
 * The first packet of a reply half is the endpoint's answer, and the first of the forward half
 * after it confirms the flow. Both are stored as flags; nat_flow_state() in flow_abi.h reads them.
 *
 * For TCP, each half stores the sequence number after all data it has carried in order (`next`),
 * and the last acknowledgement it has carried (`ack`), which is what its sender expects from the
 * other side. A RST or a FIN counts only at exactly the number that the other side expects (RFC
 * 5961, section 3.2): so a host that has to guess it can't end a flow. A valid RST is discarded
 * when the connection continues nevertheless, and so is a FIN when more data follows.
 *
 * Where a segment was lost before it arrived here, `next` stays behind; once a second it is set to
 * what the other side has acknowledged.
 */
#pragma once

#include "bpf/flow/flow.h"

enum { SPAN = 1 << 25 /* bytes in flight: larger than any window */ };

/*
 * Records in both halves that the endpoint has answered. If the forward half is missing, it is made
 * again.
 */
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
 * Records that the client has sent after the answer, or, in a direct connection, that the endpoint
 * has sent again.
 *
 * A client of TCP must acknowledge all data from the endpoint, to the byte: an attacker that does
 * not see the packets would have to guess the number; if a range were accepted, some thousands of
 * guesses would suffice. An endpoint sends nothing after its SYN-ACK before that; with TCP Fast
 * Open it may (RFC 7413), and a later acknowledgement counts. The reply half is checked for an
 * answer: the flag in this half may be lost where two CPUs write its flags at the same time.
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

/* Processes a RST: if it has the expected number, the flow is closed. */
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

/* The connection continues after a RST: the other side did not accept it. */
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

/* Segments before this one are missing: continues from what the other side has acknowledged. */
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
        flow->next = packet->end; /* a client that retries may use another number */
    if (packet->seq - flow->next + SPAN > 2 * SPAN)
        return; /* no sender is that far ahead: a guess */
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
