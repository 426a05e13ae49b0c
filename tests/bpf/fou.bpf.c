// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * FoU on its own: what the map "arguments" says is put around a packet, or a packet's is taken off.
 * The programs whose names end in "back" send the result back to where the packet came from.
 */
#include "bpf/packet/fou.h"

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

ALWAYS_INLINE int wrap(struct __sk_buff *skb, int marked)
{
    struct arguments *arguments = given();
    if (!arguments)
        return -1;
    const struct nat_addr *src = &arguments->src, *dst = &arguments->dst;
    __be16 sport = arguments->sport, dport = arguments->dport;
    arguments->error = marked ? fou_put(skb, family_of(skb), src, dst, sport, dport)
                              : fou_put_unmarked(skb, family_of(skb), src, dst, sport, dport);
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

ALWAYS_INLINE int back(struct __sk_buff *skb, int error)
{
    return error ? 2 : (int)bpf_redirect(skb->ifindex, 0);
}

SEC("tc") int put(struct __sk_buff *skb)
{
    return wrap(skb, 1) ? 2 : 0;
}

SEC("tc") int take(struct __sk_buff *skb)
{
    return unwrap(skb) ? 2 : 0;
}

SEC("tc") int put_back(struct __sk_buff *skb)
{
    return back(skb, !is_ip(skb) || wrap(skb, 1));
}

SEC("tc") int take_back(struct __sk_buff *skb)
{
    return back(skb, !is_ip(skb) || unwrap(skb));
}

/* There and back, as what comes over a veth. */
SEC("tc") int both_back(struct __sk_buff *skb)
{
    return back(skb, !is_ip(skb) || wrap(skb, 1) || unwrap(skb));
}

SEC("tc") int both_unmarked_back(struct __sk_buff *skb)
{
    return back(skb, !is_ip(skb) || wrap(skb, 0) || fou_is_marked(skb) || unwrap(skb));
}

/* What has been unwrapped is wrapped again. */
SEC("tc") int again_back(struct __sk_buff *skb)
{
    return back(skb, !is_ip(skb) || wrap(skb, 1) || unwrap(skb) || wrap(skb, 1));
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
