/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Foo-over-UDP: an IP packet in UDP in an IP packet of the same family, as Linux's fou module and
 * ipip or ip6tnl devices make it. fou_put() encapsulates a packet, fou_take() decapsulates it.
 *
 * The outer header is the same as of those devices. But DF is always set, also where the inner
 * packet has none: the outer packet must not be fragmented, since fou_take() accepts no fragments
 * (egress_path.h). Of the TOS only ECN is copied, by RFC 6040 (a packet with CE starts again as
 * ECT(0), and congestion on the path is copied to the inner packet). There is no UDP checksum: the
 * inner packet has its own, and a device that segments a GSO packet could not compute one, since
 * bpf_skb_adjust_room() does not request it.
 *
 * GSO: with ENCAP flags the kernel segments TCP and UDP packets of many segments behind the outer
 * headers. FIXED_GSO preserves the size of segments: a datagram must not be split elsewhere, and
 * other sizes of TCP segments cost packets. So the caller first checks whether a segment and
 * fou_room() fit the path MTU. Other kinds of GSO are refused (ENOTSUPP). Decapsulation needs
 * FIXED_GSO as well: otherwise segments would grow, and the last of them be lost.
 *
 * Up to Linux 6.18 at least, decapsulation leaves marks: skb->encapsulation, and the tunnel's bit
 * in the GSO type. Packets have them that came over a veth without segmentation from the host that
 * encapsulated them, or that were merged for a socket of fou; packets from a network card have
 * none. With these marks
 * - TCP arrives, and is segmented correctly by devices that leave this to the kernel. A device that
 *   segments tunnels' packets itself, or completes checksums in them, expects an inner header;
 * - UDP packets of many segments are lost wherever they are segmented: fou_take() refuses them
 *   (EOPNOTSUPP). They arrive if the device in between has the kernel segment them
 *   (tx-udp_tnl-segmentation off), and unsegmented if fou_put_unmarked() encapsulates them. Only
 *   bpf_redirect_peer() delivers these: every other output path checks for the marks;
 * - bpf_skb_change_tail() refuses them (ENOTSUPP): they can't be turned into ICMP errors, and a
 *   reset keeps the rest of the packet behind it as padding;
 * - they can be encapsulated again (EALREADY) if they are of one segment, without the flags.
 *
 * A sender on the same machine may have left the outer UDP checksum to be completed later. That
 * request would stay on the decapsulated packet, and point into its Ethernet header. The kernel
 * drops it if its target lies before the packet. So FOU_KEPT additional bytes are removed, and
 * restored.
 */
#pragma once

#include <linux/errno.h>

#include "bpf/packet/parse.h"

enum {
    FOU_ROOM4 = sizeof(struct iphdr) + sizeof(struct udphdr),
    FOU_ROOM6 = sizeof(struct ipv6hdr) + sizeof(struct udphdr),
    FOU_HOPS = 225,
    FOU_KEPT = 8,      /* with the UDP header more than the Ethernet header */
    FOU_CONGESTED = 3, /* ECN: CE */
    FOU_CAPABLE = 2,   /* ECT(0) */
    FOU_CAPABLE1 = 1,  /* ECT(1) */
};

struct fou4 {
    struct iphdr ip;
    struct udphdr udp;
};

struct fou6 {
    struct ipv6hdr ip;
    struct udphdr udp;
};

/* The number of bytes that encapsulation adds. */
ALWAYS_INLINE __u32 fou_room(__u8 family)
{
    return family == 4 ? FOU_ROOM4 : FOU_ROOM6;
}

/* A length for headers. A device that segments a GSO packet too long for it writes it again. */
ALWAYS_INLINE __be16 fou_length(__u32 length)
{
    return length > 0xffff ? 0 : bpf_htons(length);
}

/* ECN of the outer header, for that of the inner one. */
ALWAYS_INLINE __u8 fou_ecn(__u8 tos)
{
    __u8 ecn = tos & FOU_CONGESTED;
    return ecn == FOU_CONGESTED ? FOU_CAPABLE : ecn;
}

/* The packet's TOS or traffic class. */
ALWAYS_INLINE __u8 fou_tos(__u8 family, const __u8 *ip)
{
    return family == 4 ? ip[1] : (__u8)(ip[0] << 4 | ip[1] >> 4);
}

ALWAYS_INLINE __sum16 fou_header_sum(const struct iphdr *ip)
{
    __u32 sum = (__u32)bpf_csum_diff(NULL, 0, (void *)ip, sizeof(*ip), 0);
    sum = (sum & 0xffff) + (sum >> 16);
    return (__sum16) ~(sum + (sum >> 16));
}

