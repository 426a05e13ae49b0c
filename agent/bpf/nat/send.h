/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How the NAT program sends a packet to its next hop (next_hop.h).
 *
 * A tunnel without a fixed remote endpoint (Calico's tunl0) sends a packet to the next hop of its
 * route, and drops a packet that has none. The agent lists these devices in "control".
 */
#pragma once

#include "bpf/route/next_hop.h"
#include "bpf/service/filter.h"
#include "bpf/service/maps.h"

enum {
    /* skb->tc_index of packets that the program has sent around the stack, up to the exit: it
     * distinguishes them from what this node's own sockets send. */
    SENT = 0xf19e,
    LOST = 2, /* TC_ACT_SHOT */
};

/* Whether a packet at svc0 would be sent to svc0 again, for a Service: it would loop. */
ALWAYS_INLINE int next_hop_is_back(struct __sk_buff *skb, const struct packet *packet,
                                   const struct next_hop *next_hop)
{
    return packet->hook == NAT_HOOK_SVC_OUT && next_hop->fib.ifindex == skb->ifindex;
}

/*
 * The device by which the stack accepts packets from `src` that it is to forward, also under strict
 * reverse path filtering, which IPv4 has: lo for an address of this node, svc0 for one that is
 * routed there. 0: neither.
 */
ALWAYS_INLINE __u32 way_in(struct __sk_buff *skb, const struct nat_control *control,
                           const struct packet *packet, const struct nat_addr *src)
{
    struct bpf_fib_lookup fib = {
        .family = AF_INET_,
        .ifindex = LO_IFINDEX,
        .tot_len = NEXT_HOP_FRAGMENT,
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

/* Whether a device looks up the route of each packet. */
ALWAYS_INLINE int next_hop_by_route(__u32 ifindex)
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
 * the kernel resolves the neighbour it queues the packet, and then takes the neighbour from that
 * route: the packet would leave with svc0's address in its header. A redirect without a next hop
 * gives it the right route. (Before 6.18, and the stable kernels of late 2025, this leaks a
 * reference to the old route, which is harmless: it is svc0's only route.)
 */
ALWAYS_INLINE int next_hop_send(struct __sk_buff *skb, const struct next_hop *next_hop, int own)
{
    skb->tc_index = SENT;
    if (head_put(skb) < 0)
        return LOST;
    return next_hop_redirect(next_hop, (own && next_hop->unresolved) ||
                                           next_hop_by_route(next_hop->fib.ifindex));
}
