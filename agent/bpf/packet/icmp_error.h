/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP errors that endpoints and routers send about packets of a flow. An error quotes the packet
 * as it was at the point of failure, that is, translated. So the quote and the addresses of the
 * error are translated back for the sender of that packet.
 *
 * parse_icmp_error() returns the tuple of the quote. The caller looks up the flow by it, and passes
 * the new quote and outer addresses to icmp_error_translate(). A quote needs no more than eight
 * bytes of its TCP, UDP or SCTP header; the checksum need not be among them. That of SCTP is
 * unchanged: the CRC of a whole packet can't be verified for a part of it, and no receiver checks
 * it.
 */
#pragma once

#include "bpf/packet/icmp.h"

/* Offsets in the frame. */
struct icmp_error {
    struct icmp_upper outer; /* .offset: of the ICMP header */
    struct icmp_upper inner; /* .offset: of the quoted TCP, UDP or SCTP header */
    __u32 quote;
};

static __always_inline int icmp_error_type(const struct icmp_upper *outer, __u8 type)
{
    if (outer->version == 4)
        return outer->protocol == IPPROTO_ICMP &&
               (type == ICMP4_UNREACHABLE || type == ICMP4_TIME_EXCEEDED ||
                type == ICMP4_PARAMETER);
    return outer->protocol == IPPROTO_ICMPV6 && type >= 1 && type <= 4;
}

/* One if the frame is an error that can be translated. */
__noinline int icmp_error_find(struct __sk_buff *skb, struct icmp_error *ret)
{
    __u8 type;

    if (!ret || icmp_upper(skb, L3, &ret->outer) || ret->outer.fragment ||
        bpf_skb_load_bytes(skb, ret->outer.offset, &type, 1) || !icmp_error_type(&ret->outer, type))
        return 0;
    ret->quote = ret->outer.offset + ICMP_LEN;
    return !icmp_upper(skb, ret->quote, &ret->inner) && ret->inner.version == ret->outer.version &&
           !ret->inner.later &&
           (ret->inner.protocol == IPPROTO_TCP || ret->inner.protocol == IPPROTO_UDP ||
            ret->inner.protocol == IPPROTO_SCTP) &&
           skb->len >= ret->inner.offset + 8;
}

static __always_inline int icmp_load_addresses(struct __sk_buff *skb, __u32 ip, __u8 version,
                                               struct nat_addr *ret_src, struct nat_addr *ret_dst)
{
    if (version == 6)
        return bpf_skb_load_bytes(skb, ip + 8, ret_src, sizeof(*ret_src)) ||
               bpf_skb_load_bytes(skb, ip + 24, ret_dst, sizeof(*ret_dst));
    ret_src->halves[0] = ret_dst->halves[0] = 0;
    ret_src->words[2] = ret_dst->words[2] = bpf_htonl(0xffff);
    return bpf_skb_load_bytes(skb, ip + 12, &ret_src->words[3], 4) ||
           bpf_skb_load_bytes(skb, ip + 16, &ret_dst->words[3], 4);
}

/*
 * Returns one, and the tuple of the quoted packet, if the frame is an ICMP error about a packet
 * with ports.
 */
__noinline int parse_icmp_error(struct __sk_buff *skb, struct nat_tuple *ret_inner)
{
    struct icmp_error error = {};

    if (!ret_inner || !icmp_error_find(skb, &error))
        return 0;
    if (icmp_load_addresses(skb, error.quote, error.inner.version, &ret_inner->src,
                            &ret_inner->dst) ||
        bpf_skb_load_bytes(skb, error.inner.offset, &ret_inner->sport, 4))
        return 0;
    ret_inner->protocol = error.inner.protocol;
    __builtin_memset(ret_inner->zero, 0, sizeof(ret_inner->zero));
    return 1;
}

__noinline int icmp_adjust_at(struct __sk_buff *skb, __u32 offset, __u32 change)
{
    __u16 field;

    if (bpf_skb_load_bytes(skb, offset, &field, sizeof(field)))
        return -1;
    field = icmp_adjust(field, change);
    return bpf_skb_store_bytes(skb, offset, &field, sizeof(field), BPF_F_RECOMPUTE_CSUM) ? -1 : 0;
}

/* Writes the addresses of an IP header; the IPv4 header's checksum is updated by `change`. */
__noinline int icmp_store_addresses(struct __sk_buff *skb, __u32 ip, const struct nat_addr *src,
                                    const struct nat_addr *dst, __u64 version_change)
{
    if (!src || !dst)
        return -1;
    if (version_change >> 32 == 6)
        return bpf_skb_store_bytes(skb, ip + 8, src, sizeof(*src), BPF_F_RECOMPUTE_CSUM) ||
               bpf_skb_store_bytes(skb, ip + 24, dst, sizeof(*dst), BPF_F_RECOMPUTE_CSUM);
    return bpf_skb_store_bytes(skb, ip + 12, &src->words[3], 4, BPF_F_RECOMPUTE_CSUM) ||
           bpf_skb_store_bytes(skb, ip + 16, &dst->words[3], 4, BPF_F_RECOMPUTE_CSUM) ||
           icmp_adjust_at(skb, ip + 10, (__u32)version_change);
}

