/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pins ("egress_pins"): the gateway of a pod's flow. A flow keeps its first gateway until that
 * gateway is gone, or the pod gets an Egress with other gateways: they answer by a reset. This also
 * applies if a connection's destination later becomes part of the cluster: the peer knows the
 * gateway's address, not the pod's. Where that gateway takes no new flows, a connection that opens,
 * and a flow that was silent, choose another one; a gateway that does not have the pod gets none of
 * its datagrams either. A flow that has lost its pin chooses a gateway again, which is the same one
 * unless the set has changed since, or finds it by a reply (pin_restore()).
 *
 * A flow that began outside takes the path by which it came. For TCP no state is kept for this,
 * since such state could be evicted: a segment without SYN and without a pin is routed normally.
 * That is right for replies; a connection of the pod that has lost its pin breaks, but only the pod
 * itself can evict that pin. Pods that have received nothing from outside (EGRESS_POD_INBOUND) have
 * no such replies: their segments go to a gateway. For UDP, incoming datagrams are recorded
 * ("seen"), and the pod's reply makes them a flow.
 */
#pragma once

#include "bpf/egress/egress_pin_table.h"
#include "bpf/egress/egress_room.h"
#include "bpf/packet/mss.h"

enum {
    FORGOTTEN_S = 30, /* idle time after which gateways forget a UDP request */
};

/*
 * Whether a flow stays with a gateway that takes no new ones: not if it begins now, or has been
 * silent for so long that the gateway may have forgotten it.
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

/* Whether a pin names a gateway of the set to which the flow belongs now: not if the pod has since
 * got another Egress, whose gateways have the pod. */
ALWAYS_INLINE int pin_holds(const struct egress_pin *pin, __u32 set)
{
    return !(pin->gateway & EGRESS_PIN_INBOUND) &&
           (pin->gateway & EGRESS_PIN_GATEWAY) / EGRESS_SET_MAX == set;
}

enum pinned {
    PINNED_NOT, /* the flow has no pinned path */
    PINNED_GATEWAY,
    PINNED_STRAIGHT,
};

/* For a flow that began outside: processes the pod's packet, a reply or an ICMP error. */
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

/* Finds the path to which a flow is pinned. */
SUBPROGRAM int pin_find(struct room *room, __u32 set)
{
    struct egress_pin *found = pin_get(&room->key);
    __u32 now = clock_s(&room->clock);
    if (!found)
        return PINNED_NOT;
    room->pin = *found;
    barrier();
    if (!tuple_equal(&found->key, &room->key)) /* just assigned to another flow */
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
 * For a reply from a gateway that the flow's packets may use: pins the flow to it, if it has no
 * pin. It is unknown whether service NAT has translated the flow, so NAT is run on the reply (the
 * pod's next packet shows it). Returns 1, or 0: it is no such gateway.
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
 * The set of a connection that began with a gateway before its destination became part of the
 * cluster; 0: there is none. A connection that opens takes the new path, and drops the old pin.
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
