/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rate limit of ICMP errors per receiver (reject.h). */
#pragma once

#include "bpf/service/maps.h"

enum { ANSWER_BURST = 6 };

/*
 * The kernel's limit for one receiver of errors, as in inet_peer_xrlim_allow(): credit grows with
 * time up to ANSWER_BURST intervals, and an error costs one interval. The map has the moment at
 * which the credit was zero, so the credit is the time since then. It is negative on a CPU that was
 * delayed after it had read the clock. Concurrent CPUs may charge less than they should, as in the
 * kernel. The node's own packets have no limit: the kernel has none on loopback.
 */
static __always_inline int may_answer(const struct nat_control *control,
                                      const struct nat_addr *source, int family)
{
    __s64 interval = control->icmp_interval_ms[family == 6] * 1000000ll;
    __s64 now = (__s64)bpf_ktime_get_ns();
    __s64 credit = ANSWER_BURST * interval, empty;
    __s64 *word;

    if (!interval)
        return 1;
    word = bpf_map_lookup_elem(&limits, source);
    if (word && now - READ_ONCE(*word) < credit)
        credit = now - READ_ONCE(*word);
    if (credit < interval)
        return 0;
    empty = now - credit + interval;
    if (word)
        WRITE_ONCE(*word, empty);
    else
        bpf_map_update_elem(&limits, source, &empty, BPF_ANY);
    return 1;
}
