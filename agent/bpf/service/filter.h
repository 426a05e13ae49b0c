/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Most packets are not ours. The filter detects that by reading three words: see "filter" in abi.h.
 * It has false positives, but no false negatives. This file also determines which addresses belong
 * to pods, and which are ClusterIPs.
 */
#pragma once

#include "bpf/packet/parse.h"
#include "bpf/service/maps.h"

ALWAYS_INLINE const struct nat_control *control_get(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&control, &zero);
}

/*
 * The filter for one packet: the half in force. It is looked up once for all checks of a packet.
 * Its length is a constant to the verifier, which proves by it that no word lies outside.
 */
struct sieve {
    const __u64 *words; /* NULL: there is none */
    __u32 first;
};

ALWAYS_INLINE struct sieve sieve_of(const struct nat_control *control)
{
    __u32 zero = 0;
    return (struct sieve){
        .words = bpf_map_lookup_elem(&filter, &zero),
        .first = control->filter_half ? filter_words : 0,
    };
}

ALWAYS_INLINE int sieve_has(const struct sieve *sieve, const struct nat_addr *addr, __be16 port)
{
    __u64 hash = nat_filter_hash(addr, port);
    __u32 index = sieve->first + nat_filter_word(hash, filter_words);
    return sieve->words && nat_filter_passes(sieve->words[index], hash);
}

ALWAYS_INLINE int filter_has(const struct nat_control *control, const struct nat_addr *addr,
                             __be16 port)
{
    struct sieve sieve = sieve_of(control);
    return sieve_has(&sieve, addr, port);
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

enum source {
    SOURCE_OTHER,   /* no pod */
    SOURCE_POD,     /* an address of a pod network */
    SOURCE_UNKNOWN, /* no pod network of the family is known */
};

/* The kind of the packet's source address. */
ALWAYS_INLINE __u32 source_of(const struct nat_control *control, const struct packet *packet)
{
    int known = 0, four = packet->family == 4;
    for (__u32 i = 0; i < NAT_MAX_POD_NETS; i++) {
        if (i >= control->pod_net_count)
            break;
        if (net_is_ipv4(&control->pod_nets[i]) != four)
            continue;
        known = 1;
        if (net_has(&control->pod_nets[i], &packet->tuple.src))
            return SOURCE_POD;
    }
    return known ? SOURCE_OTHER : SOURCE_UNKNOWN;
}

/* Whether a pod sends the packet: where no pod network is known, by its input interface. */
ALWAYS_INLINE int is_from_pod(const struct packet *packet, __u32 source)
{
    return source == SOURCE_POD || (source == SOURCE_UNKNOWN && packet->hook == NAT_HOOK_POD_IN);
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

/* Whether the destination may be a service, or an endpoint directly. */
ALWAYS_INLINE int filter_wants(const struct nat_control *control, const struct nat_addr *dst,
                               __be16 dport)
{
    struct sieve sieve = sieve_of(control);
    return sieve_has(&sieve, dst, 0) || sieve_has(&sieve, dst, dport) ||
           in_service_nets(control, dst);
}

ALWAYS_INLINE int may_be_request(const struct nat_control *control, const struct packet *packet)
{
    return filter_wants(control, &packet->tuple.dst, packet->tuple.dport);
}
