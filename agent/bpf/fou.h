/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Foo-over-UDP (FoU): an IP packet behind an outer IP and UDP header of the same family, as Coil's
 * tunnels and the kernel's `encap fou` have it: IPv4 in UDP in IPv4, IPv6 in UDP in IPv6, without a
 * header of its own. The outer UDP checksum is zero, which the kernel's receivers take in both
 * families (RFC 6935).
 *
 * bpf_skb_adjust_room() makes and takes the room. It marks a large packet (GSO) as one in a UDP
 * tunnel, and segments get outer headers each. TCP's segments stay as long as they are
 * (BPF_F_ADJ_ROOM_FIXED_GSO): who made them was told how long they may be.
 */
#pragma once

#include "bpf/parse.h"

enum {
    FOU_V4 = sizeof(struct iphdr) + sizeof(struct udphdr), /* bytes in front of a packet */
    FOU_V6 = sizeof(struct ipv6hdr) + sizeof(struct udphdr),
    FOU_HOPS = 225, /* as Coil */
    ECN_MASK = 3,
    ECN_ECT0 = 2,
    ECN_CE = 3,
};

ALWAYS_INLINE __u32 fou_size(__u8 family)
{
    return family == 4 ? FOU_V4 : FOU_V6;
}

struct fou_v4 {
    struct iphdr ip;
    struct udphdr udp;
};

struct fou_v6 {
    struct ipv6hdr ip;
    struct udphdr udp;
};

/* The outer ECN bits: the inner ones, but ECT(0) for CE (RFC 6040, section 4.1; as the kernel). */
ALWAYS_INLINE __u8 fou_ecn(__u8 inner)
{
    return (inner & ECN_MASK) == ECN_CE ? ECN_ECT0 : inner & ECN_MASK;
}

ALWAYS_INLINE __u16 fou_sum16(const __u16 *words, __u32 count)
{
    __u32 sum = 0;
#pragma unroll
    for (__u32 i = 0; i < count; i++)
        sum += words[i];
    sum = (sum & 0xffff) + (sum >> 16);
    return (__u16) ~(sum + (sum >> 16));
}

ALWAYS_INLINE int fou_put_v4(struct __sk_buff *skb, const struct nat_addr *src,
                             const struct nat_addr *dst, __be16 sport, __be16 dport)
{
    struct fou_v4 outer;
    const struct iphdr *inner = packet_at(skb, L3);
    __builtin_memset(&outer, 0, sizeof(outer));
    if (!packet_has(skb, inner + 1))
        return -1;
    outer.ip.version = 4;
    outer.ip.ihl = 5;
    outer.ip.tos = fou_ecn(inner->tos);
    outer.ip.frag_off = inner->frag_off & bpf_htons(DONT_FRAGMENT);
    if (!outer.ip.frag_off)
        outer.ip.id = (__be16)bpf_get_prandom_u32();
    outer.ip.ttl = FOU_HOPS;
    outer.ip.protocol = IPPROTO_UDP;
    outer.ip.saddr = src->words[3];
    outer.ip.daddr = dst->words[3];
    if (bpf_skb_adjust_room(skb, sizeof(outer), BPF_ADJ_ROOM_MAC,
                            BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 | BPF_F_ADJ_ROOM_ENCAP_L4_UDP |
                                BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET))
        return -1;
    __u32 length = skb->len - L3;
    outer.ip.tot_len = bpf_htons((__u16)length);
    outer.udp.source = sport;
    outer.udp.dest = dport;
    outer.udp.len = bpf_htons((__u16)(length - sizeof(outer.ip)));
    outer.ip.check = fou_sum16((const __u16 *)&outer.ip, sizeof(outer.ip) / 2);
    return bpf_skb_store_bytes(skb, L3, &outer, sizeof(outer), BPF_F_RECOMPUTE_CSUM) ? -1 : 0;
}

