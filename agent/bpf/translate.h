/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes another tuple into a packet. The transport checksum is corrected by bpf_l4_csum_replace(),
 * which knows how far it is computed: with CHECKSUM_PARTIAL the field covers the addresses only,
 * with CHECKSUM_COMPLETE the skb's own sum must follow. All else is stored directly.
 */
#pragma once

#include "bpf/parse.h"

/* Folds the one's complement sum of what changes, for bpf_l4_csum_replace(). */
ALWAYS_INLINE __u32 sum_fold(__u64 sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    return (__u32)((sum & 0xffffffff) + (sum >> 32));
}

ALWAYS_INLINE __u64 addr_diff(const struct nat_addr *from, const struct nat_addr *to)
{
    __u64 sum = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        sum += (__u64)(__u32)~from->words[i] + to->words[i];
    return sum;
}

ALWAYS_INLINE __u64 ports_diff(const struct nat_tuple *from, const struct nat_tuple *to)
{
    return (__u64)(__u16)~from->sport + to->sport + (__u16)~from->dport + to->dport;
}

ALWAYS_INLINE void mend_check16(__sum16 *check, __u64 diff)
{
    __u64 sum = (__u16) ~*check + (__u64)sum_fold(diff);
    sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    *check = (__u16)~sum;
}

ALWAYS_INLINE int store_addresses(struct __sk_buff *skb, const struct packet *packet,
                                  const struct nat_tuple *to, __u64 diff)
{
    if (packet->family == 4) {
        struct iphdr *ip = packet_at(skb, L3);
        if (!packet_has(skb, ip + 1))
            return -1;
        ip->saddr = to->src.words[3];
        ip->daddr = to->dst.words[3];
        mend_check16(&ip->check, diff);
    } else {
        struct ipv6hdr *ip = packet_at(skb, L3);
        if (!packet_has(skb, ip + 1))
            return -1;
        __builtin_memcpy(&ip->saddr, &to->src, sizeof(to->src));
        __builtin_memcpy(&ip->daddr, &to->dst, sizeof(to->dst));
    }
    return 0;
}

ALWAYS_INLINE int store_ports(struct __sk_buff *skb, __u32 l4, const struct nat_tuple *to)
{
    if (l4 > L4_OFFSET_MAX)
        return -1;
    struct udphdr *ports = packet_l4(skb, l4);
    if (!packet_has(skb, ports + 1))
        return -1;
    ports->source = to->sport;
    ports->dest = to->dport;
    return 0;
}

/* The packet's tuple becomes `to`. Returns 0, or -1: the packet may be half done, drop it. */
SUBPROGRAM int translate(struct __sk_buff *skb, struct packet *packet, const struct nat_tuple *to)
{
    const struct nat_tuple *from = &packet->tuple;
    __u64 addresses = addr_diff(&from->src, &to->src) + addr_diff(&from->dst, &to->dst);
    if (packet->shape != SHAPE_LATER) {
        __u64 flags = BPF_F_PSEUDO_HDR;
        __u32 check = packet->l4 + __builtin_offsetof(struct tcphdr, check);
        if (from->protocol == IPPROTO_UDP) {
            check = packet->l4 + __builtin_offsetof(struct udphdr, check);
            flags |= BPF_F_MARK_MANGLED_0;
        }
        if (bpf_l4_csum_replace(skb, check, 0, sum_fold(addresses), flags) < 0)
            return -1;
        /*
         * With CHECKSUM_COMPLETE the helper takes the change out of the skb's sum, expecting the
         * IPv4 header checksum to balance it. IPv6 has none, so the change is added back. (Linux
         * 6.16 has a flag for this.)
         */
        if (packet->family == 6)
            bpf_csum_update(skb, sum_fold(addresses));
        if (from->sport != to->sport || from->dport != to->dport) {
            flags &= ~(__u64)BPF_F_PSEUDO_HDR;
            if (bpf_l4_csum_replace(skb, check, 0, sum_fold(ports_diff(from, to)), flags) < 0 ||
                store_ports(skb, packet->l4, to) < 0)
                return -1;
        }
    }
    if (packet->shape == SHAPE_LATER && packet->family == 6)
        bpf_csum_update(skb, sum_fold(addresses));
    if (store_addresses(skb, packet, to, addresses) < 0)
        return -1;
    packet->tuple = *to;
    return 0;
}
