/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a packet leaves the node: the kernel's route to its new destination, and the redirect.
 *
 * bpf_fib_lookup() gives the next hop and checks the MTU of the device; packets that the device
 * will segment pass that check. bpf_redirect_neigh() resolves the neighbour and sends. So a route
 * whose neighbour is not known yet is as good as one whose neighbour is.
 */
#pragma once

#include "bpf/maps.h"
#include "bpf/parse.h"

enum { LO_IFINDEX = 1, AF_INET_ = 2, AF_INET6_ = 10 };

/*
 * The size that the route's MTU limits, as in ip_forward(): bytes from the IP header on, of the
 * packet, or of one segment if the device will segment it.
 */
ALWAYS_INLINE __u16 way_size(struct __sk_buff *skb, const struct packet *packet)
{
    __u32 size = skb->len - L3;
    if (skb->gso_size)
        size = packet->l4 - L3 + packet->l4_size + skb->gso_size;
    return size < 0xffff ? size : 0xffff;
}

struct way {
    struct bpf_fib_lookup fib;
    __u32 answer;     /* 0, or why there is no way: BPF_FIB_LKUP_RET_*; also that it is too big */
    __u32 unresolved; /* the next hop's address is not known yet */
};

/* Finds the way of a packet from `src` to `dst`. Returns way->answer. */
ALWAYS_INLINE __u32 way_find(struct __sk_buff *skb, const struct packet *packet,
                             const struct nat_addr *src, const struct nat_addr *dst,
                             struct way *way)
{
    struct bpf_fib_lookup *fib = &way->fib;
    __builtin_memset(fib, 0, sizeof(*fib));
    fib->ifindex = skb->ifindex;
    fib->tot_len = way_size(skb, packet);
    if (packet->family == 4) {
        fib->family = AF_INET_;
        fib->ipv4_src = src->words[3];
        fib->ipv4_dst = dst->words[3];
    } else {
        fib->family = AF_INET6_;
        __builtin_memcpy(fib->ipv6_src, src, sizeof(*src));
        __builtin_memcpy(fib->ipv6_dst, dst, sizeof(*dst));
    }
    __u32 answer = (__u32)bpf_fib_lookup(skb, fib, sizeof(*fib), 0);
    way->unresolved = answer == BPF_FIB_LKUP_RET_NO_NEIGH;
    way->answer = way->unresolved ? 0 : answer;
    return way->answer;
}

/*
 * Sends the packet. `own`: this node made the packet, which still carries its route to svc0. While
 * the kernel resolves the neighbour it keeps the packet, and then asks that route for the
 * neighbour: the packet would leave with svc0's address in its header. A redirect without a next
 * hop gives it the right route. (Before 6.18, and the stable kernels of late 2025, this leaks a
 * reference to the old route, which is harmless: it is svc0's only route.)
 */
ALWAYS_INLINE int way_send(const struct way *way, int own)
{
    const struct bpf_fib_lookup *fib = &way->fib;
    if (own && way->unresolved)
        return (int)bpf_redirect_neigh(fib->ifindex, NULL, 0, 0);
    struct bpf_redir_neigh hop = { .nh_family = fib->family };
    if (fib->family == AF_INET_)
        hop.ipv4_nh = fib->ipv4_dst;
    else
        __builtin_memcpy(hop.ipv6_nh, fib->ipv6_dst, sizeof(hop.ipv6_nh));
    return (int)bpf_redirect_neigh(fib->ifindex, &hop, sizeof(hop), 0);
}

/* Lets another device of this node receive the packet. `mac`: the device's; NULL: lo's zeros. */
ALWAYS_INLINE int way_receive(struct __sk_buff *skb, __u32 ifindex, const __u8 *mac)
{
    struct ethhdr *eth = packet_at(skb, 0);
    if (!packet_has(skb, eth + 1))
        return -1;
    if (mac)
        __builtin_memcpy(eth->h_dest, mac, ETH_ALEN);
    else
        __builtin_memset(eth->h_dest, 0, ETH_ALEN);
    return (int)bpf_redirect(ifindex, BPF_F_INGRESS);
}
