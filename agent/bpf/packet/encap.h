/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The encapsulation between egress clients and gateways, as the programs use it. At present it is
 * Foo-over-UDP (fou.h, fou_error.h), and no other file names that. Each function calls one with
 * another name, and is inlined, so that the indirection costs no instruction.
 *
 * Another encapsulation needs a header like fou.h, implements these functions, and is also built by
 * the other end: the twin's packets (apply/egress/gateway/twin.c).
 */
#pragma once

#include "bpf/packet/fou.h"
#include "bpf/packet/fou_error.h"

enum {
    ENCAP_ROOM6 = FOU_ROOM6, /* bytes that encapsulation adds in IPv6 */
};

/* The number of bytes that encapsulation adds. */
ALWAYS_INLINE __u32 encap_room(__u8 family)
{
    return fou_room(family);
}

/*
 * Encapsulates the packet, whose IP header is readable, from one end's address and port to the
 * other's. Returns 0, or an error as a negative number: the packet is unchanged. Pointers into the
 * packet are invalid afterwards.
 */
ALWAYS_INLINE int encap_put(struct __sk_buff *skb, __u8 family, const struct nat_addr *src,
                            const struct nat_addr *dst, __be16 sport, __be16 dport)
{
    return fou_put(skb, family, src, dst, sport, dport);
}

/* The same without a tunnel's marks, for a packet that bpf_redirect_peer() passes to a receiver
 * that decapsulates it. */
ALWAYS_INLINE int encap_put_unmarked(struct __sk_buff *skb, __u8 family, const struct nat_addr *src,
                                     const struct nat_addr *dst, __be16 sport, __be16 dport)
{
    return fou_put_unmarked(skb, family, src, dst, sport, dport);
}

/* Whether a packet with this tuple is encapsulated, for the receiver at `port`. */
ALWAYS_INLINE int encap_is(const struct nat_tuple *tuple, __be16 port)
{
    return tuple->protocol == IPPROTO_UDP && tuple->dport == port;
}

/* The offset of the inner packet. */
ALWAYS_INLINE __u32 encap_inner(const struct packet *packet)
{
    return packet->l4 + sizeof(struct udphdr);
}

/*
 * Decapsulates a packet for which encap_is() is true, no fragment. Returns 0, or an error as a
 * negative number: the packet is to be dropped. Pointers into the packet are invalid afterwards.
 */
ALWAYS_INLINE int encap_take(struct __sk_buff *skb, const struct packet *packet)
{
    return fou_take(skb, packet->family, packet->l4);
}

/*
 * Whether an ICMP packet is an error about an encapsulated packet that its receiver has sent to
 * `port`.
 */
ALWAYS_INLINE int encap_error_is(struct __sk_buff *skb, const struct packet *packet, __be16 port)
{
    return fou_error_is(skb, packet, port);
}

/* Turns such an error into one about the inner packet. Returns 0, or -1: the packet is spoilt. */
ALWAYS_INLINE int encap_error_take(struct __sk_buff *skb, const struct packet *packet)
{
    return fou_error_take(skb, packet);
}
