/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP errors that routers send about packets with outer headers. Such an error is addressed to the
 * host that added the headers, and quotes them. The sender of the inner packet does not know them:
 * the error is turned into one about the inner packet, from the same router. The size of the
 * headers is subtracted from the reported MTU.
 *
 * A router quotes at least eight bytes behind the outer IP header, which contain nothing of the
 * inner packet; Linux and all routers that follow RFC 1812 quote more.
 */
#pragma once

#include "bpf/packet/fou.h"
#include "bpf/packet/icmp_error.h"

enum {
    FOU_ERROR_LEAST = 28, /* bytes of an inner packet that are required: its headers and ports */
    FOU_ERROR_MOST = 1240,
};

/* Whether an ICMP packet is an error about FoU that its receiver has sent. */
static __noinline int fou_error_is(struct __sk_buff *skb, const struct packet *packet, __be16 port)
{
    __u32 quote = packet->l4 + ICMP_LEN;
    struct icmp_upper outer = { .version = packet->family, .protocol = packet->tuple.protocol };
    struct icmp_upper upper;
    struct nat_addr src, dst;
    __be16 dport;
    __u8 type;
    if (bpf_skb_load_bytes(skb, packet->l4, &type, 1) || !icmp_error_type(&outer, type) ||
        icmp_upper(skb, quote, &upper) || upper.version != packet->family ||
        upper.protocol != IPPROTO_UDP || upper.fragment ||
        upper.offset + sizeof(struct udphdr) != quote + fou_room(packet->family) ||
        bpf_skb_load_bytes(skb, upper.offset + 2, &dport, sizeof(dport)) ||
        icmp_load_addresses(skb, quote, upper.version, &src, &dst))
        return 0;
    return dport == port && addr_equal(&src, &packet->tuple.dst) &&
           skb->len >= quote + fou_room(packet->family) + FOU_ERROR_LEAST;
}

/* Writes the error's header with the smaller MTU, and its checksum over the `rest` that follows. */
static __noinline int fou_error_finish(struct __sk_buff *skb, const struct packet *packet,
                                       struct icmp_head *head, __u32 rest)
{
    __u32 at = packet->l4, pseudo[2];
    __s64 sum = icmp_sum(skb, at + ICMP_LEN, rest);
    if (sum < 0)
        return -1;
    head->check = 0;
    if (packet->family == 6) {
        pseudo[0] = bpf_htonl(ICMP_LEN + rest);
        pseudo[1] = bpf_htonl(IPPROTO_ICMPV6);
        sum = bpf_csum_diff(NULL, 0, pseudo, sizeof(pseudo), (__u32)sum);
        sum = bpf_csum_diff(NULL, 0, (__be32 *)&packet->tuple.src, 32, (__u32)sum);
    }
    sum = bpf_csum_diff(NULL, 0, (__be32 *)head, sizeof(*head), (__u32)sum);
    head->check = (__u16)~icmp_fold((__u32)sum);
    return bpf_skb_store_bytes(skb, at, head, sizeof(*head), BPF_F_RECOMPUTE_CSUM) ? -1 : 0;
}

/* Updates the IP header's length, and in IPv4 its checksum, after the removal of `less` bytes. */
ALWAYS_INLINE int fou_error_shorten(struct __sk_buff *skb, __u8 family, __u32 less)
{
    __be16 old, fresh;
    __u32 at = L3 + (family == 4 ? 2 : 4);
    if (bpf_skb_load_bytes(skb, at, &old, sizeof(old)))
        return -1;
    fresh = bpf_htons((__u16)(bpf_ntohs(old) - less));
    if (bpf_skb_store_bytes(skb, at, &fresh, sizeof(fresh), BPF_F_RECOMPUTE_CSUM))
        return -1;
    return family == 6 ? 0 : icmp_adjust_at(skb, L3 + 10, (__u32)(__u16)~old + fresh);
}

/*
 * Turns an error that fou_error_is() accepted into one about the inner packet. Returns 0, or -1:
 * the packet is spoilt. It removes as many bytes behind the IP header as the outer headers have;
 * the eight bytes of the outer UDP header, which are then left in front of the inner packet, are
 * overwritten.
 */
static __noinline int fou_error_take(struct __sk_buff *skb, const struct packet *packet)
{
    struct icmp_head head;
    __u32 less = fou_room(packet->family), rest;
    if (bpf_skb_load_bytes(skb, packet->l4, &head, sizeof(head)))
        return -1;
    int too_big = packet->family == 4 ? head.type == ICMP4_UNREACHABLE && head.code == ICMP4_TOO_BIG
                                      : head.type == ICMP6_TOO_BIG;
    if (too_big && bpf_ntohl(head.word) > less)
        head.word = bpf_htonl(bpf_ntohl(head.word) - less);
    if (packet->l4 != L3 + less - sizeof(struct udphdr) ||
        bpf_skb_adjust_room(skb, -(__s32)less, BPF_ADJ_ROOM_NET, 0) ||
        fou_error_shorten(skb, packet->family, less))
        return -1;
    rest = skb->len - packet->l4 - ICMP_LEN;
    if (rest > FOU_ERROR_MOST)
        return -1;
    return fou_error_finish(skb, packet, &head, rest);
}
