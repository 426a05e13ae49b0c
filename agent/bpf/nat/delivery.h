/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a packet leaves the program: translated, to the stack or around it; or answered by an ICMP
 * error; or dropped.
 *
 * Return codes from 100 on are no verdicts of tc. By them handle() in nat.bpf.c decides what is
 * left to do: it sends answers itself, at the top of the call chain, because BPF stacks are small.
 */
#pragma once

#include "bpf/flow/claim.h"
#include "bpf/nat/send.h"
#include "bpf/packet/reject.h"
#include "bpf/packet/reset.h"
#include "bpf/packet/translate.h"
#include "bpf/route/next_hops.h"
#include "bpf/service/count.h"
#include "bpf/service/limit.h"
#include "bpf/service/opened.h"

enum {
    TAKEN = 100,    /* another CPU has just made this flow */
    STRANGER = 101, /* an ICMP error about no flow */
    PAST = 102,     /* the stack would not accept the packet: it bypasses it */
    ANSWER = 256,   /* + enum answer: the packet is to be answered, by handle() */
};

ALWAYS_INLINE int at_exit(enum nat_hook hook)
{
    return hook == NAT_HOOK_UPLINK_OUT || hook == NAT_HOOK_POD_OUT;
}

/* Whether this node itself made the packet, instead of forwarding it. */
ALWAYS_INLINE int is_own(struct __sk_buff *skb, const struct packet *packet)
{
    return (packet->hook == NAT_HOOK_SVC_OUT || packet->hook == NAT_HOOK_LO_OUT) &&
           skb->ingress_ifindex == 0;
}

ALWAYS_INLINE __u8 origin_of(struct __sk_buff *skb, const struct packet *packet, __u32 source)
{
    if (is_from_pod(packet, source))
        return NAT_ORIGIN_POD;
    if (is_own(skb, packet))
        return NAT_ORIGIN_NODE;
    return NAT_ORIGIN_OUTSIDE;
}

ALWAYS_INLINE int drop(struct __sk_buff *skb, const struct packet *packet, __u32 service,
                       __u32 cause)
{
    count_refusal(skb, packet, service, cause);
    return SHOT;
}

/* Whether XFRM policies must see the packet: one that this node itself sends, or any. */
ALWAYS_INLINE int is_for_xfrm(int own)
{
    const struct nat_control *control = control_get();
    return control && control->path & (own ? NAT_PATH_XFRM : NAT_PATH_WHOLE);
}

/* Has the stack forward the packet, which it receives by `in`: lo or svc0. */
ALWAYS_INLINE int enter_by(struct __sk_buff *skb, const struct nat_control *control, __u32 in)
{
    const __u8 *mac = in == LO_IFINDEX ? NULL : control->svc0_mac;
    barrier_var(mac); /* Linux 6.1 does not see that a second check of `in` has the same result */
    int r = next_hop_receive(skb, in, mac);
    return r < 0 ? SHOT : r;
}

/*
 * With XFRM policies the stack also forwards answers to other nodes: the sender may be behind the
 * end of a tunnel. PAST: there are none, or the stack would not accept the packet.
 */
SUBPROGRAM int answer_by_stack(struct __sk_buff *skb, const struct packet *packet)
{
    const struct nat_control *control = control_get();
    if (!control || packet->hook != NAT_HOOK_UPLINK_IN || !is_for_xfrm(1))
        return PAST;
    __u32 in = way_in(skb, control, packet, &packet->tuple.dst);
    return in ? enter_by(skb, control, in) : PAST;
}

/* The packet has become an ICMP error: sends it back to the sender. */
ALWAYS_INLINE int send_answer(struct __sk_buff *skb, const struct nat_control *control,
                              const struct packet *packet)
{
    int r;
    if (packet->hook == NAT_HOOK_LO_OUT)
        r = next_hop_receive(skb, LO_IFINDEX, NULL);
    else if (packet->hook == NAT_HOOK_SVC_OUT)
        r = next_hop_receive(skb, control->svc0_ifindex, control->svc0_mac);
    else
        r = answer_by_stack(skb, packet);
    if (r == PAST && !L3 && next_hop_by_route(skb->ifindex))
        r = head_put(skb) < 0 ? -1 : (int)bpf_redirect_neigh(skb->ifindex, NULL, 0, 0);
    else if (r == PAST)
        r = (int)bpf_redirect(skb->ifindex, 0);
    return r < 0 ? SHOT : r;
}

