/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A cache of the kernel's routes (next_hop.h) that were looked up within this tick of its clock,
 * per CPU.
 *
 * bpf_fib_lookup() is the most expensive operation for a packet of an established flow, most of all
 * in IPv6, and a flow's packets arrive in bursts. So its result is cached for a jiffy: 1 to 10 ms,
 * depending on CONFIG_HZ. A withdrawn route stays in use for that time, as with packets that are
 * already on the wire. The twins must not use stale results: an agent that has just been notified
 * of a change has to see the present state. They query the kernel directly (next_hop.h), or
 * invalidate the entry first.
 *
 * The cache stores that a route exists, with its MTU (which the kernel returns since Linux 5.12),
 * and that forwarding is off, which is the result for every packet of a gateway in a pod
 * (egress_next_hop.h). Two flows that share a slot lose time and nothing else.
 */
#pragma once

#include "bpf/route/next_hop.h"

enum { NEXT_HOPS = 256 };

struct next_hops_known {
    struct nat_addr src, dst;
    __u64 tick;
    __u32 in; /* interface */
    __u32 family;
    __u32 answer;
    struct bpf_fib_lookup fib;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, NEXT_HOPS);
    __type(key, __u32);
    __type(value, struct next_hops_known);
} next_hops SEC(".maps");

ALWAYS_INLINE struct next_hops_known *next_hops_slot(const struct nat_addr *src,
                                                     const struct nat_addr *dst)
{
    const __u64 odd = 0x9e3779b97f4a7c15; /* 2^64 by the golden ratio */
    __u64 mix = (src->halves[0] ^ src->halves[1]) * odd + (dst->halves[0] ^ dst->halves[1]);
    __u32 slot = (mix * odd) >> 56;
    return bpf_map_lookup_elem(&next_hops, &slot);
}

/* Whether the entry is for this lookup, made within `tick`. */
ALWAYS_INLINE int next_hops_is(const struct next_hops_known *known, __u64 tick, __u32 in,
                               __u8 family, const struct nat_addr *src, const struct nat_addr *dst)
{
    return known->tick == tick && known->in == in && known->family == family &&
           known->src.halves[0] == src->halves[0] && known->src.halves[1] == src->halves[1] &&
           known->dst.halves[0] == dst->halves[0] && known->dst.halves[1] == dst->halves[1];
}

/* Invalidates the entry: the next lookup on this CPU from `src` to `dst` queries the kernel. */
ALWAYS_INLINE void next_hops_forget(const struct nat_addr *src, const struct nat_addr *dst)
{
    struct next_hops_known *known = next_hops_slot(src, dst);
    if (known)
        known->tick = 0;
}

/* The same as next_hop_ask(). */
ALWAYS_INLINE __u32 next_hops_ask(struct __sk_buff *skb, __u8 family, __u16 size,
                                  const struct nat_addr *src, const struct nat_addr *dst,
                                  struct next_hop *next_hop)
{
    __u64 tick = bpf_jiffies64();
    struct next_hops_known *known = next_hops_slot(src, dst);
    if (known && next_hops_is(known, tick, skb->ifindex, family, src, dst) &&
        (known->answer || size <= known->fib.mtu_result)) {
        next_hop->fib = known->fib;
        next_hop->unresolved = next_hop->cut = next_hop->turned = 0;
        next_hop->answer = known->answer;
        return known->answer;
    }
    __u32 answer = next_hop_ask(skb, family, size, src, dst, next_hop);
    if (!known || next_hop->unresolved || (answer && answer != BPF_FIB_LKUP_RET_FWD_DISABLED))
        return answer;
    known->src = *src;
    known->dst = *dst;
    known->tick = tick;
    known->in = skb->ifindex;
    known->family = family;
    known->answer = answer;
    known->fib = next_hop->fib;
    return answer;
}

/* The same as next_hop_find(). */
ALWAYS_INLINE __u32 next_hops_find(struct __sk_buff *skb, const struct packet *packet,
                                   const struct nat_addr *src, const struct nat_addr *dst,
                                   struct next_hop *next_hop)
{
    next_hops_ask(skb, packet->family, next_hop_size(skb, packet), src, dst, next_hop);
    return next_hop_cut(skb, packet, next_hop);
}
