/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The encapsulation between egress clients and gateways: all that the programs know of it. Today it
 * is Foo-over-UDP (fou.h, fou_error.h), and no other file names that. Each function is one of its
 * own by another name, so that the seam costs no instruction.
 *
 * Another encapsulation has a header like fou.h, says here how each of these is done, and is built
 * by the other end, too: the twin's packets (apply/egress/gateway/twin.c).
 */
#pragma once

#include "bpf/packet/fou.h"
#include "bpf/packet/fou_error.h"

enum {
    ENCAP_ROOM6 = FOU_ROOM6, /* bytes that wrapping adds in IPv6 */
};

/* How many bytes wrapping adds. */
ALWAYS_INLINE __u32 encap_room(__u8 family)
{
    return fou_room(family);
}

/*
 * Wraps the packet, whose IP header is readable, from one end's address and port to the other's.
 * Returns 0, or an error as a negative number: the packet is as it was. Pointers into the packet
 * are invalid afterwards.
 */
ALWAYS_INLINE int encap_put(struct __sk_buff *skb, __u8 family, const struct nat_addr *src,
                            const struct nat_addr *dst, __be16 sport, __be16 dport)
{
    return fou_put(skb, family, src, dst, sport, dport);
}

/* The same for a packet that bpf_redirect_peer() hands to who unwraps it: without a tunnel's marks.
 */
ALWAYS_INLINE int encap_put_unmarked(struct __sk_buff *skb, __u8 family, const struct nat_addr *src,
                                     const struct nat_addr *dst, __be16 sport, __be16 dport)
{
    return fou_put_unmarked(skb, family, src, dst, sport, dport);
}

/* Whether a packet under this tuple is wrapped, for who listens at `port`. */
ALWAYS_INLINE int encap_is(const struct nat_tuple *tuple, __be16 port)
{
    return tuple->protocol == IPPROTO_UDP && tuple->dport == port;
}

/* Where the packet within begins. */
ALWAYS_INLINE __u32 encap_inner(const struct packet *packet)
{
    return packet->l4 + sizeof(struct udphdr);
}

/*
 * Unwraps a packet that encap_is(), no fragment. Returns 0, or an error as a negative number: the
 * packet is to be dropped. Pointers into the packet are invalid afterwards.
 */
ALWAYS_INLINE int encap_take(struct __sk_buff *skb, const struct packet *packet)
{
    return fou_take(skb, packet->family, packet->l4);
}

/* Whether an ICMP packet is an error about a wrapped one that its receiver has sent to `port`. */
ALWAYS_INLINE int encap_error_is(struct __sk_buff *skb, const struct packet *packet, __be16 port)
{
    return fou_error_is(skb, packet, port);
}

/* Makes such an error one about the packet within. Returns 0, or -1: the packet is spoilt. */
ALWAYS_INLINE int encap_error_take(struct __sk_buff *skb, const struct packet *packet)
{
    return fou_error_take(skb, packet);
}
