/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A quick check of incoming packets. Most packets are for no Service, and for these the program is
 * done after the addresses and ports: it queries the filter before it reads anything else, and
 * stores nothing of them. handle() (nat.bpf.c) parses every other packet from its beginning.
 *
 * The check only handles whole TCP and UDP packets without options, extension headers or a tag,
 * whose first bytes are directly readable. For others it makes no decision.
 */
#pragma once

#include "bpf/service/filter.h"

enum glance {
    GLANCE_UNKNOWN, /* not decided by this check */
    GLANCE_MAYBE,   /* the filter has it: it may be a request or a reply */
    GLANCE_NOT_OURS,
};

ALWAYS_INLINE enum glance glance_tuple(const struct nat_control *control,
                                       const struct nat_addr *src, const struct nat_addr *dst,
                                       const struct udphdr *ports)
{
    struct sieve sieve = sieve_of(control);
    return sieve_has(&sieve, dst, 0) || sieve_has(&sieve, dst, ports->dest) ||
                   sieve_has(&sieve, src, ports->source) || in_service_nets(control, dst)
               ? GLANCE_MAYBE
               : GLANCE_NOT_OURS;
}

ALWAYS_INLINE int is_plain(__u8 protocol)
{
    return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
}

ALWAYS_INLINE enum glance glance_v4(struct __sk_buff *skb, const struct nat_control *control)
{
    struct nat_addr src, dst;
    const struct iphdr *ip = packet_at(skb, L3);
    const struct udphdr *ports = (const void *)(ip + 1);
    if (!packet_has(skb, ports + 1) || ip->version != 4 || ip->ihl != 5 ||
        ip->frag_off & bpf_htons(0x3fff) || !is_plain(ip->protocol))
        return GLANCE_UNKNOWN;
    addr_from_v4(&src, ip->saddr);
    addr_from_v4(&dst, ip->daddr);
    return glance_tuple(control, &src, &dst, ports);
}

ALWAYS_INLINE enum glance glance_v6(struct __sk_buff *skb, const struct nat_control *control)
{
    struct nat_addr src, dst;
    const struct ipv6hdr *ip = packet_at(skb, L3);
    const struct udphdr *ports = (const void *)(ip + 1);
    if (!packet_has(skb, ports + 1) || ip->version != 6 || !is_plain(ip->nexthdr))
        return GLANCE_UNKNOWN;
    addr_from_v6(&src, &ip->saddr);
    addr_from_v6(&dst, &ip->daddr);
    return glance_tuple(control, &src, &dst, ports);
}

ALWAYS_INLINE enum glance glance(struct __sk_buff *skb, const struct nat_control *control)
{
    if (skb->vlan_present)
        return GLANCE_UNKNOWN;
    if (skb->protocol == bpf_htons(ETH_P_IP))
        return glance_v4(skb, control);
    return skb->protocol == bpf_htons(ETH_P_IPV6) ? glance_v6(skb, control) : GLANCE_UNKNOWN;
}
