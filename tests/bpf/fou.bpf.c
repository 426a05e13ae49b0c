// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * FoU on its own: what the map "arguments" says is put around a packet, or a packet's is taken off.
 */
#include "bpf/fou.h"

struct arguments {
    struct nat_addr src, dst;
    __be16 sport, dport;
    __s32 error;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct arguments);
} arguments SEC(".maps");

ALWAYS_INLINE __u8 family_of(struct __sk_buff *skb)
{
    return skb->protocol == bpf_htons(ETH_P_IP) ? 4 : 6;
}

ALWAYS_INLINE struct arguments *given(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&arguments, &zero);
}

ALWAYS_INLINE int wrap(struct __sk_buff *skb)
{
    struct arguments *arguments = given();
    if (!arguments)
        return -1;
    arguments->error = fou_put(skb, family_of(skb), &arguments->src, &arguments->dst,
                               arguments->sport, arguments->dport);
    return arguments->error;
}

ALWAYS_INLINE int unwrap(struct __sk_buff *skb)
{
    struct packet packet;
    struct arguments *arguments = given();
    if (!arguments)
        return -1;
    parse(skb, NAT_HOOK_UPLINK_IN, &packet);
    arguments->error = packet.shape == SHAPE_PORTS && packet.tuple.protocol == IPPROTO_UDP
                           ? fou_take(skb, packet.family, packet.l4)
                           : -ENOENT;
    return arguments->error;
}

SEC("tc") int put(struct __sk_buff *skb)
{
    return wrap(skb) ? 2 : 0;
}

SEC("tc") int take(struct __sk_buff *skb)
{
    return unwrap(skb) ? 2 : 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
