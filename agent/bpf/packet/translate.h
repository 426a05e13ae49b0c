/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes another tuple into a packet. The transport checksum is corrected by bpf_l4_csum_replace(),
 * which takes its state into account: with CHECKSUM_PARTIAL the field covers the addresses only,
 * with CHECKSUM_COMPLETE the skb's own sum must be updated. Everything else is stored directly.
 *
 * SCTP's checksum covers its ports, and no addresses. It is a CRC of the whole packet, and is in
 * the first fragment, where the length of the packet is not known yet: so the ports of a fragmented
 * packet can't be changed. A checksum of zero is not changed. The packet has none (RFC 9653), or it
 * is to be completed later (CHECKSUM_PARTIAL), by code that assumes zero in the field. A finished
 * checksum is zero by chance, and becomes wrong, in one packet of 2^32.
 */
#pragma once

#include "bpf/packet/crc32c.h"
#include "bpf/packet/parse.h"

/* Folds the one's complement sum of what changes, for bpf_l4_csum_replace(). */
ALWAYS_INLINE __u32 sum_fold(__u64 sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    return (__u32)((sum & 0xffffffff) + (sum >> 32));
}

ALWAYS_INLINE __u64 addr_diff(const struct nat_addr *from, const struct nat_addr *to)
{
    __u64 sum = 4 * 0xffffffffULL; /* ~x is 0xffffffff - x */
#pragma unroll
    for (int i = 0; i < 4; i++) {
        sum += to->words[i];
        sum -= from->words[i];
    }
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

/* The running kernel's version as detected by libbpf: a constant when the program is loaded. */
extern int LINUX_KERNEL_VERSION __kconfig;

enum {
    SUM_IPV6 = 1 << 7,                  /* BPF_F_IPV6 */
    SUM_IPV6_SINCE = 6 << 16 | 16 << 8, /* Linux 6.16 (ead7f9b8de65) */
};

/*
 * Corrects the transport checksum at `check` by what addresses change. With CHECKSUM_COMPLETE the
 * helper subtracts the change from the skb's sum, since the IPv4 header checksum balances it. IPv6
 * has none: a flag reports that to the kernel, or, where the kernel lacks the flag, the change is
 * added back.
 */
ALWAYS_INLINE int sum_addresses(struct __sk_buff *skb, __u8 family, __u32 check, __u64 diff,
                                __u64 flags)
{
    int told = LINUX_KERNEL_VERSION >= SUM_IPV6_SINCE;
    flags |= BPF_F_PSEUDO_HDR | (told && family == 6 ? SUM_IPV6 : 0);
    if (bpf_l4_csum_replace(skb, check, 0, sum_fold(diff), flags) < 0)
        return -1;
    if (!told && family == 6)
        bpf_csum_update(skb, sum_fold(diff));
    return 0;
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

ALWAYS_INLINE int ports_differ(const struct nat_tuple *from, const struct nat_tuple *to)
{
    return from->sport != to->sport || from->dport != to->dport;
}

/* Whether the packet is a fragment of SCTP whose ports would have to change. */
ALWAYS_INLINE int is_cut_sctp(const struct packet *packet, const struct nat_tuple *to)
{
    return packet->tuple.protocol == IPPROTO_SCTP && packet->shape != SHAPE_PORTS &&
           ports_differ(&packet->tuple, to);
}

/* The bytes from the transport header on, without the padding of a short frame. */
ALWAYS_INLINE __u32 upper_length(struct __sk_buff *skb, const struct packet *packet)
{
    if (packet->family == 4) {
        const struct iphdr *ip = packet_at(skb, L3);
        return packet_has(skb, ip + 1) ? L3 + bpf_ntohs(ip->tot_len) - packet->l4 : 0;
    }
    const struct ipv6hdr *ip = packet_at(skb, L3);
    return packet_has(skb, ip + 1) ? L3 + sizeof(*ip) + bpf_ntohs(ip->payload_len) - packet->l4 : 0;
}

ALWAYS_INLINE __u32 little_endian(__u32 word)
{
    return __builtin_bswap32(bpf_ntohl(word));
}

/* The ports of a whole SCTP packet, and its checksum. */
SUBPROGRAM int store_sctp_ports(struct __sk_buff *skb, const struct packet *packet,
                                const struct nat_tuple *to)
{
    __u32 from_word, to_word, check, length = upper_length(skb, packet);
    __builtin_memcpy(&from_word, &packet->tuple.sport, sizeof(from_word));
    __builtin_memcpy(&to_word, &to->sport, sizeof(to_word));
    if (bpf_skb_load_bytes(skb, packet->l4 + SCTP_CHECKSUM, &check, sizeof(check)) < 0)
        return -1;
    if (check)
        check ^= little_endian(crc32c_change(little_endian(from_word ^ to_word), length));
    if (bpf_skb_store_bytes(skb, packet->l4, &to_word, sizeof(to_word), BPF_F_RECOMPUTE_CSUM) < 0)
        return -1;
    return bpf_skb_store_bytes(skb, packet->l4 + SCTP_CHECKSUM, &check, sizeof(check),
                               BPF_F_RECOMPUTE_CSUM) < 0
               ? -1
               : 0;
}

/*
 * Writes the tuple `to` into the packet; `packet` is unchanged. Returns 0, or -1: the packet may be
 * half translated, drop it. The function is global, so that the verifier checks it once, not once
 * for each state it is called in.
 */
__noinline int translate(struct __sk_buff *skb, const struct packet *packet,
                         const struct nat_tuple *to)
{
    if (!packet || !to)
        return -1;
    const struct nat_tuple *from = &packet->tuple;
    __u64 addresses = addr_diff(&from->src, &to->src) + addr_diff(&from->dst, &to->dst);
    int sctp = from->protocol == IPPROTO_SCTP;
    if (sctp && ports_differ(from, to) && store_sctp_ports(skb, packet, to) < 0)
        return -1;
    if (packet->shape != SHAPE_LATER && !sctp) {
        __u64 flags = 0;
        __u32 check = packet->l4 + __builtin_offsetof(struct tcphdr, check);
        if (from->protocol == IPPROTO_UDP) {
            check = packet->l4 + __builtin_offsetof(struct udphdr, check);
            flags = BPF_F_MARK_MANGLED_0;
        }
        if (sum_addresses(skb, packet->family, check, addresses, flags) < 0)
            return -1;
        if (ports_differ(from, to)) {
            if (bpf_l4_csum_replace(skb, check, 0, sum_fold(ports_diff(from, to)), flags) < 0 ||
                store_ports(skb, packet->l4, to) < 0)
                return -1;
        }
    }
    if ((packet->shape == SHAPE_LATER || sctp) && packet->family == 6)
        bpf_csum_update(skb, sum_fold(addresses));
    if (store_addresses(skb, packet, to, addresses) < 0)
        return -1;
    return 0;
}
