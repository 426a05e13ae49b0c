/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tuples as values, and the clock for the ages of flows. */
#pragma once

#include "bpf/packet/parse.h"

ALWAYS_INLINE __u32 now_s(void)
{
    return (__u32)(bpf_ktime_get_coarse_ns() / 1000000000ull);
}

/* The jiffy of the last query of the kernel's clock, and its result. */
struct clock {
    __u64 tick;
    __u32 s;
};

/* now_s() for each packet: the clock is queried once per jiffy. The jiffy is cheap to read. */
ALWAYS_INLINE __u32 clock_s(struct clock *clock)
{
    __u64 tick = bpf_jiffies64();
    if (clock->tick != tick) {
        clock->tick = tick;
        clock->s = now_s();
    }
    return clock->s;
}

ALWAYS_INLINE void tuple_reverse(const struct nat_tuple *tuple, struct nat_tuple *ret_reversed)
{
    ret_reversed->src = tuple->dst;
    ret_reversed->dst = tuple->src;
    ret_reversed->sport = tuple->dport;
    ret_reversed->dport = tuple->sport;
    ret_reversed->protocol = tuple->protocol;
    ret_reversed->zero[0] = ret_reversed->zero[1] = ret_reversed->zero[2] = 0;
}

ALWAYS_INLINE int tuple_equal(const struct nat_tuple *a, const struct nat_tuple *b)
{
    return a->sport == b->sport && a->dport == b->dport && addr_equal(&a->src, &b->src) &&
           addr_equal(&a->dst, &b->dst);
}
