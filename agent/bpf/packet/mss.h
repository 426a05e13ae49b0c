/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP's maximum segment size, lowered to what fits through a tunnel: each side of a connection
 * announces in its SYN how large segments may be (RFC 9293, section 3.7.1).
 */
#pragma once

#include "bpf/packet/parse.h"

enum {
    MSS_OPTIONS = 10, /* maximum number of options parsed */
    MSS_KIND = 2,
    MSS_LENGTH = 4,
    MSS_LEAST = 88, /* as the kernel's TCP_MIN_MSS: the MSS is not lowered further */
};

ALWAYS_INLINE int is_syn(const struct packet *packet)
{
    return packet->tuple.protocol == IPPROTO_TCP && packet->tcp & TCP_SYN &&
           packet->shape == SHAPE_PORTS;
}

/* Lowers the MSS of a SYN to what a packet of `mtu` bytes holds. Returns 0, or -1: the packet is
 * spoilt. */
static __noinline int mss_clamp(struct __sk_buff *skb, const struct packet *packet, __u32 mtu)
{
    __u32 l4 = packet->l4, at = l4 + sizeof(struct tcphdr), end = l4 + packet->l4_size;
    __u32 heads = l4 - L3 + sizeof(struct tcphdr), most = mtu > heads ? mtu - heads : 0;
    struct {
        __u8 kind, length;
        __be16 value;
    } option;
    if (most < MSS_LEAST)
        most = MSS_LEAST;
    for (int i = 0; i < MSS_OPTIONS && at + 1 < end; i++) {
        __u32 room = end - at < sizeof(option) ? 2 : sizeof(option);
        option.value = 0;
        if ((room == 2 ? bpf_skb_load_bytes(skb, at, &option, 2)
                       : bpf_skb_load_bytes(skb, at, &option, sizeof(option))) < 0)
            return 0;
        if (option.kind == 0)
            return 0;
        if (option.kind == 1) {
            at++;
            continue;
        }
        if (option.kind == MSS_KIND && option.length == MSS_LENGTH && room == sizeof(option)) {
            __be16 lower = bpf_htons((__u16)most), from = option.value, to = lower;
            if (bpf_ntohs(from) <= most)
                return 0;
            if ((at + 2 - l4) & 1) { /* its bytes belong to two words of the sum */
                from = __builtin_bswap16(from);
                to = __builtin_bswap16(to);
            }
            if (bpf_l4_csum_replace(skb, l4 + __builtin_offsetof(struct tcphdr, check), from, to,
                                    2) < 0)
                return -1;
            return bpf_skb_store_bytes(skb, at + 2, &lower, sizeof(lower), 0) ? -1 : 0;
        }
        if (option.length < 2)
            return 0;
        at += option.length;
    }
    return 0;
}
