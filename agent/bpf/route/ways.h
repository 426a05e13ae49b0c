/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's routes (way.h) that were asked for within this tick of its clock, per CPU.
 *
 * bpf_fib_lookup() is the dearest thing that an established flow's packet costs, most of all in
 * IPv6, and a flow's packets come in bursts. So its answer holds for a jiffy: 1 to 10 ms, as
 * CONFIG_HZ has it. A route that is withdrawn is followed that much longer, as by what is on the
 * wire already. Not so for the twins: an agent that has just heard of a change is to hear what
 * holds now. They ask the kernel itself (way.h), or have the answer forgotten first.
 *
 * Kept is that there is a way, with its MTU (which the kernel has told since Linux 5.12), and that
 * forwarding is off, which a gateway in a pod hears of each packet (egress_way.h). Two flows that
 * share a slot lose time and nothing else.
 */
#pragma once

#include "bpf/route/way.h"

enum { WAYS = 256 };

struct ways_known {
    struct nat_addr src, dst;
    __u64 tick;
    __u32 in; /* interface */
    __u32 family;
    __u32 answer;
    struct bpf_fib_lookup fib;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, WAYS);
    __type(key, __u32);
    __type(value, struct ways_known);
} ways SEC(".maps");

ALWAYS_INLINE struct ways_known *ways_slot(const struct nat_addr *src, const struct nat_addr *dst)
{
    const __u64 odd = 0x9e3779b97f4a7c15; /* 2^64 by the golden ratio */
    __u64 mix = (src->halves[0] ^ src->halves[1]) * odd + (dst->halves[0] ^ dst->halves[1]);
    __u32 slot = (mix * odd) >> 56;
    return bpf_map_lookup_elem(&ways, &slot);
}

/* Whether it is the way for that question, asked within `tick`. */
ALWAYS_INLINE int ways_is(const struct ways_known *known, __u64 tick, __u32 in, __u8 family,
                          const struct nat_addr *src, const struct nat_addr *dst)
{
    return known->tick == tick && known->in == in && known->family == family &&
           known->src.halves[0] == src->halves[0] && known->src.halves[1] == src->halves[1] &&
           known->dst.halves[0] == dst->halves[0] && known->dst.halves[1] == dst->halves[1];
}

/* The next who asks on this CPU for the way from `src` to `dst` asks the kernel. */
ALWAYS_INLINE void ways_forget(const struct nat_addr *src, const struct nat_addr *dst)
{
    struct ways_known *known = ways_slot(src, dst);
    if (known)
        known->tick = 0;
}

/* As way_ask(). */
ALWAYS_INLINE __u32 ways_ask(struct __sk_buff *skb, __u8 family, __u16 size,
                             const struct nat_addr *src, const struct nat_addr *dst,
                             struct way *way)
{
    __u64 tick = bpf_jiffies64();
    struct ways_known *known = ways_slot(src, dst);
    if (known && ways_is(known, tick, skb->ifindex, family, src, dst) &&
        (known->answer || size <= known->fib.mtu_result)) {
        way->fib = known->fib;
        way->unresolved = way->cut = way->turned = 0;
        way->answer = known->answer;
        return known->answer;
    }
    __u32 answer = way_ask(skb, family, size, src, dst, way);
    if (!known || way->unresolved || (answer && answer != BPF_FIB_LKUP_RET_FWD_DISABLED))
        return answer;
    known->src = *src;
    known->dst = *dst;
    known->tick = tick;
    known->in = skb->ifindex;
    known->family = family;
    known->answer = answer;
    known->fib = way->fib;
    return answer;
}

/* As way_find(). */
ALWAYS_INLINE __u32 ways_find(struct __sk_buff *skb, const struct packet *packet,
                              const struct nat_addr *src, const struct nat_addr *dst,
                              struct way *way)
{
    ways_ask(skb, packet->family, way_size(skb, packet), src, dst, way);
    return way_cut(skb, packet, way);
}
