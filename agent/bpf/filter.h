/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Most packets are not ours. The filter says so after three words read: see "filter" in abi.h. It
 * may wrongly say yes, but never wrongly no. Besides, which addresses are pods', and which are
 * ClusterIPs'.
 */
#pragma once

#include "bpf/maps.h"
#include "bpf/parse.h"

ALWAYS_INLINE const struct nat_control *control_get(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&control, &zero);
}

ALWAYS_INLINE int filter_has(const struct nat_control *control, const struct nat_addr *addr,
                             __be16 port)
{
    __u32 words = control->filter_words;
    __u64 hash = nat_filter_hash(addr, port), bits = nat_filter_bits(hash);
    __u32 index = nat_filter_word(hash, words);
    if (control->filter_half)
        index += words;
    const __u64 *word = bpf_map_lookup_elem(&filter, &index);
    return word && (*word & bits) == bits;
}

ALWAYS_INLINE int net_has(const struct nat_net *net, const struct nat_addr *addr)
{
    return (addr->halves[0] & net->mask.halves[0]) == net->net.halves[0] &&
           (addr->halves[1] & net->mask.halves[1]) == net->net.halves[1];
}

/* Whether a network is one of IPv4, which has ::ffff:0:0/96 in front. */
ALWAYS_INLINE int net_is_ipv4(const struct nat_net *net)
{
    return net->mask.words[2] == 0xffffffff && net->net.halves[0] == 0 &&
           net->net.words[2] == bpf_htonl(0xffff);
}

/*
 * Whether a pod sends the packet: by its source address, where pod networks of its family are
 * known, or else by the interface that it comes in by.
 */
GLOBAL int is_from_pod(const struct packet *packet)
{
    const struct nat_control *control = control_get();
    if (!control || !packet)
        return 0;
    int known = 0, four = packet->family == 4;
    for (__u32 i = 0; i < NAT_MAX_POD_NETS; i++) {
        if (i >= control->pod_net_count)
            break;
        if (net_is_ipv4(&control->pod_nets[i]) != four)
            continue;
        known = 1;
        if (net_has(&control->pod_nets[i], &packet->tuple.src))
            return 1;
    }
    return !known && packet->hook == NAT_HOOK_POD_IN;
}

ALWAYS_INLINE int in_service_nets(const struct nat_control *control, const struct nat_addr *addr)
{
    for (__u32 i = 0; i < NAT_MAX_SERVICE_NETS; i++) {
        if (i >= control->service_net_count)
            break;
        if (net_has(&control->service_nets[i], addr))
            return 1;
    }
    return 0;
}

/* Whether a packet may be a reply of an endpoint. */
ALWAYS_INLINE int may_be_reply(const struct nat_control *control, const struct packet *packet)
{
    return filter_has(control, &packet->tuple.src, packet->tuple.sport);
}

/* Whether a packet may be for a service, or straight to an endpoint. */
ALWAYS_INLINE int may_be_request(const struct nat_control *control, const struct packet *packet)
{
    return filter_has(control, &packet->tuple.dst, 0) ||
           filter_has(control, &packet->tuple.dst, packet->tuple.dport) ||
           in_service_nets(control, &packet->tuple.dst);
}