/* The packet's length without the padding of short frames; `length`: by its header. */
ALWAYS_INLINE __u32 fou_inner_length(struct __sk_buff *skb, __u32 length)
{
    return length && !skb->gso_size ? length : skb->len - L3;
}

/* Makes room in front of the packet's IP header. */
ALWAYS_INLINE int fou_grow(struct __sk_buff *skb, __u8 family, int unmarked)
{
    __u64 flags = BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_ENCAP_L4_UDP;
    if (unmarked)
        return (int)bpf_skb_adjust_room(skb, (__s32)fou_room(family), BPF_ADJ_ROOM_MAC,
                                        BPF_F_ADJ_ROOM_FIXED_GSO);
    flags |= family == 4 ? BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 : BPF_F_ADJ_ROOM_ENCAP_L3_IPV6;
    int r = (int)bpf_skb_adjust_room(skb, (__s32)fou_room(family), BPF_ADJ_ROOM_MAC, flags);
    if (r == -EALREADY && !skb->gso_size)
        r = (int)bpf_skb_adjust_room(skb, (__s32)fou_room(family), BPF_ADJ_ROOM_MAC, 0);
    return r;
}

ALWAYS_INLINE int fou_put4(struct __sk_buff *skb, const struct nat_addr *src,
                           const struct nat_addr *dst, __be16 sport, __be16 dport, int unmarked)
{
    const struct iphdr *inner = packet_at(skb, L3);
    if (!packet_has(skb, inner + 1))
        return -EINVAL;
    __u32 length = FOU_ROOM4 + fou_inner_length(skb, bpf_ntohs(inner->tot_len));
    struct fou4 outer = {
        .ip = { .version = 4,
                .ihl = 5,
                .tos = fou_ecn(inner->tos),
                .tot_len = fou_length(length),
                .frag_off = bpf_htons(DONT_FRAGMENT),
                .ttl = FOU_HOPS,
                .protocol = IPPROTO_UDP,
                .saddr = src->words[3],
                .daddr = dst->words[3] },
        .udp = { .source = sport, .dest = dport, .len = fou_length(length - sizeof(outer.ip)) },
    };
    outer.ip.check = fou_header_sum(&outer.ip);
    int r = fou_grow(skb, 4, unmarked);
    return r ? r : (int)bpf_skb_store_bytes(skb, L3, &outer, sizeof(outer), BPF_F_RECOMPUTE_CSUM);
}

ALWAYS_INLINE int fou_put6(struct __sk_buff *skb, const struct nat_addr *src,
                           const struct nat_addr *dst, __be16 sport, __be16 dport, int unmarked)
{
    const struct ipv6hdr *inner = packet_at(skb, L3);
    if (!packet_has(skb, inner + 1))
        return -EINVAL;
    __u32 length = bpf_ntohs(inner->payload_len);
    length = sizeof(struct udphdr) + fou_inner_length(skb, length ? sizeof(*inner) + length : 0);
    /* Paths are also selected by the label: one flow, one label. */
    __u32 label = bpf_get_hash_recalc(skb) & 0xfffff;
    struct fou6 outer = {
        .ip = { .payload_len = fou_length(length), .nexthdr = IPPROTO_UDP, .hop_limit = FOU_HOPS },
        .udp = { .source = sport, .dest = dport, .len = fou_length(length) },
    };
    *(__be32 *)&outer.ip =
        bpf_htonl(6u << 28 | (__u32)fou_ecn(fou_tos(6, (const __u8 *)inner)) << 20 | label);
    __builtin_memcpy(&outer.ip.saddr, src, sizeof(*src));
    __builtin_memcpy(&outer.ip.daddr, dst, sizeof(*dst));
    int r = fou_grow(skb, 6, unmarked);
    return r ? r : (int)bpf_skb_store_bytes(skb, L3, &outer, sizeof(outer), BPF_F_RECOMPUTE_CSUM);
}

/*
 * Encapsulates the packet, whose IP header is readable. Returns 0, or an error as a negative
 * number: the packet is unchanged. Pointers into the packet are invalid afterwards.
 */
ALWAYS_INLINE int fou_put(struct __sk_buff *skb, __u8 family, const struct nat_addr *src,
                          const struct nat_addr *dst, __be16 sport, __be16 dport)
{
    return family == 4 ? fou_put4(skb, src, dst, sport, dport, 0)
                       : fou_put6(skb, src, dst, sport, dport, 0);
}

/*
 * The same without marks, for a packet that bpf_redirect_peer() passes to a receiver that
 * decapsulates it.
 */