ALWAYS_INLINE int fou_put_v6(struct __sk_buff *skb, const struct nat_addr *src,
                             const struct nat_addr *dst, __be16 sport, __be16 dport)
{
    struct fou_v6 outer;
    const __be32 *inner = packet_at(skb, L3);
    __builtin_memset(&outer, 0, sizeof(outer));
    if (!packet_has(skb, inner + 1))
        return -1;
    __u8 class = (__u8)(bpf_ntohl(*inner) >> 20);
    *(__be32 *)&outer.ip = bpf_htonl(0x60000000 | (__u32)fou_ecn(class) << 20);
    outer.ip.nexthdr = IPPROTO_UDP;
    outer.ip.hop_limit = FOU_HOPS;
    __builtin_memcpy(&outer.ip.saddr, src, sizeof(*src));
    __builtin_memcpy(&outer.ip.daddr, dst, sizeof(*dst));
    if (bpf_skb_adjust_room(skb, sizeof(outer), BPF_ADJ_ROOM_MAC,
                            BPF_F_ADJ_ROOM_ENCAP_L3_IPV6 | BPF_F_ADJ_ROOM_ENCAP_L4_UDP |
                                BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET))
        return -1;
    __u16 length = (__u16)(skb->len - L3 - sizeof(outer.ip));
    outer.ip.payload_len = bpf_htons(length);
    outer.udp.source = sport;
    outer.udp.dest = dport;
    outer.udp.len = bpf_htons(length);
    return bpf_skb_store_bytes(skb, L3, &outer, sizeof(outer), BPF_F_RECOMPUTE_CSUM) ? -1 : 0;
}

/*
 * Puts outer headers in front of the packet. Returns 0, or -1: the kernel can't do so for this kind
 * of packet (a large one that is neither TCP nor UDP, or one that is in a tunnel already), which is
 * as it was or half done. Pointers into the packet are invalid afterwards.
 */
ALWAYS_INLINE int fou_put(struct __sk_buff *skb, __u8 family, const struct nat_addr *src,
                          const struct nat_addr *dst, __be16 sport, __be16 dport)
{
    return family == 4 ? fou_put_v4(skb, src, dst, sport, dport)
                       : fou_put_v6(skb, src, dst, sport, dport);
}

/* Marks the inner packet "congestion experienced" if the outer one is and it can be (RFC 6040). */
ALWAYS_INLINE int fou_mark_v4(struct __sk_buff *skb)
{
    struct iphdr *ip = packet_at(skb, L3);
    if (!packet_has(skb, ip + 1))
        return -1;
    __u8 old = ip->tos & ECN_MASK;
    if (old == 0 || old == ECN_CE)
        return 0;
    __u32 sum = (__u16)~ip->check + (__u32)bpf_htons((__u16)(ECN_CE - old));
    sum = (sum & 0xffff) + (sum >> 16);
    ip->check = (__u16)~sum;
    ip->tos |= ECN_CE;
    return 0;
}

ALWAYS_INLINE int fou_mark_v6(struct __sk_buff *skb)
{
    __be32 *word = packet_at(skb, L3);
    if (!packet_has(skb, word + 1))
        return -1;
    __u32 old = bpf_ntohl(*word) >> 20 & ECN_MASK;
    if (old == 0 || old == ECN_CE)
        return 0;
    *word |= bpf_htonl(ECN_CE << 20);
    /* With CHECKSUM_COMPLETE the skb's sum must follow. */
    bpf_csum_update(skb, bpf_htons((__u16)((ECN_CE - old) << 4)));
    return 0;
}

/*
 * Takes the outer headers off. The outer IP header has no options or extensions, which the caller
 * has seen. Returns 0, or -1: the packet may be half done, drop it. Pointers into the packet are
 * invalid afterwards.
 */
ALWAYS_INLINE int fou_take(struct __sk_buff *skb, __u8 family)
{
    const __u8 *outer = packet_at(skb, L3);
    if (!packet_has(skb, outer + 2))
        return -1;
    __u8 ecn = family == 4 ? outer[1] & ECN_MASK : outer[1] >> 4 & ECN_MASK;
    if (bpf_skb_adjust_room(skb, -(__s32)fou_size(family), BPF_ADJ_ROOM_MAC,
                            BPF_F_ADJ_ROOM_FIXED_GSO))
        return -1;
    if (ecn != ECN_CE)
        return 0;
    packet_pull(skb, L3 + (family == 4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr)));
    return family == 4 ? fou_mark_v4(skb) : fou_mark_v6(skb);
}
