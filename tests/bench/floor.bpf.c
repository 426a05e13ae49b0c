// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the NAT program is measured by: the least that a program costs, and the least that a new
 * flow does, which is an entry under each of its two tuples. The tuples are made of the packet's
 * ports, as in agent/bpf/nat.bpf.c; nothing is looked at, looked up or decided.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"

enum { PORTS4 = 14 + 20, PORTS6 = 14 + 40 };

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 65536);
    __type(key, struct nat_tuple);
    __type(value, struct nat_flow);
} floor_flows SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct nat_flow);
} floor_value SEC(".maps");

SEC("tc")
int empty(struct __sk_buff *skb)
{
    (void)skb;
    return TC_ACT_UNSPEC;
}

SEC("tc")
int inserts(struct __sk_buff *skb)
{
    __u32 zero = 0;
    struct nat_tuple tuple = { .dport = 80, .protocol = 6 };
    struct nat_flow *value = bpf_map_lookup_elem(&floor_value, &zero);
    __u32 at = skb->protocol == bpf_htons(0x86dd) ? PORTS6 : PORTS4;
    if (!value || bpf_skb_load_bytes(skb, at - 8, &tuple.src, 8) < 0 ||
        bpf_skb_load_bytes(skb, at, &tuple.sport, 2) < 0)
        return TC_ACT_UNSPEC;
    bpf_map_update_elem(&floor_flows, &tuple, value, BPF_NOEXIST);
    tuple.dport = 81;
    bpf_map_update_elem(&floor_flows, &tuple, value, BPF_NOEXIST);
    return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