ALWAYS_INLINE int fou_put_unmarked(struct __sk_buff *skb, __u8 family, const struct nat_addr *src,
                                   const struct nat_addr *dst, __be16 sport, __be16 dport)
{
    return family == 4 ? fou_put4(skb, src, dst, sport, dport, 1)
                       : fou_put6(skb, src, dst, sport, dport, 1);
}

ALWAYS_INLINE int fou_shrink(struct __sk_buff *skb, __u32 bytes)
{
    return (int)bpf_skb_adjust_room(skb, -(__s32)bytes, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
}

/* The same, and the request to complete the outer checksum is removed. */
ALWAYS_INLINE int fou_shrink_request(struct __sk_buff *skb, __u32 bytes)
{
    __u8 kept[FOU_KEPT];
    if (bpf_skb_load_bytes(skb, L3 + bytes, kept, sizeof(kept)) < 0)
        return -EINVAL;
    if (fou_shrink(skb, bytes + FOU_KEPT))
        return fou_shrink(skb, bytes); /* a fragment of a few bytes */
    int r = (int)bpf_skb_adjust_room(skb, FOU_KEPT, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
    return r ? r : (int)bpf_skb_store_bytes(skb, L3, kept, sizeof(kept), BPF_F_RECOMPUTE_CSUM);
}

/* Changes the packet's ECN; `ip`: the first two bytes of its header. */
ALWAYS_INLINE int fou_mark(struct __sk_buff *skb, __u8 family, const __u8 *ip, __u8 ecn)
{
    __u8 marked[2] = { ip[0], ip[1] };
    if (family == 6) {
        marked[1] = (__u8)((ip[1] & ~(FOU_CONGESTED << 4)) | ecn << 4);
        return (int)bpf_skb_store_bytes(skb, L3, marked, sizeof(marked), BPF_F_RECOMPUTE_CSUM);
    }
    marked[1] = (__u8)((ip[1] & ~FOU_CONGESTED) | ecn);
    int r = (int)bpf_l3_csum_replace(skb, L3 + __builtin_offsetof(struct iphdr, check),
                                     (__be16)bpf_htons((__u16)(ip[0] << 8 | ip[1])),
                                     (__be16)bpf_htons((__u16)(ip[0] << 8 | marked[1])),
                                     sizeof(__be16));
    return r ? r : (int)bpf_skb_store_bytes(skb, L3, marked, sizeof(marked), 0);
}

/*
 * Whether the kernel treats the packet as a tunnel's. It does not expose that; but for such a
 * packet it returns another error for a request that it can't grant in any case: for more bytes of
 * an inner Ethernet header than there is room.
 */
ALWAYS_INLINE int fou_is_marked(struct __sk_buff *skb)
{
    return bpf_skb_adjust_room(skb, 1, BPF_ADJ_ROOM_MAC,
                               BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 |
                                   BPF_F_ADJ_ROOM_ENCAP_L2(2)) == -EALREADY;
}

/*
 * Decapsulates a FoU packet, no fragment, whose UDP header is at `udp`. (ip6tnl devices put a
 * destination option in front of it, unless configured otherwise.) Returns 0, or an error as a
 * negative number: the packet is to be dropped. Pointers into the packet are invalid afterwards.
 */
ALWAYS_INLINE int fou_take(struct __sk_buff *skb, __u8 family, __u32 udp)
{
    __u8 outer[2], inner[10];
    __be16 check;
    __u32 room = udp + sizeof(struct udphdr) - L3;
    if (bpf_skb_load_bytes(skb, L3, outer, sizeof(outer)) < 0 ||
        bpf_skb_load_bytes(skb, L3 + room, inner, sizeof(inner)) < 0 ||
        bpf_skb_load_bytes(skb, udp + __builtin_offsetof(struct udphdr, check), &check,
                           sizeof(check)) < 0 ||
        inner[0] >> 4 != family)
        return -EINVAL;
    __u8 protocol = family == 4 ? inner[9] : inner[6];
    if (skb->gso_size && protocol == IPPROTO_UDP && fou_is_marked(skb))
        return -EOPNOTSUPP;
    __u8 met = fou_tos(family, outer) & FOU_CONGESTED;
    __u8 ecn = fou_tos(family, inner) & FOU_CONGESTED;
    if (met == FOU_CONGESTED && !ecn)
        return -EINVAL; /* the congestion could only be signalled by a loss */
    int r = check ? fou_shrink_request(skb, room) : fou_shrink(skb, room);
    if (!r && ecn != met && (met == FOU_CONGESTED || (met == FOU_CAPABLE1 && ecn == FOU_CAPABLE)))
        r = fou_mark(skb, family, inner, met);
    return r;
}
