/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a packet entered by the interface that leads back to its source. Packets are translated
 * here before the kernel's own check (rp_filter), and masqueraded packets bypass it; for IPv6 the
 * kernel has none.
 *
 * A packet that enters by a pod's interface has to have a source that the kernel routes by it, as
 * strict rp_filter requires. Behind a bridge, routes lead to the bridge, or to an interface of this
 * node in one of its VLANs, and not to one of its ports; there the packet has to have the hardware
 * address of the kernel's neighbour entry for its source, if there is one. A packet that enters by
 * an uplink may have any source except one that is routed by a pod's interface: by which of several
 * uplinks a source is routed has no significance. The agent writes the kind of each interface to
 * "interfaces"; packets by other interfaces are not checked, nor are link-local sources.
 *
 * The route is looked up for the first packet of each half of a flow, and where a packet enters by
 * another interface than the one before; "came" stores the result.
 */
#pragma once

#include "bpf/flow/claim.h"
#include "bpf/route/next_hops.h"

enum came {
    CAME_WRONG,
    CAME_RIGHT,
    CAME_UNCHECKED, /* unknown, and that may change */
};

/*
 * The interface by which a packet entered, where requests or replies are judged; 0: this node has
 * made it.
 */
ALWAYS_INLINE __u32 came_in(struct __sk_buff *skb, const struct packet *packet)
{
    __u32 in = 0;
    if (packet->hook == NAT_HOOK_UPLINK_IN || packet->hook == NAT_HOOK_POD_IN) {
        in = skb->ifindex;
        barrier_var(in); /* else the two loads become one, by a pointer that the verifier rejects */
    } else if (packet->hook == NAT_HOOK_SVC_OUT) {
        in = skb->ingress_ifindex;
        barrier_var(in);
    }
    return in;
}

/* nat_interface_value.back of an interface. */
ALWAYS_INLINE __u32 came_back_of(__u32 ifindex)
{
    const struct nat_interface_value *value = bpf_map_lookup_elem(&interfaces, &ifindex);
    return value && value->check == ifindex ? value->back : NAT_BACK_UNKNOWN;
}

ALWAYS_INLINE int is_link_local(const struct packet *packet)
{
    return packet->family == 6 && packet->tuple.src.bytes[0] == 0xfe &&
           (packet->tuple.src.bytes[1] & 0xc0) == 0x80;
}

/* Whether the frame is from the hardware address of `next_hop`, as far as it is known. Packets that
 * come by svc0 have another one by then. */
ALWAYS_INLINE int is_from_neighbour(struct __sk_buff *skb, const struct packet *packet,
                                    const struct next_hop *next_hop)
{
    __u16 parts[ETH_ALEN / 2];
    __u32 differ = 0;
    if (!L3 || next_hop->unresolved || packet->hook == NAT_HOOK_SVC_OUT)
        return 1;
    if (bpf_skb_load_bytes(skb, ETH_ALEN, parts, sizeof(parts)))
        return 0;
#pragma unroll
    for (int i = 0; i < ETH_ALEN / 2; i++)
        differ |= parts[i] ^ *(const __u16 *)(next_hop->fib.dmac + 2 * i);
    return !differ;
}

/* Evaluates the kernel's route to the packet's source, `next_hop`, for a packet that entered by
 * `in`; routes back lead by `back`. */
ALWAYS_INLINE enum came came_by_next_hop(struct __sk_buff *skb, const struct packet *packet,
                                         const struct next_hop *next_hop, __u32 in, __u32 back)
{
    __u32 out = next_hop->fib.ifindex;
    if (back == NAT_BACK_ANY) {
        if (next_hop->answer)
            return CAME_RIGHT;
        back = came_back_of(out);
        return back == NAT_BACK_ANY || back == NAT_BACK_UNKNOWN ? CAME_RIGHT : CAME_WRONG;
    }
    if (next_hop->answer == BPF_FIB_LKUP_RET_FWD_DISABLED)
        return CAME_UNCHECKED;
    if (next_hop->answer || (out != in && out != back && came_back_of(out) != back))
        return CAME_WRONG;
    return out == in || is_from_neighbour(skb, packet, next_hop) ? CAME_RIGHT : CAME_WRONG;
}

