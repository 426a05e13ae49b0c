/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pins ("egress_pins"): which gateway a pod's flow goes by. A flow keeps the gateway that it began
 * with until that gateway is gone, or the pod is given an Egress with other gateways: they answer
 * by a reset. This holds, too, where a connection's destination comes to be in the cluster: whom it
 * speaks to knows the gateway's address, not the pod's.
 *
 * Where that gateway takes no new flows, a connection that opens, and a flow that was silent,
 * choose another. One that does not know the pod gets none of its datagrams either.
 *
 * A flow that has lost its pin is given a gateway anew, which is the same one unless the set has
 * changed since, or finds it again by an answer (pin_restore()).
 *
 * A flow that began outside goes the way that it came. Of TCP no state says so, which somebody
 * could drive out: what is no SYN, and has no pin, goes straight. That is right for answers; a
 * connection of the pod's that has lost its pin is hurt by it, and only the pod itself can drive
 * that out. Pods to which nothing has come from outside (EGRESS_POD_INBOUND) have no such answers:
 * theirs goes to a gateway. Of UDP, what comes in is noted ("seen"), and the pod's answer makes it
 * a flow.
 */
#pragma once

#include "bpf/egress/egress_pin_table.h"
#include "bpf/egress/egress_room.h"
#include "bpf/packet/mss.h"

enum {
    FORGOTTEN_S = 30, /* silence after which gateways forget a question of UDP */
};

/*
 * Whether a flow is to stay with a gateway that takes no new ones: not if it begins just now, or
 * has been silent for so long that the gateway may have forgotten it.
 */
ALWAYS_INLINE int pin_lasts(const struct room *room, __u32 now)
{
    const struct egress_gateway_value *gateway = gateway_at(room->pin.gateway);
    __u32 word = gateway ? (__u32)READ_ONCE(gateway->word) : 0, shunned = word & room->shunned;
    if (word & EGRESS_GATEWAY_ACTIVE && !shunned)
        return 1;
    return room->key.protocol == IPPROTO_TCP
               ? !is_syn(&room->packet)
               : !shunned && !pin_silent(&room->pin, now, FORGOTTEN_S - 1);
}

/* Whether a pin names a gateway of the set that the flow goes to now: not if the pod has been given
 * another Egress since, whose gateways know it. */
ALWAYS_INLINE int pin_holds(const struct egress_pin *pin, __u32 set)
{
    return !(pin->gateway & EGRESS_PIN_INBOUND) &&
           (pin->gateway & EGRESS_PIN_GATEWAY) / EGRESS_SET_MAX == set;
}

enum pinned {
    PINNED_NOT, /* the flow has no way that it is to keep */
    PINNED_GATEWAY,
    PINNED_STRAIGHT,
};

/* Of a flow that began outside, what the pod's packet says: an answer, or that nobody listens. */
ALWAYS_INLINE int pin_answered(struct room *room, struct egress_pin *found, __u32 now)
{
    __u32 gateway = room->pin.gateway;
    room->pin.gateway = 0;
    if (pin_over(found, now))
        return PINNED_NOT;
    if (dry_run)
        return PINNED_STRAIGHT;
    if (room->manner != MANNER_ERROR) {
        WRITE_ONCE(found->gateway, gateway & ~EGRESS_PIN_SEEN);
        WRITE_ONCE(found->used_s, now);
    } else if (gateway & EGRESS_PIN_SEEN) {
        pin_forget(&room->key);
    }
    return PINNED_STRAIGHT;
}

/* Finds the way that a flow is pinned to. */
SUBPROGRAM int pin_find(struct room *room, __u32 set)
{
    struct egress_pin *found = pin_get(&room->key);
    __u32 now = clock_s(&room->clock);
    if (!found)
        return PINNED_NOT;
    room->pin = *found;
    barrier();
    if (!tuple_equal(&found->key, &room->key)) /* given to another flow just now */
        return PINNED_NOT;
    if (room->pin.gateway & EGRESS_PIN_INBOUND)
        return pin_answered(room, found, now);
    if (!pin_holds(&room->pin, set))
        return PINNED_NOT;
    room->pin.gateway &= EGRESS_PIN_GATEWAY;
    if (!gateway_read(room->pin.gateway, room->pin.generation, &room->gateway) ||
        !pin_lasts(room, now))
        return PINNED_NOT;
    note(room, EGRESS_TOLD_PINNED);
    if (room->pin.used_s != now && !dry_run) {
        WRITE_ONCE(found->used_s, now);
        WRITE_ONCE(found->gateway, room->pin.gateway | room->translated);
    }
    return PINNED_GATEWAY;
}

/* Pins a flow to a gateway of the set. Returns 1, or 0: none is usable. */
SUBPROGRAM int pin_make(struct room *room, __u32 set)
{
    __builtin_memset(&room->pin, 0, sizeof(room->pin));
    room->pin.key = room->key;
    room->pin.used_s = clock_s(&room->clock);
    if (!gateway_choose(set, &room->key, room->shunned, &room->pin) ||
        !gateway_read(room->pin.gateway, room->pin.generation, &room->gateway))
        return 0;
    if (dry_run)
        return 1;
    __u32 gateway = room->pin.gateway;
    room->pin.gateway |= room->translated;
    pin_put(&room->pin);
    room->pin.gateway = gateway;
    return 1;
}

/*
 * Of an answer that came from a gateway to which the flow's packets may go: pins the flow to it, if
 * it has no pin. Nobody knows whether service NAT has translated the flow, so it is asked (the
 * pod's next packet says). Returns 1, or 0: it is no such gateway.
 */
SUBPROGRAM int pin_restore(struct room *room, __u32 policy)
{
    const struct packet *packet = &room->packet;
    __u32 set;
    __builtin_memset(&room->pin, 0, sizeof(room->pin));
    if (!policy)
        return 0;
    route_find(policy, &room->key.dst, packet->family, &set);
    if (!set || !gateway_member(set, &packet->tuple.src, &room->pin))
        return 0;
    room->pin.key = room->key;
    room->pin.used_s = clock_s(&room->clock);
    room->pin.gateway |= EGRESS_PIN_TRANSLATED;
    if (!pin_get(&room->key))
        pin_place(&room->pin);
    return 1;
}

/*
 * The set of a connection that began with a gateway before its destination came to be in the
 * cluster; 0: there is none. One that opens goes the new way, and forgets what was.
 */
SUBPROGRAM int set_kept(const struct room *room, __u32 policy)
{
    const struct packet *packet = &room->packet;
    const struct nat_tuple *key = &packet->tuple;
    __u32 set;
    if (key->protocol != IPPROTO_TCP || packet->shape != SHAPE_PORTS)
        return 0;
    const struct egress_pin *pin = pin_get(key);
    if (!pin)
        return 0;
    if (is_syn(packet)) {
        if (!dry_run)
            pin_forget(key);
        return 0;
    }
    route_find(policy, &key->dst, packet->family, &set);
    return set && pin_holds(pin, set) ? (int)set : 0;
}
