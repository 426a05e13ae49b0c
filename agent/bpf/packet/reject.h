/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Refusals. The refused packet is turned, in place, into the ICMP error about itself, addressed to
 * its sender; the caller selects the device by which it leaves. Packets that the kernel never
 * answers (ICMP errors, later fragments, multicast, broadcast, senders without an address) are not
 * answered here either.
 *
 * An error quotes as much as the kernel's do: up to 576 bytes of error in IPv4, 1280 in IPv6.
 * bpf_skb_change_tail() returns EINVAL if a quote would end before the checksum field of a
 * CHECKSUM_PARTIAL packet; no quote is that short, since it always has the headers. The same call
 * makes the packet linear and private, and no longer GSO. It refuses encapsulated packets, which
 * are dropped then.
 */
#pragma once

#include <linux/if_packet.h>

#include "bpf/packet/icmp.h"

enum answer { ANSWER_PORT_UNREACHABLE, ANSWER_TIME_EXCEEDED, ANSWER_TOO_BIG };

enum {
    ANSWER_MAX_QUOTE4 = 576 - sizeof(struct iphdr) - ICMP_LEN,
    ANSWER_MAX_QUOTE6 = 1280 - sizeof(struct ipv6hdr) - ICMP_LEN,
    ANSWER_HOPS = 64,
    ANSWER_LO_IFINDEX = 1, /* in every network namespace */
};

static __always_inline struct icmp_head answer_header(__u8 version, __u32 kind, __u32 mtu)
{
    struct icmp_head icmp = {};

    switch (kind) {
    case ANSWER_PORT_UNREACHABLE:
        icmp.type = version == 4 ? ICMP4_UNREACHABLE : 1;
        icmp.code = version == 4 ? 3 : 4;
        break;
    case ANSWER_TIME_EXCEEDED:
        icmp.type = version == 4 ? ICMP4_TIME_EXCEEDED : 3;
        break;
    default:
        icmp.type = version == 4 ? ICMP4_UNREACHABLE : 2;
        icmp.code = version == 4 ? 4 : 0;
        icmp.word = bpf_htonl(mtu);
    }
    return icmp;
}

/* ICMP errors, and in IPv4 unknown types, are never answered, as in icmp_send() and icmp6_send().
 */
static __always_inline int answer_forbidden_type(const struct icmp_upper *upper, __u8 type)
{
    if (upper->protocol == IPPROTO_ICMP)
        return type == ICMP4_UNREACHABLE || type == 4 || type == 5 || type == ICMP4_TIME_EXCEEDED ||
               type == ICMP4_PARAMETER || type > ICMP4_TYPES;
    return type < 128 || type == 137; /* 137: redirect */
}

/* Whether the frame was addressed to this host alone. */
static __always_inline int answer_frame(struct __sk_buff *skb)
{
    return skb->pkt_type != PACKET_BROADCAST && skb->pkt_type != PACKET_MULTICAST &&
           skb->pkt_type != PACKET_OTHERHOST;
}

static __always_inline int answer_wanted(struct __sk_buff *skb, const struct icmp_upper *upper)
{
    __u8 type;

    if (!answer_frame(skb) || upper->later)
        return 0;
    if (upper->protocol != (upper->version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6))
        return 1;
    return !bpf_skb_load_bytes(skb, upper->offset, &type, 1) && !answer_forbidden_type(upper, type);
}

static __always_inline int answer_group4(__be32 address)
{
    return (address & bpf_htonl(0xf0000000)) == bpf_htonl(0xe0000000) ||
           address == bpf_htonl(0xffffffff) || !(address & bpf_htonl(0xff000000));
}

static __always_inline int answer_addressed4(struct __sk_buff *skb, const struct iphdr *ip)
{
    return !answer_group4(ip->saddr) && !answer_group4(ip->daddr) &&
           (skb->ifindex == ANSWER_LO_IFINDEX ||
            (ip->saddr & bpf_htonl(0xff000000)) != bpf_htonl(0x7f000000));
}

