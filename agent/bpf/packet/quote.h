/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the tuple of a packet inside another one: behind a FoU header, or quoted by an ICMP error.
 * For ICMP echo, the identifier is the port of the requesting side.
 */
#pragma once

#include "bpf/packet/icmp_error.h"
#include "bpf/packet/tuple.h"

enum {
    ECHO4_REPLY = 0,
    ECHO4_REQUEST = 8,
    ECHO6_REQUEST = 128,
    ECHO6_REPLY = 129,
    ECHO_ID = 4, /* its offset in the header */
};

enum inner_shape {
    INNER_NONE,  /* can't be parsed, or is of a protocol that egress does not support */
    INNER_PORTS, /* with ports, a first fragment included */
    INNER_LATER, /* a later fragment: no ports */
    INNER_ERROR, /* an ICMP error: the tuple is that of the packet it quotes */
};

/* Whether an ICMP message is an echo request or reply, and which side has the identifier as its
 * port: 1, the sender; 2, the receiver; 0: it is another message. */
ALWAYS_INLINE int echo_side(__u8 protocol, __u8 type)
{
    if (protocol == IPPROTO_ICMP)
        return type == ECHO4_REQUEST ? 1 : type == ECHO4_REPLY ? 2 : 0;
    return type == ECHO6_REQUEST ? 1 : type == ECHO6_REPLY ? 2 : 0;
}

/* Fills in the ports of the TCP, UDP or ICMP header at `offset`. Returns 0, or -1: none. */
ALWAYS_INLINE int quote_ports(struct __sk_buff *skb, __u32 offset, struct nat_tuple *tuple)
{
    __u8 type;
    __be16 id;
    if (tuple->protocol == IPPROTO_TCP || tuple->protocol == IPPROTO_UDP)
        return bpf_skb_load_bytes(skb, offset, &tuple->sport, 4) ? -1 : 0;
    if ((tuple->protocol != IPPROTO_ICMP && tuple->protocol != IPPROTO_ICMPV6) ||
        bpf_skb_load_bytes(skb, offset, &type, 1) ||
        bpf_skb_load_bytes(skb, offset + ECHO_ID, &id, sizeof(id)))
        return -1;
    int side = echo_side(tuple->protocol, type);
    if (side == 1)
        tuple->sport = id;
    else if (side == 2)
        tuple->dport = id;
    return side ? 0 : -1;
}

/* The IP packet at `ip`: its tuple, without ports if it is an error or a later fragment. */
ALWAYS_INLINE int quote_head(struct __sk_buff *skb, __u32 ip, struct icmp_upper *upper,
                             struct nat_tuple *ret_tuple)
{
    __builtin_memset(ret_tuple, 0, sizeof(*ret_tuple));
    if (icmp_upper(skb, ip, upper) ||
        icmp_load_addresses(skb, ip, upper->version, &ret_tuple->src, &ret_tuple->dst))
        return -1;
    ret_tuple->protocol = upper->protocol;
    return 0;
}

/*
 * Reads the packet at `ip`. Its own addresses are written to `ret_tuple`, ports too; of an error,
 * `ret_quoted` is the tuple that it quotes. `ret_upper` is the offset of its transport header.
 */
static __noinline int quote_read(struct __sk_buff *skb, __u32 ip, struct icmp_upper *ret_upper,
                                 struct nat_tuple *ret_tuple, struct nat_tuple *ret_quoted)
{
    struct icmp_upper quoted;
    __u8 type;
    if (quote_head(skb, ip, ret_upper, ret_tuple))
        return INNER_NONE;
    if (ret_upper->later)
        return INNER_LATER;
    if (quote_ports(skb, ret_upper->offset, ret_tuple) == 0)
        return INNER_PORTS;
    if (bpf_skb_load_bytes(skb, ret_upper->offset, &type, 1) || !icmp_error_type(ret_upper, type) ||
        quote_head(skb, ret_upper->offset + ICMP_LEN, &quoted, ret_quoted) || quoted.later ||
        quote_ports(skb, quoted.offset, ret_quoted))
        return INNER_NONE;
    return INNER_ERROR;
}
