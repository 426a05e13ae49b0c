/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragments. The first fragment has the ports, and leaves them in "fragments" for the later ones,
 * which are then translated like the first. If a later fragment comes before the first, the program
 * leaves it to the stack, and with it all other fragments of that packet, the first included. The
 * stack reassembles them, if netfilter's defragmentation is on, and routes them to svc0, where they
 * arrive in order. An entry without ports says that a packet is left to the stack.
 */
#pragma once

#include "bpf/filter.h"
#include "bpf/maps.h"

enum fragment_way {
    FRAGMENT_GOES, /* goes on, with ports if it has them or got them from the entry */
    FRAGMENT_LEFT, /* is left to the stack */
    FRAGMENT_LOST, /* came to svc0 before the first one: dropped */
};

ALWAYS_INLINE enum fragment_way fragment_first(const struct packet *packet,
                                               const struct nat_fragment_key *key, __u32 check)
{
    const struct nat_fragment_value *found = bpf_map_lookup_elem(&fragments, key);
    if (found && found->check == check && !found->sport && !found->dport &&
        packet->hook != NAT_HOOK_SVC_OUT)
        return FRAGMENT_LEFT;
    struct nat_fragment_value value = {
        .sport = packet->tuple.sport,
        .dport = packet->tuple.dport,
        .protocol = packet->tuple.protocol,
        .check = check,
    };
    bpf_map_update_elem(&fragments, key, &value, BPF_ANY);
    return FRAGMENT_GOES;
}

/* An IPv6 id is unique for its pair of addresses, and a later fragment may name another protocol
 * than the first: so the protocol is no part of the key there. */
SUBPROGRAM enum fragment_way fragment_join(const struct nat_control *control, struct packet *packet)
{
    struct nat_fragment_key key = {
        .src = packet->tuple.src,
        .dst = packet->tuple.dst,
        .id = packet->fragment,
        .protocol = packet->family == 4 ? packet->tuple.protocol : 0,
    };
    struct nat_fragment_value none = { .check = nat_check(&key.src, key.id) };
    if (packet->shape == SHAPE_FIRST)
        return fragment_first(packet, &key, none.check);

    const struct nat_fragment_value *found = bpf_map_lookup_elem(&fragments, &key);
    if (found && found->check == none.check && (found->sport || found->dport)) {
        packet->tuple.sport = found->sport;
        packet->tuple.dport = found->dport;
        packet->tuple.protocol = found->protocol;
        return FRAGMENT_GOES;
    }
    if (packet->hook == NAT_HOOK_SVC_OUT)
        return FRAGMENT_LOST;
    if (!filter_has(control, &packet->tuple.dst, 0))
        return FRAGMENT_GOES;
    bpf_map_update_elem(&fragments, &key, &none, BPF_ANY);
    return FRAGMENT_LEFT;
}
