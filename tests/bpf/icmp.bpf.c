// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ICMP side of the NAT program on its own, so that tests reach every argument of it: what
 * skb->cb[] and the map "arguments" say is handed over, what is returned becomes the verdict.
 */
#include "bpf/packet/icmp_error.h"
#include "bpf/packet/reject.h"
#include "bpf/service/limit.h"
#include "bpf/service/maps.h"

struct arguments {
    struct nat_tuple from, to;
    struct nat_addr src, dst;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct arguments);
} arguments SEC(".maps");

SEC("tc") int answer(struct __sk_buff *skb)
{
    return answer_with(skb, skb->cb[0], skb->cb[1]) ? 2 : 0;
}

/* What is attached to a device: answers the IP packets for its address. */
SEC("tc") int bounce(struct __sk_buff *skb)
{
    if (skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6))
        return -1;
    return answer_with(skb, ANSWER_PORT_UNREACHABLE, 0) ? 2 : bpf_redirect(skb->ifindex, 0);
}

/* For the far ends of wires: packet sockets see what comes, the stack does not. */
SEC("tc") int sink(struct __sk_buff *skb)
{
    (void)skb;
    return 2;
}

SEC("tc") int limit(struct __sk_buff *skb)
{
    __u32 zero = 0;
    struct nat_control *settings = bpf_map_lookup_elem(&control, &zero);
    struct arguments *given = bpf_map_lookup_elem(&arguments, &zero);
    struct nat_addr source;

    if (!settings || !given)
        return -1;
    source = given->src;
    return may_answer(settings, &source, skb->protocol == bpf_htons(ETH_P_IP) ? 4 : 6);
}

SEC("tc") int parse(struct __sk_buff *skb)
{
    __u32 zero = 0;
    struct arguments *given = bpf_map_lookup_elem(&arguments, &zero);
    struct nat_tuple inner = {};
    int found;

    if (!given)
        return -1;
    found = parse_icmp_error(skb, &inner);
    given->from = inner;
    return found;
}

SEC("tc") int translate(struct __sk_buff *skb)
{
    __u32 zero = 0;
    struct arguments *given = bpf_map_lookup_elem(&arguments, &zero);
    struct nat_tuple from, to;
    struct nat_addr src, dst;

    if (!given)
        return -1;
    from = given->from;
    to = given->to;
    src = given->src;
    dst = given->dst;
    return icmp_error_translate(skb, &from, &to, &src, &dst) ? 2 : 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
