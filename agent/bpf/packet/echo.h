/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP echo, whose identifier takes the place of ports: that of the requesting side (quote.h). So
 * its tuple can be reversed, claimed and translated like those of TCP and UDP.
 */
#pragma once

#include "bpf/packet/quote.h"
#include "bpf/packet/translate.h"

/* Sets the ports of an echo packet. Returns 0, or -1: it is no echo. */
ALWAYS_INLINE int echo_parse(struct __sk_buff *skb, struct packet *packet)
{
    return quote_ports(skb, packet->l4, &packet->tuple);
}

/* The identifier: the other one of the two ports is 0. */
ALWAYS_INLINE __be16 echo_id(const struct nat_tuple *tuple)
{
    return tuple->sport | tuple->dport;
}

/* See translate(). */
static __noinline int echo_translate(struct __sk_buff *skb, const struct packet *packet,
                                     const struct nat_tuple *to)
{
    const struct nat_tuple *from = &packet->tuple;
    __u64 addresses = addr_diff(&from->src, &to->src) + addr_diff(&from->dst, &to->dst);
    __be16 old = echo_id(from), fresh = echo_id(to);
    __u32 check = packet->l4 + __builtin_offsetof(struct icmp_head, check);
    if (packet->family == 6 && sum_addresses(skb, 6, check, addresses, 0) < 0)
        return -1;
    if (old != fresh &&
        (bpf_l4_csum_replace(skb, check, old, fresh, sizeof(fresh)) < 0 ||
         bpf_skb_store_bytes(skb, packet->l4 + ECHO_ID, &fresh, sizeof(fresh), 0) < 0))
        return -1;
    if (store_addresses(skb, packet, to, addresses) < 0)
        return -1;
    return 0;
}
