/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A new flow under the tuple of one that is over: a client has reused its port, which proxies with
 * many connections do all the time. follow.h finds the old flow (`room->old` is its destination
 * tuple); here its remains are reused to save work.
 *
 * If the new flow leads to the same endpoint by the same source port, both halves have their keys
 * and translations already: they are restarted in place, and late packets of the old flow are
 * translated as before. Otherwise the new flow takes over its slot and replaces it.
 */
#pragma once

#include "bpf/flow/claim.h"

/* The flags that a flow has from its first packet on; the others record its later state. */
#define FLOW_KIND (NAT_FLOW_MASQ | NAT_FLOW_HAIRPIN | NAT_FLOW_AT_EXIT | NAT_FLOW_OUTBOUND)

/* Whether a reply half delivers packets in the same way as the one to be made (`made`). */
ALWAYS_INLINE int again_fits(const struct nat_flow *reply, const struct nat_flow *made)
{
    return reply->half == NAT_HALF_REPLY && reply->delivery == made->delivery &&
           reply->reverse_delivery == made->reverse_delivery &&
           (reply->flags & FLOW_KIND) == made->flags;
}

/* Resets all of a half that a new flow changes, except its age. */
ALWAYS_INLINE void again_half(struct nat_flow *half, const struct nat_flow *made)
{
    half->service = made->service;
    half->port = made->port;
    half->endpoint = made->endpoint;
    half->generation = made->generation;
    half->flags = made->flags;
    half->next = half->ack = 0;
    half->packets = half->bytes = 0;
}

/*
 * Restarts the flow that is over as the one that `room->claim` describes, for its first packet of
 * `length` bytes. Returns 0 if it leads elsewhere, or is just being ended: the age is changed as in
 * flow_seize(), so that only one of the two succeeds. CPUs that restart it at the same time write
 * the same values.
 */
SUBPROGRAM int flow_again(struct scratch *room, __u32 length)
{
    struct nat_tuple reply_key;
    const struct nat_flow *made = &room->claim.value;
    const struct packet *packet = &room->packet;
    struct nat_flow *forward = flow_find(&packet->tuple);
    tuple_reverse(&room->old, &reply_key);
    if (!forward || forward->half != NAT_HALF_FORWARD || !tuple_equal(&forward->to, &room->old) ||
        !tuple_equal(&room->claim.reply, &reply_key))
        return 0;
    struct nat_flow *reply = flow_find(&reply_key);
    if (!reply || !again_fits(reply, made) || !tuple_equal(&reply->to, &made->to))
        return 0;
    union flow_age age = flow_age(reply), now = { .seen_s = made->seen_s, .check = age.check };
    again_half(reply, made);
    if (age.check != nat_tuple_check(&reply_key) ||
        __sync_val_compare_and_swap((__u64 *)&reply->seen_s, age.word, now.word) != age.word)
        return 0;
    again_half(forward, made);
    forward->packets = 1;
    forward->bytes = length;
    forward->next = packet->end;
    forward->ack = packet->ack;
    forward->seen_s = made->seen_s;
    return 1;
}

/*
 * A slot for the flow being made, or NAT_NO_SLOT: that of the flow which is over, and whose reply
 * tuple it frees, or else the next of the ring. The hand of the ring may be passing the former, and
 * assign it a second time; the flow that the slot no longer names waits for the agent's sweep.
 */
ALWAYS_INLINE __u32 flow_slot(const struct packet *packet, const struct scratch *room)
{
    __u32 slot = room->reopens ? flow_free_reply(&packet->tuple, &room->old) : NAT_NO_SLOT;
    return slot == NAT_NO_SLOT ? ring_take() : slot;
}

/*
 * Inserts the forward half, or replaces that of the flow which is over. Returns the same as
 * flow_insert(). If two CPUs replace it at the same time, the last one stays, and the replies to
 * both packets are translated.
 */
SUBPROGRAM int flow_complete(const struct nat_tuple *key, struct scratch *room)
{
    if (room->reopens && flow_leads(key, &room->old))
        return map_put(&flows, key, &room->claim.value, BPF_ANY);
    return flow_insert(key, &room->claim.value);
}
