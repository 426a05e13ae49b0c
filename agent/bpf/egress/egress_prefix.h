/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The destinations of a policy. Both sides check them: the client's side to choose where a packet
 * is sent, the gateway's side to accept it. A policy and the ranges that stay in the cluster are
 * looked up in one trie, and the longer prefix wins; at equal lengths the policy wins: its Egress
 * names exactly that range.
 */
#pragma once

#include "bpf/egress/egress_maps.h"
#include "bpf/packet/parse.h"

struct {
    __uint(type, BPF_MAP_TYPE_LPM_TRIE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 262144);
    __type(key, struct egress_route_key);
    __type(value, struct egress_route_value);
} egress_routes SEC(".maps");

/* The longest prefix under a policy: its length in bits, and its set. 0: there is none. */
ALWAYS_INLINE __u32 route_find(__u32 policy, const struct nat_addr *addr, __u8 family,
                               __u32 *ret_set)
{
    struct egress_route_key key = {
        .prefixlen = 32 + 128,
        .policy = bpf_htonl(policy),
        .addr = *addr,
    };
    const struct egress_route_value *value = bpf_map_lookup_elem(&egress_routes, &key);
    *ret_set = 0;
    /* A short IPv6 prefix may cover the addresses that IPv4 is mapped to. */
    if (!value || (family == 4 && value->prefixlen < 32 + 96))
        return 0;
    *ret_set = value->set;
    return value->prefixlen;
}

/* Whether packets to an address stay in the cluster, unless a policy has a longer prefix. */
ALWAYS_INLINE __u32 excluded_find(const struct nat_addr *addr, __u8 family)
{
    __u32 none;
    return route_find(0, addr, family, &none);
}

/* The set for a destination under a policy; 0: it is routed normally. `ret_excluded`: it is in the
 * cluster. */
ALWAYS_INLINE __u32 set_find(__u32 policy, const struct nat_addr *addr, __u8 family,
                             int *ret_excluded)
{
    __u32 set = 0, stay = excluded_find(addr, family);
    __u32 bits = policy ? route_find(policy, addr, family, &set) : 0;
    *ret_excluded = stay > bits;
    return bits && bits >= stay ? set : 0;
}
