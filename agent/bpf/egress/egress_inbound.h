/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The flow of a packet from or to a pod; and the state of flows that begin outside (egress_pin.h).
 */
#pragma once

#include "bpf/egress/egress_pin.h"

/* ---- packets from a pod ---- */

/* The same for ICMP. */
ALWAYS_INLINE int key_of_icmp(struct __sk_buff *skb, struct room *room)
{
    __u8 type = 0;
    int shape = quote_read(skb, L3, &room->upper, &room->inner, &room->quoted);
    if (shape == INNER_ERROR) { /* about a packet that it received: of the same flow */
        tuple_reverse(&room->quoted, &room->key);
        room->manner = MANNER_ERROR;
        return 0;
    }
    if (shape != INNER_PORTS)
        return -EGRESS_CAUSE_PROTOCOL;
    bpf_skb_load_bytes(skb, room->upper.offset, &type, sizeof(type));
    room->key = room->inner;
    room->manner = echo_side(room->inner.protocol, type) == 2 ? MANNER_ANSWERS : MANNER_OPENS;
    return 0;
}

/* The key of the packet's pin, and what the packet shows of the flow. Returns 0, or -cause. */
ALWAYS_INLINE int key_of(struct __sk_buff *skb, struct room *room)
{
    struct packet *packet = &room->packet;
    if (packet->shape == SHAPE_BAD || packet->shape == SHAPE_DEEP)
        return -EGRESS_CAUSE_MALFORMED;
    if (has_icmp_head(packet))
        return key_of_icmp(skb, room);
    if (packet->tuple.protocol != IPPROTO_TCP && packet->tuple.protocol != IPPROTO_UDP &&
        packet->shape != SHAPE_LATER)
        return -EGRESS_CAUSE_PROTOCOL;
    room->key = packet->tuple;
    room->manner = packet->tuple.protocol != IPPROTO_TCP ? MANNER_OPENS
                   : !is_syn(packet)                     ? MANNER_GOES_ON
                   : packet->tcp & TCP_ACK               ? MANNER_ANSWERS
                                                         : MANNER_OPENS;
    return 0;
}

/* ---- packets to a pod, not by a gateway ---- */

/* The key of a packet that did not come by a gateway, as of the pod's reply. Returns 0: the pod
 * can't reply to it. */
ALWAYS_INLINE int key_of_answer(struct __sk_buff *skb, struct room *room)
{
    const struct packet *packet = &room->packet;
    if (packet->shape == SHAPE_PORTS || packet->shape == SHAPE_FIRST) {
        tuple_reverse(&packet->tuple, &room->key);
        return 1;
    }
    if (!has_icmp_head(packet) ||
        quote_read(skb, L3, &room->upper, &room->inner, &room->quoted) != INNER_PORTS)
        return 0;
    tuple_reverse(&room->inner, &room->key);
    return 1;
}

/* A datagram from outside: the pod may reply to it for a while. */
ALWAYS_INLINE void note_datagram(struct room *room, struct egress_pin *pin)
{
    __u32 now = clock_s(&room->clock);
    if (pin && !pin_over(pin, now)) {
        if (pin->gateway & EGRESS_PIN_INBOUND && pin->used_s != now)
            WRITE_ONCE(pin->used_s, now);
        return;
    }
    __builtin_memset(&room->pin, 0, sizeof(room->pin));
    room->pin.key = room->key;
    room->pin.gateway = EGRESS_PIN_INBOUND | EGRESS_PIN_SEEN;
    room->pin.used_s = now;
    pin_put(&room->pin);
}

/*
 * A packet from outside that did not come by a gateway: its replies are to take the path by which
 * it came.
 */
ALWAYS_INLINE void note_inbound(struct __sk_buff *skb, struct room *room,
                                struct egress_pod_value *pod)
{
    const struct packet *packet = &room->packet;
    int datagram = packet->tuple.protocol == IPPROTO_UDP, stays;
    __u32 known = READ_ONCE(pod->traits) & EGRESS_POD_INBOUND;
    if ((known && !datagram) || !key_of_answer(skb, room) ||
        !set_find(pod->policy, &room->key.dst, packet->family, &stays))
        return;
    struct egress_pin *pin = pin_get(&room->key);
    if (datagram)
        note_datagram(room, pin);
    if (!known && (!pin || pin->gateway & EGRESS_PIN_INBOUND))
        __sync_fetch_and_or(&pod->traits, EGRESS_POD_INBOUND);
}