/*
 * A refused TCP segment of IPv6 from this machine gets a reset. An ICMP error reaches the sender's
 * socket while connect() still has it, and IPv6, unlike IPv4, discards it then: the caller would be
 * refused when the SYN is sent again, a second later. Senders elsewhere get the same errors as from
 * kube-proxy, and so do packets with extension headers.
 */
ALWAYS_INLINE int gets_reset(struct __sk_buff *skb, const struct packet *packet, __u32 kind)
{
    return kind == ANSWER_PORT_UNREACHABLE && packet->family == 6 &&
           packet->tuple.protocol == IPPROTO_TCP && packet->shape == SHAPE_PORTS &&
           packet->l4 == L3 + sizeof(struct ipv6hdr) &&
           (packet->hook == NAT_HOOK_POD_IN || is_own(skb, packet)) && !(packet->tcp & TCP_RST);
}

/* Returns 0, or < 0: the packet is to be dropped. */
GLOBAL int reset_sender(struct __sk_buff *skb)
{
    struct ipv6hdr ip;
    const struct scratch *room = scratch_get();
    if (!room || !answer_frame(skb) || bpf_skb_load_bytes(skb, L3, &ip, sizeof(ip)) ||
        !answer_addressed6(skb, &ip) || reset_make(skb, &room->packet) < 0)
        return -1;
    return answer_swap_macs(skb);
}

/* Answers as the kernel does: its own sockets each time, others by ICMP within the rate limit;
 * resets are not limited. */
ALWAYS_INLINE int answer(struct __sk_buff *skb, const struct nat_control *control,
                         const struct packet *packet, __u32 kind)
{
    if (gets_reset(skb, packet, kind))
        return reset_sender(skb) < 0 ? SHOT : send_answer(skb, control, packet);
    if (!is_own(skb, packet) && !may_answer(control, &packet->tuple.src, packet->family))
        return SHOT;
    if (answer_with(skb, kind, packet->mtu) < 0)
        return SHOT;
    return send_answer(skb, control, packet);
}

ALWAYS_INLINE int refuse_with(struct __sk_buff *skb, const struct packet *packet, __u32 service,
                              __u32 cause, __u32 kind)
{
    count_refusal(skb, packet, service, cause);
    return ANSWER + kind;
}

/*
 * Decrements the hop limit, as a router does. The header checksum rises by as much as the hop limit
 * falls.
 */
ALWAYS_INLINE int hop_taken(struct __sk_buff *skb, __u8 family)
{
    if (family == 4) {
        struct iphdr *ip = packet_at(skb, L3);
        if (!packet_has(skb, ip + 1))
            return -1;
        __u32 check = ip->check;
        check += bpf_htons(0x0100);
        ip->check = (__u16)(check + (check >= 0xffff));
        ip->ttl--;
    } else {
        struct ipv6hdr *ip = packet_at(skb, L3);
        if (!packet_has(skb, ip + 1))
            return -1;
        ip->hop_limit--;
        /* With CHECKSUM_COMPLETE the skb's sum must follow; in IPv4 the header checksum balances.
         */
        bpf_csum_update(skb, (__u16)~bpf_htons(1));
    }
    return 0;
}

ALWAYS_INLINE int refuse_too_big(struct __sk_buff *skb, struct packet *packet, __u32 service,
                                 const struct next_hop *next_hop)
{
    packet->mtu = next_hop->fib.mtu_result;
    return refuse_with(skb, packet, service, NAT_CAUSE_TOO_BIG, ANSWER_TOO_BIG);
}

/*
 * Has the stack forward the translated packet; the stack fragments and encrypts it. The source is
 * this node's address or a service's. PAST: a source that is not routed to svc0.
 */
