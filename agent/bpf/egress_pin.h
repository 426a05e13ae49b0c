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
 * The pins are a table of what was used last. A flow whose pin was driven out is given a gateway
 * anew, which is the same one unless the set has changed since.
 */
#pragma once

#include "bpf/egress_room.h"
#include "bpf/mss.h"
#include "bpf/tuple.h"

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
    return room->key.protocol == IPPROTO_TCP ? !is_syn(&room->packet)
                                             : !shunned && now - room->pin.used_s < FORGOTTEN_S;
}

/* Whether a pin is this flow's, and names a gateway of the set that the flow goes to now: not if
 * the pod has been given another Egress since, whose gateways know it. */
ALWAYS_INLINE int pin_holds(const struct egress_pin_value *pin, const struct nat_tuple *key,
                            __u32 set)
{
    return pin->check == nat_tuple_check(key) &&
           (pin->gateway & ~EGRESS_PIN_TRANSLATED) / EGRESS_SET_MAX == set;
}

/* Finds the gateway that a flow is pinned to. Returns 1, or 0: it has none that it is to keep. */
SUBPROGRAM int pin_find(struct room *room, __u32 set)
{
    struct egress_pin_value *found = bpf_map_lookup_elem(&egress_pins, &room->key);
    __u32 now = clock_s(&room->clock);
    if (!found || !pin_holds(found, &room->key, set))
        return 0;
    room->pin = *found;
    room->pin.gateway &= ~EGRESS_PIN_TRANSLATED;
    if (!gateway_read(room->pin.gateway, room->pin.generation, &room->gateway) ||
        !pin_lasts(room, now))
        return 0;
    note(room, EGRESS_TOLD_PINNED);
    if (room->pin.used_s != now && !dry_run)
        WRITE_ONCE(found->used_s, now);
    return 1;
}

/* Pins a flow to a gateway of the set. Returns 1, or 0: none is usable. */
SUBPROGRAM int pin_make(struct room *room, __u32 set)
{
    __builtin_memset(&room->pin, 0, sizeof(room->pin));
    room->pin.check = nat_tuple_check(&room->key);
    room->pin.used_s = clock_s(&room->clock);
    if (!gateway_choose(set, &room->key, room->shunned, &room->pin) ||
        !gateway_read(room->pin.gateway, room->pin.generation, &room->gateway))
        return 0;
    if (dry_run)
        return 1;
    __u32 gateway = room->pin.gateway;
    room->pin.gateway |= room->translated;
    bpf_map_update_elem(&egress_pins, &room->key, &room->pin, BPF_ANY);
    room->pin.gateway = gateway;
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
    const struct egress_pin_value *pin = bpf_map_lookup_elem(&egress_pins, key);
    if (!pin)
        return 0;
    if (is_syn(packet)) {
        if (!dry_run)
            bpf_map_delete_elem(&egress_pins, key);
        return 0;
    }
    route_find(policy, &key->dst, packet->family, &set);
    return set && pin_holds(pin, key, set) ? (int)set : 0;
}
