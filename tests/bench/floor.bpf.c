// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the NAT program is measured by. "least" is what a translation costs at least: it parses as
 * far as the ports, finds the packet's flow in the live table (bench/nat_program.py gives it that
 * map) and rewrites the destination; nothing is decided or counted. "inserts" is the least that a
 * new flow does, which is an entry under each of its two tuples, in a table of the same kind and
 * size. "empty" is what running a program costs.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/flow_abi.h"

enum {
    PORTS4 = ETH_HLEN + 20,
    PORTS6 = ETH_HLEN + 40,
    TCP_SUM4 = PORTS4 + 16,
    TCP_SUM6 = PORTS6 + 16,
};

#define FLOWS                             \
    __uint(type, BPF_MAP_TYPE_HASH);      \
    __uint(map_flags, BPF_F_NO_PREALLOC); \
    __uint(max_entries, 524288);          \
    __type(key, struct nat_tuple);        \
    __type(value, struct nat_flow)

struct {
    FLOWS;
} flows SEC(".maps");

struct {
    FLOWS;
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

static __always_inline __u32 fold(__u64 sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    return (__u32)((sum & 0xffffffff) + (sum >> 32));
}

/* What one's complement sums change by where one address stands for another. */
static __always_inline __u64 difference(const struct nat_addr *from, const struct nat_addr *to)
{
    __u64 sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (__u64)(__u32)~from->words[i] + to->words[i];
    return sum;
}

static __always_inline int floor4(struct __sk_buff *skb)
{
    void *end = (void *)(long)skb->data_end;
    struct iphdr *ip = (void *)(long)skb->data + ETH_HLEN;
    struct tcphdr *tcp = (void *)(ip + 1);
    if ((void *)(tcp + 1) > end || ip->ihl != 5 || ip->protocol != IPPROTO_TCP)
        return TC_ACT_UNSPEC;
    struct nat_tuple tuple = { .sport = tcp->source, .dport = tcp->dest, .protocol = IPPROTO_TCP };
    tuple.src.words[2] = tuple.dst.words[2] = bpf_htonl(0xffff);
    tuple.src.words[3] = ip->saddr;
    tuple.dst.words[3] = ip->daddr;
    const struct nat_flow *flow = bpf_map_lookup_elem(&flows, &tuple);
    if (!flow)
        return TC_ACT_SHOT;
    __u64 sum = difference(&tuple.dst, &flow->to.dst);
    __u32 check = (__u16)~ip->check + (fold(sum) & 0xffff) + (fold(sum) >> 16);
    check = (check & 0xffff) + (check >> 16);
    ip->check = (__u16) ~((check & 0xffff) + (check >> 16));
    ip->daddr = flow->to.dst.words[3];
    tcp->dest = flow->to.dport;
    sum += (__u64)(__u16)~tuple.dport + flow->to.dport;
    bpf_l4_csum_replace(skb, TCP_SUM4, 0, fold(sum), BPF_F_PSEUDO_HDR);
    return TC_ACT_UNSPEC;
}

static __always_inline int floor6(struct __sk_buff *skb)
{
    void *end = (void *)(long)skb->data_end;
    struct ipv6hdr *ip = (void *)(long)skb->data + ETH_HLEN;
    struct tcphdr *tcp = (void *)(ip + 1);
    if ((void *)(tcp + 1) > end || ip->nexthdr != IPPROTO_TCP)
        return TC_ACT_UNSPEC;
    struct nat_tuple tuple = { .sport = tcp->source, .dport = tcp->dest, .protocol = IPPROTO_TCP };
    __builtin_memcpy(&tuple.src, &ip->saddr, sizeof(tuple.src));
    __builtin_memcpy(&tuple.dst, &ip->daddr, sizeof(tuple.dst));
    const struct nat_flow *flow = bpf_map_lookup_elem(&flows, &tuple);
    if (!flow)
        return TC_ACT_SHOT;
    __u64 sum = difference(&tuple.dst, &flow->to.dst);
    __builtin_memcpy(&ip->daddr, &flow->to.dst, sizeof(ip->daddr));
    tcp->dest = flow->to.dport;
    sum += (__u64)(__u16)~tuple.dport + flow->to.dport;
    bpf_l4_csum_replace(skb, TCP_SUM6, 0, fold(sum), BPF_F_PSEUDO_HDR);
    return TC_ACT_UNSPEC;
}

SEC("tc")
int least(struct __sk_buff *skb)
{
    return skb->protocol == bpf_htons(ETH_P_IPV6) ? floor6(skb) : floor4(skb);
}

SEC("tc")
int inserts(struct __sk_buff *skb)
{
    __u32 zero = 0;
    struct nat_tuple tuple = { .dport = 80, .protocol = 6 };
    struct nat_flow *value = bpf_map_lookup_elem(&floor_value, &zero);
    __u32 at = skb->protocol == bpf_htons(ETH_P_IPV6) ? PORTS6 : PORTS4;
    if (!value || bpf_skb_load_bytes(skb, at - 8, &tuple.src, 8) < 0 ||
        bpf_skb_load_bytes(skb, at, &tuple.sport, 2) < 0)
        return TC_ACT_UNSPEC;
    bpf_map_update_elem(&floor_flows, &tuple, value, BPF_NOEXIST);
    tuple.dport = 81;
    bpf_map_update_elem(&floor_flows, &tuple, value, BPF_NOEXIST);
    return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