SUBPROGRAM int forward_by_stack(struct __sk_buff *skb, struct packet *packet,
                                const struct nat_tuple *to, __u32 service,
                                const struct next_hop *next_hop)
{
    const struct nat_control *control = control_get();
    if (!control)
        return SHOT;
    __u32 in = way_in(skb, control, packet, &to->src);
    if (!in && next_hop->cut)
        return refuse_too_big(skb, packet, service, next_hop);
    if (!in)
        return PAST;
    if (translate(skb, packet, to) < 0)
        return SHOT;
    return enter_by(skb, control, in);
}

/* Translates the packet to `room->to` and sends it by `room->next_hop`, bypassing the stack. */
GLOBAL int forward_by(struct __sk_buff *skb, __u32 service)
{
    struct scratch *room = scratch_get();
    if (!room)
        return SHOT;
    struct packet *packet = &room->packet;
    const struct nat_tuple *to = &room->to;
    const struct next_hop *next_hop = &room->next_hop;
    int own = is_own(skb, packet);
    if (is_cut_sctp(packet, to))
        return drop(skb, packet, service, NAT_CAUSE_FRAGMENT);
    if (next_hop->answer == BPF_FIB_LKUP_RET_FRAG_NEEDED)
        return refuse_too_big(skb, packet, service, next_hop);
    if (next_hop->answer || next_hop_is_back(skb, packet, next_hop))
        return drop(skb, packet, service, NAT_CAUSE_NO_ROUTE);
    if (!own && packet->hops <= 1) {
        return refuse_with(skb, packet, service, NAT_CAUSE_TTL, ANSWER_TIME_EXCEEDED);
    }
    if (next_hop->cut || is_for_xfrm(own)) {
        int r = forward_by_stack(skb, packet, to, service, next_hop);
        if (r != PAST)
            return r;
    }
    if (translate(skb, packet, to) < 0 || (!own && hop_taken(skb, packet->family) < 0))
        return SHOT;
    return next_hop_send(skb, next_hop, own);
}

/* Passes the packet to the stack, or into it by another device. */
ALWAYS_INLINE int pass_on(struct __sk_buff *skb, const struct nat_control *control, __u32 delivery)
{
    int r;
    if (delivery == NAT_DELIVER_STACK)
        return NEXT;
    if (delivery == NAT_DELIVER_SVC0)
        r = next_hop_receive(skb, control->svc0_ifindex, control->svc0_mac);
    else
        r = next_hop_receive(skb, LO_IFINDEX, NULL);
    return r < 0 ? SHOT : r;
}

/* Translates the packet to `room->to` and passes it on by `delivery`. */
ALWAYS_INLINE int hand_on(struct __sk_buff *skb, const struct nat_control *control,
                          struct scratch *room, __u32 delivery, __u32 service)
{
    struct packet *packet = &room->packet;
    const struct nat_tuple *to = &room->to;
    count_packet(skb, service);
    /* From svc0 a packet can't return to the stack, which would route it to svc0 again. */
    if (delivery == NAT_DELIVER_NEIGH ||
        (delivery == NAT_DELIVER_STACK && packet->hook == NAT_HOOK_SVC_OUT)) {
        next_hops_find(skb, packet, &to->src, &to->dst, &room->next_hop);
        return forward_by(skb, service);
    }
    if (is_cut_sctp(packet, to))
        return drop(skb, packet, service, NAT_CAUSE_FRAGMENT);
    mark_opened(skb, control, packet);
    if (translate(skb, packet, to) < 0)
        return SHOT;
    if (delivery == NAT_DELIVER_STACK && packet->hook == NAT_HOOK_POD_IN)
        skb->tc_index = NAT_TRANSLATED;
    return pass_on(skb, control, delivery);
}

/* The same, for a flow's first packet. */
GLOBAL int forward(struct __sk_buff *skb, __u32 delivery, __u32 service)
{
    const struct nat_control *control = control_get();
    struct scratch *room = scratch_get();
    return control && room ? hand_on(skb, control, room, delivery, service) : SHOT;
}
