/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tuples as values, and the time by which flows are told apart. */
#pragma once

#include "bpf/parse.h"

ALWAYS_INLINE __u32 now_s(void)
{
    return (__u32)(bpf_ktime_get_coarse_ns() / 1000000000ull);
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
