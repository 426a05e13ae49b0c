/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's routes for what a gateway sends: those of ways.h, and one more. A gateway in a pod
 * of its own has one interface, and no right to have the kernel forward; bpf_fib_lookup() then
 * answers that forwarding is off. There what came in by an interface leaves by it, as the kernel's
 * route out of it says (bpf_redirect_neigh() without a next hop looks for that itself), and its MTU
 * is the limit.
 */
#pragma once

#include "bpf/egress/egress_drop.h"
#include "bpf/route/ways.h"

/* The way back out of the interface that the packet came in by, for `size` bytes. */
ALWAYS_INLINE __u32 way_turn(struct __sk_buff *skb, __u16 size, struct way *way)
{
    __u32 mtu = 0;
    bpf_check_mtu(skb, 0, &mtu, 0, 0);
    way->fib.ifindex = skb->ifindex;
    way->fib.mtu_result = mtu;
    way->unresolved = 0;
    way->turned = 1;
    way->answer = size > mtu ? BPF_FIB_LKUP_RET_FRAG_NEEDED : 0;
    return way->answer;
}

/* As ways_ask(). */
ALWAYS_INLINE __u32 gateway_ask(struct __sk_buff *skb, __u8 family, __u16 size,
                                const struct nat_addr *src, const struct nat_addr *dst,
                                struct way *way)
{
    __u32 answer = ways_ask(skb, family, size, src, dst, way);
    return answer == BPF_FIB_LKUP_RET_FWD_DISABLED ? way_turn(skb, size, way) : answer;
}

/* As way_mtu(). */
ALWAYS_INLINE __u32 gateway_mtu(struct __sk_buff *skb, __u8 family, const struct nat_addr *src,
                                const struct nat_addr *dst, struct way *room)
{
    __u32 answer = gateway_ask(skb, family, 0xffff, src, dst, room);
    if (answer == BPF_FIB_LKUP_RET_FRAG_NEEDED)
        return room->fib.mtu_result;
    return answer ? 0 : 0xffff;
}

/* As ways_find(). A packet that turns is never cut: it came with outer headers, and fits. */
ALWAYS_INLINE __u32 gateway_find(struct __sk_buff *skb, const struct packet *packet,
                                 const struct nat_addr *src, const struct nat_addr *dst,
                                 struct way *way)
{
    __u32 answer = ways_find(skb, packet, src, dst, way);
    return answer == BPF_FIB_LKUP_RET_FWD_DISABLED ? way_turn(skb, way_size(skb, packet), way)
                                                   : answer;
}

ALWAYS_INLINE int gateway_redirect(const struct egress_control *settings, const struct way *way)
{
    return way_redirect(way, way->turned || is_by_route(settings, way->fib.ifindex));
}