/*
 * Updates the quoted checksum; returns by how much the sum of the quoted TCP or UDP grows, ports
 * (by `ports`) included. A UDP checksum of zero is none and stays, and SCTP's stays as well. If the
 * packet's checksum is yet to be completed, it is one of our own answers on its path over a veth:
 * see icmp_half().
 */
__noinline __s64 icmp_adjust_quoted(struct __sk_buff *skb, const struct icmp_error *error,
                                    __u32 addresses, __u32 ports)
{
    if (!error)
        return -1;
    __u32 offset = error->inner.offset + icmp_sum_offset(error->inner.protocol);
    __u32 change = icmp_add(addresses, ports);
    __u16 field, old;

    if (error->inner.protocol == IPPROTO_SCTP || skb->len < offset + sizeof(field))
        return ports;
    if (bpf_skb_load_bytes(skb, offset, &old, sizeof(old)))
        return -1;
    if (error->inner.protocol == IPPROTO_UDP && !old)
        return ports;
    if (icmp_partial(skb, error->outer.offset + 2)) {
        change = icmp_half(ports);
        field = icmp_fold(icmp_add(old, (__u16)~change));
    } else {
        field = icmp_adjust(old, change);
    }
    if (!field && error->inner.protocol == IPPROTO_UDP)
        field = 0xffff;
    if (bpf_skb_store_bytes(skb, offset, &field, sizeof(field), BPF_F_RECOMPUTE_CSUM))
        return -1;
    return icmp_add(ports, (__u16)~icmp_fold(change));
}

/*
 * Changes the receiver of an ICMP error, whose header is at `offset`, to another of the same
 * family. Negative: the packet is spoilt.
 */
__noinline int icmp_error_readdress(struct __sk_buff *skb, __u32 offset,
                                    const struct nat_addr *from, const struct nat_addr *to)
{
    __u32 change;

    if (!from || !to)
        return -1;
    change = (__u32)bpf_csum_diff((__be32 *)from->words, 16, (__be32 *)to->words, 16, 0);
    if (skb->protocol == bpf_htons(ETH_P_IPV6))
        return bpf_skb_store_bytes(skb, L3 + 24, to, 16, BPF_F_RECOMPUTE_CSUM) ||
                       icmp_adjust_at(skb, offset + 2, change)
                   ? -1
                   : 0;
    return bpf_skb_store_bytes(skb, L3 + 16, &to->words[3], 4, BPF_F_RECOMPUTE_CSUM) ||
                   icmp_adjust_at(skb, L3 + 10, change)
               ? -1
               : 0;
}

/*
 * For a frame that parse_icmp_error() accepted, and whose quote is `inner_from`: changes the quote
 * to `inner_to` and writes the outer addresses. All checksums stay valid (invalid ones invalid).
 * Negative: the packet is spoilt and must be dropped.
 */
__noinline int icmp_error_translate(struct __sk_buff *skb, const struct nat_tuple *inner_from,
                                    const struct nat_tuple *inner_to,
                                    const struct nat_addr *outer_src,
                                    const struct nat_addr *outer_dst)
{
    struct icmp_error error = {};
    struct nat_addr old[2];
    __u32 addresses, ports, outer, change;
    __u64 version;
    __s64 quoted;

    if (!inner_from || !inner_to || !outer_src || !outer_dst || !icmp_error_find(skb, &error) ||
        icmp_load_addresses(skb, L3, error.outer.version, &old[0], &old[1]))
        return -1;
    version = (__u64)error.outer.version << 32;
    addresses =
        (__u32)bpf_csum_diff((__be32 *)&inner_from->src, 32, (__be32 *)&inner_to->src, 32, 0);
    ports = (__u32)bpf_csum_diff((__be32 *)&inner_from->sport, 4, (__be32 *)&inner_to->sport, 4, 0);
    outer = (__u32)bpf_csum_diff(old[0].words, 16, (__be32 *)outer_src, 16, 0);
    outer = (__u32)bpf_csum_diff(old[1].words, 16, (__be32 *)outer_dst, 16, outer);

    quoted = icmp_adjust_quoted(skb, &error, addresses, ports);
    if (quoted < 0 ||
        bpf_skb_store_bytes(skb, error.inner.offset, &inner_to->sport, 4, BPF_F_RECOMPUTE_CSUM) ||
        icmp_store_addresses(skb, error.quote, &inner_to->src, &inner_to->dst,
                             version | addresses) ||
        icmp_store_addresses(skb, L3, outer_src, outer_dst, version | outer))
        return -1;
    change = (__u32)quoted;
    /* In IPv4 the quoted header's checksum balances its addresses, and ICMP doesn't cover ours. */
    if (error.outer.version == 6)
        change = icmp_add(change, icmp_add(addresses, outer));
    return icmp_adjust_at(skb, error.outer.offset + 2, change);
}
