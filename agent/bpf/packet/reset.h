/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP resets: a segment of no connection becomes, in place, the RST that its sender gets for it
 * (RFC 9293, section 3.5.2), from the address that it was for.
 */
#pragma once

#include <linux/errno.h>

#include "bpf/packet/icmp.h"
#include "bpf/packet/parse.h"

enum { RESET_HOPS = 64 };

#ifndef ENOTSUPP
#define ENOTSUPP 524 /* the kernel's own, which it does not export */
#endif

ALWAYS_INLINE int reset_head(struct __sk_buff *skb, const struct packet *packet)
{
    if (packet->family == 4) {
        struct iphdr ip;
        __builtin_memset(&ip, 0, sizeof(ip));
        ip.version = 4;
        ip.ihl = 5;
        ip.tot_len = bpf_htons(sizeof(ip) + sizeof(struct tcphdr));
        ip.frag_off = bpf_htons(DONT_FRAGMENT);
        ip.ttl = RESET_HOPS;
        ip.protocol = IPPROTO_TCP;
        ip.saddr = packet->tuple.dst.words[3];
        ip.daddr = packet->tuple.src.words[3];
        ip.check = (__u16)~icmp_fold((__u32)bpf_csum_diff(NULL, 0, (__be32 *)&ip, sizeof(ip), 0));
        return bpf_skb_store_bytes(skb, L3, &ip, sizeof(ip), BPF_F_RECOMPUTE_CSUM) ? -1 : 0;
    }
    struct ipv6hdr ip;
    __builtin_memset(&ip, 0, sizeof(ip));
    ip.version = 6;
    ip.payload_len = bpf_htons(sizeof(struct tcphdr));
    ip.nexthdr = IPPROTO_TCP;
    ip.hop_limit = RESET_HOPS;
    __builtin_memcpy(&ip.saddr, &packet->tuple.dst, sizeof(ip.saddr));
    __builtin_memcpy(&ip.daddr, &packet->tuple.src, sizeof(ip.daddr));
    return bpf_skb_store_bytes(skb, L3, &ip, sizeof(ip), BPF_F_RECOMPUTE_CSUM) ? -1 : 0;
}

/* Truncates the packet behind the reset. The kernel does not truncate packets with a tunnel's marks
 * (encap.h): then the rest is padding, as that of a short frame. */
ALWAYS_INLINE int reset_cut(struct __sk_buff *skb, __u32 length)
{
    long r = bpf_skb_change_tail(skb, length, 0);
    return r == 0 || (r == -ENOTSUPP && !skb->gso_size) ? 0 : -1;
}

/*
 * Turns the packet into the reset of its sender's connection. Returns 0, or -1: there is none (the
 * packet is a reset itself, or has IP options), and the packet is to be dropped. The packet's tuple
 * is unchanged.
 */
static __noinline int reset_make(struct __sk_buff *skb, const struct packet *packet)
{
    struct tcphdr tcp;
    __be32 pseudo[2];
    __u32 l4 = L3 + (packet->family == 4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
    if (packet->tcp & TCP_RST || packet->l4 != l4 || reset_cut(skb, l4 + sizeof(tcp)) ||
        reset_head(skb, packet))
        return -1;
    int partial = icmp_partial(skb, l4 + __builtin_offsetof(struct tcphdr, check));
    __builtin_memset(&tcp, 0, sizeof(tcp));
    tcp.source = packet->tuple.dport;
    tcp.dest = packet->tuple.sport;
    tcp.doff = sizeof(tcp) / 4;
    tcp.rst = 1;
    if (packet->tcp & TCP_ACK) {
        tcp.seq = bpf_htonl(packet->ack);
    } else {
        tcp.ack = 1;
        tcp.ack_seq = bpf_htonl(packet->end);
    }
    pseudo[0] = bpf_htonl(sizeof(tcp));
    pseudo[1] = bpf_htonl(IPPROTO_TCP);
    __s64 sum = bpf_csum_diff(NULL, 0, pseudo, sizeof(pseudo), 0);
    if (packet->family == 4)
        sum = icmp_add((__u32)sum, icmp_add(icmp_fold(packet->tuple.src.words[3]),
                                            icmp_fold(packet->tuple.dst.words[3])));
    else
        sum = bpf_csum_diff(NULL, 0, (__be32 *)&packet->tuple.src, 32, (__u32)sum);
    if (partial) {
        tcp.check = icmp_fold((__u32)sum); /* the checksum is completed from this value */
    } else {
        sum = bpf_csum_diff(NULL, 0, (__be32 *)&tcp, sizeof(tcp), (__u32)sum);
        tcp.check = (__u16)~icmp_fold((__u32)sum);
    }
    return bpf_skb_store_bytes(skb, l4, &tcp, sizeof(tcp), 0) ? -1 : 0;
}
