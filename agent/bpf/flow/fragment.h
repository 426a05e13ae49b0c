/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragments. The first fragment has the ports, and stores them in "fragments" for the later ones,
 * which are then translated like the first.
 *
 * If a later fragment arrives before the first, the program leaves it to the stack, and with it all
 * other fragments of that packet, the first included. The stack reassembles them, if netfilter's
 * defragmentation is on, and routes them to svc0, where they arrive in order. An entry without
 * ports marks a packet that is left to the stack.
 *
 * A sender reuses identifications, in IPv4 after 65536 packets at the latest. So an entry is valid
 * only for a limited time, and an entry without ports for one first fragment: the next first
 * fragment with the same identification begins another packet.
 *
 * Each fragment has to enter by the interface that leads back to its source (came.h); a fragment
 * with ports is checked as any other packet is. A fragment that fails makes no entry, and uses
 * none.
 */
#pragma once

#include "bpf/flow/came.h"

enum fragment_next_hop {
    FRAGMENT_GOES,  /* continues, with ports if it has them or got them from the entry */
    FRAGMENT_LEFT,  /* is left to the stack */
    FRAGMENT_LOST,  /* arrived at svc0 before the first one: dropped */
    FRAGMENT_WRONG, /* entered by another interface than that of its source: dropped */
};

enum {
    FRAGMENT_S = 15,     /* the least time in which RFC 791 allows reassembly */
    FRAGMENT_LEFT_S = 2, /* reordered fragments are milliseconds apart */
};

ALWAYS_INLINE int fragment_is_left(const struct nat_fragment_value *value)
{
    return !value->sport && !value->dport;
}

/* The entry of this packet, and not of an earlier one with the same identification; or NULL. */
ALWAYS_INLINE struct nat_fragment_value *fragment_find(const struct nat_fragment_key *key,
                                                       __u32 check)
{
    struct nat_fragment_value *found = bpf_map_lookup_elem(&fragments, key);
    if (!found || found->check != check)
        return NULL;
    __u32 age_s = now_s() - found->seen_s;
    return age_s <= (fragment_is_left(found) ? FRAGMENT_LEFT_S : FRAGMENT_S) ? found : NULL;
}

ALWAYS_INLINE int came_wrongly(struct __sk_buff *skb)
{
    return skb && came_ask(skb) == CAME_WRONG;
}

ALWAYS_INLINE enum fragment_next_hop fragment_first(const struct packet *packet,
                                                    const struct nat_fragment_key *key,
                                                    struct nat_fragment_value *value)
{
    struct nat_fragment_value *found = fragment_find(key, value->check);
    if (found && fragment_is_left(found) && !found->protocol && packet->hook != NAT_HOOK_SVC_OUT) {
        found->protocol = packet->tuple.protocol;
        return FRAGMENT_LEFT;
    }
    value->sport = packet->tuple.sport;
    value->dport = packet->tuple.dport;
    value->protocol = packet->tuple.protocol;
    bpf_map_update_elem(&fragments, key, value, BPF_ANY);
    return FRAGMENT_GOES;
}

/* `skb`: the frame, if its input interface is checked; else NULL. An IPv6 id is unique for its pair
 * of addresses, and a later fragment may name another protocol than the first: so the protocol is
 * no part of the key there. */
SUBPROGRAM enum fragment_next_hop fragment_join(const struct nat_control *control,
                                                struct packet *packet, struct __sk_buff *skb)
{
    struct nat_fragment_key key = {
        .src = packet->tuple.src,
        .dst = packet->tuple.dst,
        .id = packet->fragment,
        .protocol = packet->family == 4 ? packet->tuple.protocol : 0,
    };
    struct nat_fragment_value value = { .check = nat_check(&key.src, key.id), .seen_s = now_s() };
    if (packet->shape == SHAPE_FIRST) /* judged later, whether or not it is for a Service */
        return came_wrongly(skb) ? FRAGMENT_GOES : fragment_first(packet, &key, &value);

    const struct nat_fragment_value *found = fragment_find(&key, value.check);
    if (found && !fragment_is_left(found)) {
        packet->tuple.sport = found->sport;
        packet->tuple.dport = found->dport;
        packet->tuple.protocol = found->protocol;
        return FRAGMENT_GOES;
    }
    if (packet->hook == NAT_HOOK_SVC_OUT)
        return FRAGMENT_LOST;
    if (!filter_has(control, &packet->tuple.dst, 0))
        return FRAGMENT_GOES;
    if (came_wrongly(skb))
        return FRAGMENT_WRONG;
    if (!found)
        bpf_map_update_elem(&fragments, &key, &value, BPF_ANY);
    return FRAGMENT_LEFT;
}
