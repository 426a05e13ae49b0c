/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP errors that arrived at the wrong Node. Where several Nodes announce an address, a fabric may
 * send a router's "too big" about one Node's flow to another: the error has the router's source
 * address, and so another ECMP hash than the client's packets. The Node that has the flow would
 * never learn the smaller MTU, and the connection would stall.
 *
 * So such an error, about a packet from one of our frontends that has no flow here, is forwarded to
 * all other Nodes, addressed to each: the Node that has the flow recognizes it by the quote. It is
 * sent through the stack, which has the routes. An error that is addressed to a Node itself is
 * never forwarded; and the pause between two grows with the number of Nodes, so that no flood
 * results.
 */
#pragma once

#include "bpf/nat/delivery.h"
#include "bpf/packet/icmp_error.h"

enum {
    SPREAD_COPY_NS = 1000000,   /* pause per copy: 1,000 copies a second */
    SPREAD_LEAST_NS = 10000000, /* 100 errors a second */
};

struct spread {
    struct __sk_buff *skb;
    __u32 first, icmp; /* of "peers"; where the ICMP header is */
};

static long spread_step(__u32 step, void *context)
{
    const struct spread *spread = context;
    struct __sk_buff *skb = spread->skb;
    struct scratch *room = scratch_get();
    __u32 index = spread->first + step;
    const struct nat_addr *peer = bpf_map_lookup_elem(&peers, &index);
    if (!room || !peer)
        return 1;
    if (icmp_error_readdress(skb, spread->icmp, &room->to.dst, peer) < 0)
        return 1;
    room->to.dst = *peer;
    return bpf_clone_redirect(skb, skb->ifindex, BPF_F_INGRESS) < 0;
}

ALWAYS_INLINE int is_too_big(struct __sk_buff *skb, const struct packet *packet)
{
    __u8 head[2]; /* type and code */
    if (bpf_skb_load_bytes(skb, packet->l4, head, sizeof(head)) < 0)
        return 0;
    return packet->family == 4 ? head[0] == ICMP4_UNREACHABLE && head[1] == ICMP4_TOO_BIG
                               : head[0] == ICMP6_TOO_BIG;
}

ALWAYS_INLINE int spread_is_due(__u32 copies)
{
    struct nat_pressure *state = pressure_get();
    if (!state)
        return 0;
    __u64 now = bpf_ktime_get_coarse_ns(), last = READ_ONCE(state->spread_ns);
    __u64 pause = (__u64)copies * SPREAD_COPY_NS;
    if (now - last < (pause > SPREAD_LEAST_NS ? pause : SPREAD_LEAST_NS) ||
        __sync_val_compare_and_swap(&state->spread_ns, last, now) != last)
        return 0;
    __sync_fetch_and_add(&state->errors_spread, 1);
    return 1;
}

/*
 * Sends an error about no flow to the other Nodes, if it may be about one of theirs; `room->to` is
 * the tuple that it quotes. Returns SHOT, or 1 if it was not forwarded.
 */
GLOBAL int spread_error(struct __sk_buff *skb)
{
    const struct nat_control *control = control_get();
    struct scratch *room = scratch_get();
    if (!control || !room)
        return 1;
    const struct packet *packet = &room->packet;
    const struct nat_tuple *inner = &room->to;
    __u32 count = control->peer_counts[packet->family == 6];
    if (count == 0 || !addr_equal(&inner->src, &packet->tuple.dst) || !is_too_big(skb, packet))
        return 1;
    const struct nat_frontend_value *frontend =
        frontend_find(&inner->src, inner->sport, inner->protocol);
    if (!frontend || frontend->kind == NAT_FRONTEND_NODE_PORT || !spread_is_due(count))
        return 1;
    struct spread spread = {
        .skb = skb,
        .first = packet->family == 6 ? NAT_MAX_PEERS : 0,
        .icmp = packet->l4,
    };
    room->to.dst = packet->tuple.dst;
    bpf_loop(count < NAT_MAX_PEERS ? count : NAT_MAX_PEERS, spread_step, &spread, 0);
    return SHOT;
}
