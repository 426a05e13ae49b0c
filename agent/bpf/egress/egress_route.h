/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a pod's packet is sent: along its normal route, or to a gateway of a set.
 *
 * A gateway is chosen by rendezvous hashing: every gateway's address is mixed with the client's (or
 * with the flow's tuple), and the largest result wins. So all nodes choose alike, without
 * communication, and the removal of a gateway moves its own clients only.
 */
#pragma once

#include "bpf/egress/egress_client_maps.h"
#include "bpf/egress/egress_drop.h"
#include "bpf/egress/egress_prefix.h"

ALWAYS_INLINE struct egress_pod_value *pod_find(const struct nat_addr *addr)
{
    struct egress_pod_value *pod = bpf_map_lookup_elem(&egress_pods, addr);
    return pod && pod->check == nat_check(addr, 0) ? pod : NULL;
}

ALWAYS_INLINE struct egress_gateway_value *gateway_at(__u32 index)
{
    return bpf_map_lookup_elem(&egress_gateways, &index);
}

ALWAYS_INLINE __u64 mix(__u64 word)
{
    word ^= word >> 32;
    word *= 0xd6e8feb86659fd93ull;
    word ^= word >> 32;
    word *= 0xd6e8feb86659fd93ull;
    return word ^ word >> 32;
}

ALWAYS_INLINE __u64 addr_mix(const struct nat_addr *addr)
{
    return mix(addr->halves[0] * 0x9e3779b97f4a7c15ull ^ addr->halves[1]);
}

ALWAYS_INLINE __u64 tuple_mix(const struct nat_tuple *tuple)
{
    __u64 ports = (__u64)tuple->sport << 24 | (__u64)tuple->dport << 8 | tuple->protocol;
    return mix(addr_mix(&tuple->src) * 3 ^ addr_mix(&tuple->dst) ^ ports);
}

/*
 * The best gateway so far. It is in a map: kernels before 6.7 assume that each step of bpf_loop()
 * finds the stack as it was when the loop began.
 */
struct rendezvous {
    __u64 seed, best;
    __u64 word; /* of the best so far; 0: none */
    __u32 first, index;
    __u32 shunned; /* EGRESS_GATEWAY_* that exclude a gateway for the client */
    __u32 zero;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct rendezvous);
} rendezvous SEC(".maps");

ALWAYS_INLINE struct rendezvous *rendezvous_get(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&rendezvous, &zero);
}

/* A gateway that is searched for, and the result; in a map for the same reason. */
struct member {
    struct nat_addr addr;
    __u64 word; /* 0: not found */
    __u32 first, index;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct member);
} member SEC(".maps");

ALWAYS_INLINE struct member *member_get(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&member, &zero);
}

static long rendezvous_step(__u32 step, void *context)
{
    struct rendezvous *choice = rendezvous_get();
    (void)context;
    if (!choice)
        return 1;
    const struct egress_gateway_value *gateway = gateway_at(choice->first + step);
    if (!gateway)
        return 1;
    __u64 word = READ_ONCE(gateway->word);
    if (!(word & EGRESS_GATEWAY_ACTIVE) || word & choice->shunned)
        return 0;
    __u64 weight = mix(choice->seed ^ addr_mix(&gateway->addr));
    if (choice->word && weight <= choice->best)
        return 0;
    choice->best = weight;
    choice->word = word;
    choice->index = choice->first + step;
    return 0;
}

/* Chooses a gateway of a set for new flows. Returns 1, or 0: none is usable. */
SUBPROGRAM int gateway_choose(__u32 set, const struct nat_tuple *tuple, __u32 shunned,
                              struct egress_pin *ret_pin)
{
    const __u64 *word = bpf_map_lookup_elem(&egress_sets, &set);
    __u32 flags = word ? (__u32)READ_ONCE(*word) : 0;
    struct rendezvous *choice = rendezvous_get();
    if (!choice || !(flags & EGRESS_SET_USED))
        return 0;
    choice->seed = flags & EGRESS_SET_FLOWS ? tuple_mix(tuple) : addr_mix(&tuple->src);
    choice->first = set * EGRESS_SET_MAX;
    choice->word = 0;
    choice->shunned = shunned;
    __u32 count = flags >> EGRESS_SET_COUNT_SHIFT;
    bpf_loop(count < EGRESS_SET_MAX ? count : EGRESS_SET_MAX, rendezvous_step, NULL, 0);
    if (!choice->word)
        return 0;
    ret_pin->gateway = choice->index;
    ret_pin->generation = (__u32)(choice->word >> 32);
    return 1;
}

static long member_step(__u32 step, void *context)
{
    struct member *member = member_get();
    (void)context;
    if (!member)
        return 1;
    const struct egress_gateway_value *gateway = gateway_at(member->first + step);
    if (!gateway)
        return 1;
    __u64 word = READ_ONCE(gateway->word);
    if (!(word & EGRESS_GATEWAY_USED) || !addr_equal(&gateway->addr, &member->addr))
        return 0;
    member->word = word;
    member->index = member->first + step;
    return 1;
}

/*
 * Finds a gateway of a set by its address. Returns 1, or 0: there is none that keeps existing
 * flows.
 */
SUBPROGRAM int gateway_member(__u32 set, const struct nat_addr *addr, struct egress_pin *ret_pin)
{
    const __u64 *word = bpf_map_lookup_elem(&egress_sets, &set);
    __u32 flags = word ? (__u32)READ_ONCE(*word) : 0;
    struct member *member = member_get();
    if (!member || !(flags & EGRESS_SET_USED))
        return 0;
    member->addr = *addr;
    member->first = set * EGRESS_SET_MAX;
    member->word = 0;
    __u32 count = flags >> EGRESS_SET_COUNT_SHIFT;
    bpf_loop(count < EGRESS_SET_MAX ? count : EGRESS_SET_MAX, member_step, NULL, 0);
    ret_pin->gateway = member->index;
    ret_pin->generation = (__u32)(member->word >> 32);
    return member->word != 0;
}

/* The address of a pinned gateway. Returns 0 if the gateway is gone, or its index was reused. */
ALWAYS_INLINE int gateway_read(__u32 index, __u32 generation, struct nat_addr *ret_addr)
{
    const struct egress_gateway_value *gateway = gateway_at(index);
    if (!gateway)
        return 0;
    *ret_addr = gateway->addr;
    barrier();
    __u64 word = READ_ONCE(gateway->word); /* set to 0 before the address changes */
    return word & EGRESS_GATEWAY_USED && (__u32)(word >> 32) == generation;
}
