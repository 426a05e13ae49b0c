/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's route for a packet: where it leaves the node, and whether it fits.
 *
 * bpf_fib_lookup() returns the next hop and checks the MTU of the device; packets that the device
 * will segment pass that check. bpf_redirect_neigh(), which sends (send.h), resolves the neighbour.
 * So a route whose neighbour is not resolved yet is usable as well.
 *
 * Nothing on that path fragments a packet: a device drops packets larger than its MTU. So a packet
 * that may be fragmented is passed to the stack for that (delivery.h).
 */
#pragma once

#include "bpf/packet/parse.h"

enum {
    LO_IFINDEX = 1,
    AF_INET_ = 2,
    AF_INET6_ = 10,
    GSO_BY_FRAGS = 0xffff,
    NEXT_HOP_FRAGMENT = 68, /* a size that every path takes (RFC 791) */
};

/*
 * The size that the route's MTU limits, as in ip_forward(): bytes from the IP header on, of the
 * packet, or of one segment if the device will segment it. SCTP's segments have various sizes,
 * which are not available here; their sender took the path MTU into account.
 */
ALWAYS_INLINE __u16 next_hop_size(struct __sk_buff *skb, const struct packet *packet)
{
    __u32 size = skb->len - L3;
    if (skb->gso_size == GSO_BY_FRAGS)
        return NEXT_HOP_FRAGMENT;
    if (skb->gso_size)
        size = packet->l4 - L3 + packet->l4_size + skb->gso_size;
    return size < 0xffff ? size : 0xffff;
}

struct next_hop {
    struct bpf_fib_lookup fib;
    __u32 answer;     /* 0, or why there is no route: BPF_FIB_LKUP_RET_*; also if it is too big */
    __u32 unresolved; /* the next hop's neighbour entry is not resolved yet */
    __u32 cut;        /* the packet is larger than the route's MTU, and is to be fragmented */
    __u32 turned;     /* it is the route back; see egress_next_hop.h */
};

/* Looks up the kernel's route; the result is written to `next_hop`. */
ALWAYS_INLINE __u32 next_hop_settle(struct __sk_buff *skb, struct next_hop *next_hop)
{
    struct bpf_fib_lookup *fib = &next_hop->fib;
    __u32 answer = (__u32)bpf_fib_lookup(skb, fib, sizeof(*fib), 0);
    next_hop->unresolved = answer == BPF_FIB_LKUP_RET_NO_NEIGH;
    next_hop->answer = next_hop->unresolved ? 0 : answer;
    return next_hop->answer;
}

/*
 * The kernel's route from `src` to `dst` for `size` bytes that come in by `in`, or, of
 * next_hop_ask(), as the packet does. Returns next_hop->answer: not 0 if they do not fit
 * (BPF_FIB_LKUP_RET_FRAG_NEEDED): then fib.mtu_result is the MTU.
 */
ALWAYS_INLINE __u32 next_hop_ask_from(struct __sk_buff *skb, __u32 in, __u8 family, __u16 size,
                                      const struct nat_addr *src, const struct nat_addr *dst,
                                      struct next_hop *next_hop)
{
    struct bpf_fib_lookup *fib = &next_hop->fib;
    __builtin_memset(fib, 0, sizeof(*fib));
    fib->ifindex = in;
    fib->tot_len = size;
    if (family == 4) {
        fib->family = AF_INET_;
        fib->ipv4_src = src->words[3];
        fib->ipv4_dst = dst->words[3];
    } else {
        fib->family = AF_INET6_;
        __builtin_memcpy(fib->ipv6_src, src, sizeof(*src));
        __builtin_memcpy(fib->ipv6_dst, dst, sizeof(*dst));
    }
    next_hop->cut = next_hop->turned = 0;
    return next_hop_settle(skb, next_hop);
}

ALWAYS_INLINE __u32 next_hop_ask(struct __sk_buff *skb, __u8 family, __u16 size,
                                 const struct nat_addr *src, const struct nat_addr *dst,
                                 struct next_hop *next_hop)
{
    return next_hop_ask_from(skb, skb->ifindex, family, size, src, dst, next_hop);
}

/*
 * The MTU of the route from `src` to `dst`; 0: there is none. The kernel reports it for a packet
 * that is too large, even if the neighbour is not resolved yet. `room` is overwritten.
 */
ALWAYS_INLINE __u32 next_hop_mtu(struct __sk_buff *skb, __u8 family, const struct nat_addr *src,
                                 const struct nat_addr *dst, struct next_hop *room)
{
    __u32 answer = next_hop_ask(skb, family, 0xffff, src, dst, room);
    if (answer == BPF_FIB_LKUP_RET_FRAG_NEEDED)
        return room->fib.mtu_result;
    return answer ? 0 : 0xffff;
}

/* For a packet that is too large for the route that was found, and that may be fragmented: looks up
 * the route for its fragments. Returns next_hop->answer. */
ALWAYS_INLINE __u32 next_hop_cut(struct __sk_buff *skb, const struct packet *packet,
                                 struct next_hop *next_hop)
{
    next_hop->cut = next_hop->answer == BPF_FIB_LKUP_RET_FRAG_NEEDED && packet->cuttable;
    if (!next_hop->cut)
        return next_hop->answer;
    next_hop->fib.tot_len = NEXT_HOP_FRAGMENT;
    return next_hop_settle(skb, next_hop);
}

/*
 * Finds the next hop of a packet from `src` to `dst`. Returns next_hop->answer: 0 also if the
 * packet is to be fragmented.
 */
ALWAYS_INLINE __u32 next_hop_find(struct __sk_buff *skb, const struct packet *packet,
                                  const struct nat_addr *src, const struct nat_addr *dst,
                                  struct next_hop *next_hop)
{
    next_hop_ask(skb, packet->family, next_hop_size(skb, packet), src, dst, next_hop);
    return next_hop_cut(skb, packet, next_hop);
}

/*
 * Sends the packet to its next hop. `routed`: the device takes the next hop from the packet's
 * route, and none is passed, as tunnels without a fixed remote endpoint require.
 */
ALWAYS_INLINE int next_hop_redirect(const struct next_hop *next_hop, int routed)
{
    const struct bpf_fib_lookup *fib = &next_hop->fib;
    if (routed)
        return (int)bpf_redirect_neigh(fib->ifindex, NULL, 0, 0);
    struct bpf_redir_neigh hop = { .nh_family = fib->family };
    if (fib->family == AF_INET_)
        hop.ipv4_nh = fib->ipv4_dst;
    else
        __builtin_memcpy(hop.ipv6_nh, fib->ipv6_dst, sizeof(hop.ipv6_nh));
    return (int)bpf_redirect_neigh(fib->ifindex, &hop, sizeof(hop), 0);
}

/* Has another device of this node receive the packet. `mac`: the device's; NULL: lo's zeros. */
ALWAYS_INLINE int next_hop_receive(struct __sk_buff *skb, __u32 ifindex, const __u8 *mac)
{
    if (head_put(skb) < 0)
        return -1;
    struct ethhdr *eth = packet_at(skb, 0);
    if (!packet_has(skb, eth + 1))
        return -1;
    if (mac)
        __builtin_memcpy(eth->h_dest, mac, ETH_ALEN);
    else
        __builtin_memset(eth->h_dest, 0, ETH_ALEN);
    return (int)bpf_redirect(ifindex, BPF_F_INGRESS);
}