static __always_inline int answer_addressed6(struct __sk_buff *skb, const struct ipv6hdr *ip)
{
    const __be32 *source = ip->saddr.in6_u.u6_addr32;

    if (ip->saddr.in6_u.u6_addr8[0] == 0xff || ip->daddr.in6_u.u6_addr8[0] == 0xff)
        return 0;
    if (source[0] || source[1] || source[2])
        return 1;
    return source[3] != 0 && (skb->ifindex == ANSWER_LO_IFINDEX || source[3] != bpf_htonl(1));
}

static __always_inline int answer_swap_macs(struct __sk_buff *skb)
{
    __u8 macs[2 * ETH_ALEN], swapped[2 * ETH_ALEN];

    if (!L3)
        return 0;
    if (bpf_skb_load_bytes(skb, 0, macs, sizeof(macs)))
        return -1;
    __builtin_memcpy(swapped, macs + ETH_ALEN, ETH_ALEN);
    __builtin_memcpy(swapped + ETH_ALEN, macs, ETH_ALEN);
    return bpf_skb_store_bytes(skb, 0, swapped, sizeof(swapped), 0) ? -1 : 0;
}

/* Sets the quoted checksum so that the error is valid whether or not it is completed later:
 * icmp_half(). */
static __always_inline int answer_settle(struct __sk_buff *skb, __u32 l4, __u32 end, __u8 protocol)
{
    __u32 field = l4 + icmp_sum_offset(protocol);
    __u16 value = 0;
    __s64 rest;

    if (field == l4 || field + sizeof(value) > end)
        return 0;
    if (bpf_skb_store_bytes(skb, field, &value, sizeof(value), 0))
        return -1;
    rest = icmp_sum(skb, l4, end - l4);
    if (rest < 0)
        return -1;
    value = icmp_half((__u16)~icmp_fold((__u32)rest));
    return bpf_skb_store_bytes(skb, field, &value, sizeof(value), 0) ? -1 : 0;
}

/*
 * Truncates the packet to its quote of `quote` bytes and puts `room` zero bytes before it. `upper`
 * describes the packet before that. Returns the sum of the quote, or a negative number on failure.
 */
__noinline __s64 answer_make_room(struct __sk_buff *skb, const struct icmp_upper *upper,
                                  __u32 quote, __u32 room)
{
    __u32 start = L3 + room;

    if (!upper || bpf_skb_change_tail(skb, L3 + quote, 0) ||
        bpf_skb_adjust_room(skb, (__s32)room, BPF_ADJ_ROOM_MAC, 0))
        return -1;
    if (icmp_partial(skb, L3) &&
        answer_settle(skb, upper->offset + room, start + quote, upper->protocol))
        return -1;
    return icmp_sum(skb, start, quote);
}

static __noinline int answer4(struct __sk_buff *skb, const struct icmp_upper *upper, __u32 kind,
                              __u32 mtu)
{
    struct {
        struct iphdr ip;
        struct icmp_head icmp;
    } answer;
    struct iphdr *ip = &answer.ip;
    __be32 source;
    __u32 quote;
    __s64 sum;

    if (bpf_skb_load_bytes(skb, L3, ip, sizeof(*ip)) || !answer_addressed4(skb, ip))
        return -1;
    quote = skb->len - L3;
    /* The rest is padding of a short frame. Big TCP, which has none, has no length either. */
    if (ip->tot_len && quote > bpf_ntohs(ip->tot_len))
        quote = bpf_ntohs(ip->tot_len);
    if (quote < sizeof(*ip))
        return -1;
    if (quote > ANSWER_MAX_QUOTE4)
        quote = ANSWER_MAX_QUOTE4;
    sum = answer_make_room(skb, upper, quote, sizeof(answer));
    if (sum < 0)
        return -1;

    source = ip->saddr;
    ip->saddr = ip->daddr;
    ip->daddr = source;
    ip->version = 4;
    ip->ihl = 5;
    ip->tos = (ip->tos & 0x1e) | 0xc0; /* "internetwork control", as in the kernel's errors */
    ip->tot_len = bpf_htons((__u16)(sizeof(answer) + quote));
    ip->id = (__be16)bpf_get_prandom_u32();
    ip->frag_off = 0;
    ip->ttl = ANSWER_HOPS;
    ip->protocol = IPPROTO_ICMP;
    ip->check = 0;
    ip->check = (__u16)~icmp_fold((__u32)bpf_csum_diff(NULL, 0, (__be32 *)ip, sizeof(*ip), 0));
    answer.icmp = answer_header(4, kind, mtu);
    sum = bpf_csum_diff(NULL, 0, (__be32 *)&answer.icmp, sizeof(answer.icmp), (__u32)sum);
    answer.icmp.check = (__u16)~icmp_fold((__u32)sum);
    return bpf_skb_store_bytes(skb, L3, &answer, sizeof(answer), BPF_F_RECOMPUTE_CSUM) ? -1 : 0;
}

