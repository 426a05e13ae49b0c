/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a packet leaves the node: the kernel's route to its new destination, and the redirect.
 *
 * bpf_fib_lookup() gives the next hop and checks the MTU of the device; packets that the device
 * will segment pass that check. bpf_redirect_neigh() resolves the neighbour and sends. So a route
 * whose neighbour is not known yet is as good as one whose neighbour is.
 *
 * Nothing on that way cuts a packet into fragments: a device drops what is larger than its MTU. So
 * a packet that may be cut is handed to the stack for it (hand.h).
 *
 * A tunnel with no fixed other end (Calico's tunl0) sends a packet to the next hop of its route,
 * and drops a packet that has none. The agent lists these devices in "control".
 */
#pragma once

#include "bpf/filter.h"
#include "bpf/maps.h"
#include "bpf/parse.h"

enum {
    LO_IFINDEX = 1,
    AF_INET_ = 2,
    AF_INET6_ = 10,
    /* skb->tc_index of what the program has sent past the stack, up to the exit: so that it is told
     * there from what this node's own sockets send. */
    SENT = 0xf19e,
    GSO_BY_FRAGS = 0xffff,
    LOST = 2,          /* TC_ACT_SHOT */
    WAY_FRAGMENT = 68, /* a size that every way takes (RFC 791) */
};

/*
 * The size that the route's MTU limits, as in ip_forward(): bytes from the IP header on, of the
 * packet, or of one segment if the device will segment it. SCTP's segments are of many sizes, which
 * nobody tells; who made them knew the way's MTU.
 */
ALWAYS_INLINE __u16 way_size(struct __sk_buff *skb, const struct packet *packet)
{
    __u32 size = skb->len - L3;
    if (skb->gso_size == GSO_BY_FRAGS)
        return WAY_FRAGMENT;
    if (skb->gso_size)
        size = packet->l4 - L3 + packet->l4_size + skb->gso_size;
    return size < 0xffff ? size : 0xffff;
}

struct way {
    struct bpf_fib_lookup fib;
    __u32 answer;     /* 0, or why there is no way: BPF_FIB_LKUP_RET_*; also that it is too big */
    __u32 unresolved; /* the next hop's address is not known yet */
    __u32 cut;        /* the packet is larger than the way's MTU, and is to be cut */
};

/* Finds the way of a packet from `src` to `dst`. Returns way->answer: 0 also if it is to be cut. */
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
    way->cut = answer == BPF_FIB_LKUP_RET_FRAG_NEEDED && packet->cuttable;
    if (way->cut) {
        fib->tot_len = WAY_FRAGMENT;
        answer = (__u32)bpf_fib_lookup(skb, fib, sizeof(*fib), 0);
    }
    way->unresolved = answer == BPF_FIB_LKUP_RET_NO_NEIGH;
    way->answer = way->unresolved ? 0 : answer;
    return way->answer;
}

/* Whether a packet at svc0 is to go to svc0: for a Service once more, to be judged for ever. */
ALWAYS_INLINE int way_is_back(struct __sk_buff *skb, const struct packet *packet,
                              const struct way *way)
{
    return packet->hook == NAT_HOOK_SVC_OUT && way->fib.ifindex == skb->ifindex;
}

/*
 * The device by which the stack takes packets from `src` that it is to forward, also under a
 * strict reverse path filter, which IPv4 knows: lo for an address of this node, svc0 for one that
 * is led there. 0: none of the two.
 */
ALWAYS_INLINE __u32 way_in(struct __sk_buff *skb, const struct nat_control *control,
                           const struct packet *packet, const struct nat_addr *src)
{
    struct bpf_fib_lookup fib = {
        .family = AF_INET_,
        .ifindex = LO_IFINDEX,
        .tot_len = WAY_FRAGMENT,
        .ipv4_dst = src->words[3],
    };
    if (packet->family == 6)
        return LO_IFINDEX;
    __u32 answer = (__u32)bpf_fib_lookup(skb, &fib, sizeof(fib), 0);
    if (answer == BPF_FIB_LKUP_RET_NOT_FWDED)
        return LO_IFINDEX;
    if (answer != 0 && answer != BPF_FIB_LKUP_RET_NO_NEIGH)
        return 0;
    return fib.ifindex == control->svc0_ifindex ? fib.ifindex : 0;
}

/* Whether a device asks each packet for its route. */
ALWAYS_INLINE int way_by_route(__u32 ifindex)
{
    const struct nat_control *control = control_get();
    if (!control || !control->by_route[0])
        return 0;
#pragma unroll
    for (int i = 0; i < NAT_MAX_BY_ROUTE; i++) {
        if (control->by_route[i] == ifindex)
            return 1;
    }
    return 0;
}

/*
 * Sends the packet. `own`: this node made the packet, which still carries its route to svc0. While
 * the kernel resolves the neighbour it keeps the packet, and then asks that route for the
 * neighbour: the packet would leave with svc0's address in its header. A redirect without a next
 * hop gives it the right route. (Before 6.18, and the stable kernels of late 2025, this leaks a
 * reference to the old route, which is harmless: it is svc0's only route.)
 */
ALWAYS_INLINE int way_send(struct __sk_buff *skb, const struct way *way, int own)
{
    const struct bpf_fib_lookup *fib = &way->fib;
    skb->tc_index = SENT;
    if (head_put(skb) < 0)
        return LOST;
    if ((own && way->unresolved) || way_by_route(fib->ifindex))
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
