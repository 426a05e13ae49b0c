/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's routes for what a gateway sends: those of next_hops.h, and one more. A gateway in a
 * pod of its own has one interface, and no right to enable forwarding; bpf_fib_lookup() then
 * returns that forwarding is off. There a packet leaves by the interface by which it entered, along
 * the kernel's route out of that interface (bpf_redirect_neigh() without a next hop looks it up),
 * and the interface's MTU is the limit.
 */
#pragma once

#include "bpf/egress/egress_drop.h"
#include "bpf/route/next_hops.h"

/* The route back out of the interface by which the packet entered, for `size` bytes. */
ALWAYS_INLINE __u32 next_hop_turn(struct __sk_buff *skb, __u16 size, struct next_hop *next_hop)
{
    __u32 mtu = 0;
    bpf_check_mtu(skb, 0, &mtu, 0, 0);
    next_hop->fib.ifindex = skb->ifindex;
    next_hop->fib.mtu_result = mtu;
    next_hop->unresolved = 0;
    next_hop->turned = 1;
    next_hop->answer = size > mtu ? BPF_FIB_LKUP_RET_FRAG_NEEDED : 0;
    return next_hop->answer;
}

/* The same as next_hops_ask(). */
ALWAYS_INLINE __u32 gateway_ask(struct __sk_buff *skb, __u8 family, __u16 size,
                                const struct nat_addr *src, const struct nat_addr *dst,
                                struct next_hop *next_hop)
{
    __u32 answer = next_hops_ask(skb, family, size, src, dst, next_hop);
    return answer == BPF_FIB_LKUP_RET_FWD_DISABLED ? next_hop_turn(skb, size, next_hop) : answer;
}

/* The same as next_hop_mtu(). */
ALWAYS_INLINE __u32 gateway_mtu(struct __sk_buff *skb, __u8 family, const struct nat_addr *src,
                                const struct nat_addr *dst, struct next_hop *room)
{
    __u32 answer = gateway_ask(skb, family, 0xffff, src, dst, room);
    if (answer == BPF_FIB_LKUP_RET_FRAG_NEEDED)
        return room->fib.mtu_result;
    return answer ? 0 : 0xffff;
}

/*
 * The same as next_hops_find(). A packet that turns is never fragmented: it came with outer
 * headers, and fits.
 */
ALWAYS_INLINE __u32 gateway_find(struct __sk_buff *skb, const struct packet *packet,
                                 const struct nat_addr *src, const struct nat_addr *dst,
                                 struct next_hop *next_hop)
{
    __u32 answer = next_hops_find(skb, packet, src, dst, next_hop);
    return answer == BPF_FIB_LKUP_RET_FWD_DISABLED
               ? next_hop_turn(skb, next_hop_size(skb, packet), next_hop)
               : answer;
}

ALWAYS_INLINE int gateway_redirect(const struct egress_control *settings,
                                   const struct next_hop *next_hop)
{
    return next_hop_redirect(next_hop,
                             next_hop->turned || is_by_route(settings, next_hop->fib.ifindex));
}
