/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The source addresses of a gateway for its clients' packets. Each has a number, which it keeps
 * while it is one of them, so there may be gaps.
 */
#pragma once

#include "bpf/egress_abi.h"
#include "bpf/packet/encap.h"

/* The source address of this number for a family; NULL: there is none. */
ALWAYS_INLINE const struct nat_addr *source_numbered(const struct egress_control *settings, int six,
                                                     __u32 number)
{
    if (number >= EGRESS_SOURCES_MAX)
        return NULL;
    barrier_var(number); /* a bound that the verifier sees in the whole register */
    const struct nat_addr *source = &settings->snat[six & 1][number & (EGRESS_SOURCES_MAX - 1)];
    return is_zero(source) ? NULL : source;
}

/* Whether a packet with this tuple is treated as an encapsulated packet to the gateway. */
ALWAYS_INLINE int is_for_gateway(const struct egress_control *settings, int six,
                                 const struct nat_tuple *tuple)
{
    const struct nat_addr *own = &settings->own[six & 1];
    return encap_is(tuple, settings->port) && !is_zero(own) && addr_equal(&tuple->dst, own);
}

/* Whether this address is one of the source addresses. */
ALWAYS_INLINE int is_source(const struct egress_control *settings, int six,
                            const struct nat_addr *addr)
{
    for (__u32 i = 0; i < EGRESS_SOURCES_MAX; i++) {
        if (i >= settings->sources[six & 1])
            return 0;
        if (addr_equal(addr, &settings->snat[six & 1][i]))
            return !is_zero(addr);
    }
    return 0;
}