/*
 * Looks up the kernel's route to the source of the packet in the scratch space. Rules may name the
 * input interface, and refer to the pod's own packets and not to those for it: so a failed lookup
 * is repeated as for a packet of this node before the packet is rejected.
 */
GLOBAL int came_ask(struct __sk_buff *skb)
{
    const struct nat_control *control = control_get();
    struct scratch *room = scratch_get();
    if (!control || !room)
        return CAME_UNCHECKED;
    const struct packet *packet = &room->packet;
    struct next_hop *next_hop = &room->next_hop;
    __u32 in = came_in(skb, packet);
    __u32 source = source_of(control, packet);
    if (source == SOURCE_OTHER && packet->hook == NAT_HOOK_UPLINK_IN)
        return CAME_RIGHT;
    __u32 back = in ? came_back_of(in) : NAT_BACK_UNKNOWN;
    if (back == NAT_BACK_UNKNOWN || is_link_local(packet))
        return CAME_UNCHECKED;
    if (back == NAT_BACK_ANY && source == SOURCE_OTHER)
        return CAME_RIGHT;
    const struct nat_addr *to = &packet->tuple.src, *from = &packet->tuple.dst;
    next_hops_ask(skb, packet->family, NEXT_HOP_FRAGMENT, from, to, next_hop);
    enum came is = came_by_next_hop(skb, packet, next_hop, in, back);
    if (is != CAME_WRONG || back == NAT_BACK_ANY)
        return is;
    next_hop_ask_from(skb, LO_IFINDEX, packet->family, NEXT_HOP_FRAGMENT, from, to, next_hop);
    return came_by_next_hop(skb, packet, next_hop, in, back);
}

/* The same for a packet that begins a flow. Most enter by an uplink, and come from no pod. */
ALWAYS_INLINE int came_first(struct __sk_buff *skb, const struct packet *packet, __u32 source)
{
    if (source == SOURCE_OTHER && packet->hook == NAT_HOOK_UPLINK_IN)
        return CAME_RIGHT;
    return came_ask(skb);
}

/* The word of "came" for packets of a half that entered by `in`; NULL: the slot has none. */
ALWAYS_INLINE __u64 *came_word(__u32 slot, __u8 half)
{
    struct nat_came *value = bpf_map_lookup_elem(&came, &slot);
    if (!value)
        return NULL;
    return half == NAT_HALF_FORWARD ? &value->forward : &value->reply;
}

/*
 * Records that the first packet of the flow being made passed the check. Not for packets by an
 * uplink: there the second one is checked, mostly without a route lookup, and a flow is made
 * faster.
 */
ALWAYS_INLINE void came_begin(struct __sk_buff *skb, const struct packet *packet, __u32 slot)
{
    __u32 in = came_in(skb, packet);
    __u64 *word =
        in && packet->hook != NAT_HOOK_UPLINK_IN ? came_word(slot, NAT_HALF_FORWARD) : NULL;
    if (word)
        WRITE_ONCE(*word, nat_came_word(nat_tuple_check(&packet->tuple), in));
}

/* Whether a packet of a flow is to be dropped because of its input interface. */
ALWAYS_INLINE int came_wrong(struct __sk_buff *skb, const struct packet *packet,
                             const struct nat_flow *flow)
{
    __u32 in = came_in(skb, packet), half = flow->half;
    if (!in)
        return 0;
    __u64 right = nat_came_word(flow->check, in), *word = came_word(flow->slot, half);
    if ((word && READ_ONCE(*word) == right) || half == NAT_HALF_DIRECT)
        return 0;
    int is = came_ask(skb);
    if (is == CAME_RIGHT && word)
        WRITE_ONCE(*word, right);
    return is == CAME_WRONG;
}