static __noinline int answer6(struct __sk_buff *skb, const struct icmp_upper *upper, __u32 kind,
                              __u32 mtu)
{
    struct {
        struct ipv6hdr ip;
        struct icmp_head icmp;
    } answer;
    struct ipv6hdr *ip = &answer.ip;
    struct in6_addr source;
    __be32 pseudo[2];
    __u32 quote;
    __s64 sum;

    if (bpf_skb_load_bytes(skb, L3, ip, sizeof(*ip)) || !answer_addressed6(skb, ip))
        return -1;
    quote = skb->len - L3;
    if (ip->payload_len && quote > sizeof(*ip) + bpf_ntohs(ip->payload_len))
        quote = sizeof(*ip) + bpf_ntohs(ip->payload_len);
    if (quote > ANSWER_MAX_QUOTE6)
        quote = ANSWER_MAX_QUOTE6;
    sum = answer_make_room(skb, upper, quote, sizeof(answer));
    if (sum < 0)
        return -1;

    source = ip->saddr;
    ip->saddr = ip->daddr;
    ip->daddr = source;
    *(__be32 *)ip = bpf_htonl(0x60000000); /* version; no class, no label */
    ip->payload_len = bpf_htons((__u16)(sizeof(answer.icmp) + quote));
    ip->nexthdr = IPPROTO_ICMPV6;
    ip->hop_limit = ANSWER_HOPS;
    answer.icmp = answer_header(6, kind, mtu);
    pseudo[0] = bpf_htonl(sizeof(answer.icmp) + quote);
    pseudo[1] = bpf_htonl(IPPROTO_ICMPV6);
    sum = bpf_csum_diff(NULL, 0, pseudo, sizeof(pseudo), (__u32)sum);
    sum = bpf_csum_diff(NULL, 0, (__be32 *)&ip->saddr, 2 * sizeof(source), (__u32)sum);
    sum = bpf_csum_diff(NULL, 0, (__be32 *)&answer.icmp, sizeof(answer.icmp), (__u32)sum);
    answer.icmp.check = (__u16)~icmp_fold((__u32)sum);
    return bpf_skb_store_bytes(skb, L3, &answer, sizeof(answer), BPF_F_RECOMPUTE_CSUM) ? -1 : 0;
}

/*
 * Turns the frame in place into the error of `kind` (enum answer) to its sender, from the address
 * it was for, with the MAC addresses swapped, if it has any; `mtu` is for ANSWER_TOO_BIG. Returns
 * 0, or a negative number if the packet must not or can't be answered: it may have been changed and
 * must be dropped.
 */
__noinline int answer_with(struct __sk_buff *skb, __u32 kind, __u32 mtu)
{
    struct icmp_upper upper = {};

    if (icmp_upper(skb, L3, &upper) || !answer_wanted(skb, &upper))
        return -1;
    if ((upper.version == 4 ? answer4(skb, &upper, kind, mtu) : answer6(skb, &upper, kind, mtu)))
        return -1;
    return answer_swap_macs(skb);
}
