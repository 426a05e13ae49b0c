/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a gateway's steps share (egress_gateway.bpf.c): the list of steps, what they pass to each
 * other, how a client's packet is taken out of its tunnel and sent out, and how a packet is sent to
 * a client. The twin takes the same steps.
 */
#pragma once

#include "bpf/egress/egress_claim.h"
#include "bpf/egress/egress_drop.h"
#include "bpf/egress/egress_next_hop.h"
#include "bpf/egress/egress_path.h"
#include "bpf/egress/egress_prefix.h"
#include "bpf/nat/delivery.h"
#include "bpf/packet/echo.h"
#include "bpf/packet/encap.h"
#include "bpf/packet/mss.h"

/*
 * What is left to do with a packet, besides the verdicts of a hook: gateway_in() calls the steps
 * one after the other, since the kernel allows only eight nested calls, and 512 bytes of stack in
 * all of them.
 */
enum step {
    STEP_READ = 200,    /* a client's packet is decapsulated: it is to be parsed */
    STEP_ERROR,         /* an ICMP error about the packet `quoted`: it is sent out, */
    STEP_ERROR_BACK,    /* or to the client */
    STEP_BETWEEN,       /* an ICMP error about a packet of a tunnel to a client */
    STEP_FOLLOW,        /* a client's packet, decapsulated: its flow is to be found */
    STEP_BEGIN,         /* it has none */
    STEP_SEND,          /* it is sent out as `room->to` */
    STEP_RESET,         /* it gets a reset */
    STEP_TIME_EXCEEDED, /* it gets an error: its hop limit has expired, */
    STEP_TOO_BIG,       /* or it is larger than packet->mtu */
    STEP_GIVE_BACK,     /* a reply: it is sent into the tunnel as `room->to` */
    STEP_CUT,           /* a reply: it is fragmented, to be no larger than packet->mtu */
};

/* What the steps pass to each other, besides the scratch space. */
struct gateway_room {
    struct nat_tuple inner, quoted;
    struct icmp_upper upper;
    struct nat_addr sender; /* of the answered packet */
    __u32 client;           /* id */
    __u32 zero;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct gateway_room);
} gateway_room SEC(".maps");

ALWAYS_INLINE struct gateway_room *gateway_room_get(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&gateway_room, &zero);
}

/*
 * Translates the packet's tuple to `to`. Returns 0, or -1: the packet may be half translated, drop
 * it.
 */
ALWAYS_INLINE int translate_any(struct __sk_buff *skb, struct packet *packet,
                                const struct nat_tuple *to)
{
    int r = is_icmp(packet->tuple.protocol) && packet->shape != SHAPE_LATER
                ? echo_translate(skb, packet, to)
                : translate(skb, packet, to);
    packet->tuple = *to;
    return r;
}

ALWAYS_INLINE void count_client(struct __sk_buff *skb, __u32 client)
{
    struct egress_ports_value *ports = ports_of(client);
    if (!ports)
        return;
    __sync_fetch_and_add(&ports->packets, 1);
    __sync_fetch_and_add(&ports->bytes, skb->len - L3);
}

/* Encapsulates the packet, which is translated, for a client. */
SUBPROGRAM int send_to_client(struct __sk_buff *skb, const struct nat_addr *client, __u8 family)
{
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    if (!settings || !room)
        return SHOT;
    const struct nat_addr *own = &settings->own[family == 6];
    struct next_hop *next_hop = &room->next_hop;
    if (gateway_ask(skb, family, NEXT_HOP_FRAGMENT, own, client, next_hop))
        return egress_drop(skb, &room->packet.tuple, EGRESS_CAUSE_NO_ROUTE);
    if (encap_put(skb, family, own, client, settings->port, settings->port) < 0)
        return egress_drop(skb, &room->packet.tuple, EGRESS_CAUSE_OFFLOAD);
    return head_put(skb) < 0 ? SHOT : gateway_redirect(settings, next_hop);
}

/*
 * Whether a client's packet is answered by an ICMP error. Its source is stored: the answer is sent
 * through the tunnel.
 */
GLOBAL int may_answer_client(struct __sk_buff *skb, __u32 kind, __u32 cause)
{
    struct scratch *room = scratch_get();
    struct gateway_room *own = gateway_room_get();
    const struct nat_control *control = control_get();
    if (!room || !own || !control)
        return 0;
    own->sender = room->packet.tuple.src;
    egress_count(skb, &room->packet.tuple, cause);
    return kind == ANSWER_TOO_BIG || may_answer(control, &own->sender, room->packet.family);
}

/* For a SYN, in either direction: limits segments to what fits into the tunnel to the client. */
SUBPROGRAM int limit_segments(struct __sk_buff *skb, const struct packet *packet,
                              const struct nat_addr *client)
{
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    __u32 over = encap_room(packet->family);
    if (!settings || !room || !is_syn(packet))
        return 0;
    __u32 mtu = gateway_mtu(skb, packet->family, &settings->own[packet->family == 6], client,
                            &room->next_hop);
    mtu = path_narrow(client, mtu);
    return mtu > over ? mss_clamp(skb, packet, mtu - over) : 0;
}

/* Sends a client's packet out, as `room->to`. */
GLOBAL int send_outside(struct __sk_buff *skb)
{
    const struct egress_control *settings = egress_control_get();
    struct scratch *room = scratch_get();
    if (!room || !settings)
        return SHOT;
    struct packet *packet = &room->packet;
    struct next_hop *next_hop = &room->next_hop;
    if (packet->hops <= 1)
        return STEP_TIME_EXCEEDED;
    if (limit_segments(skb, packet, &packet->tuple.src) < 0)
        return SHOT;
    gateway_find(skb, packet, &room->to.src, &room->to.dst, next_hop);
    if (next_hop->answer == BPF_FIB_LKUP_RET_FRAG_NEEDED) {
        packet->mtu = next_hop->fib.mtu_result;
        return STEP_TOO_BIG;
    }
    if (next_hop->answer)
        return egress_drop(skb, &packet->tuple, EGRESS_CAUSE_NO_ROUTE);
    if (translate_any(skb, packet, &room->to) < 0)
        return SHOT;
    if (next_hop->cut) { /* by the stack, which accepts this node's own address on lo */
        int r = next_hop_receive(skb, LO_IFINDEX, NULL);
        return r < 0 ? SHOT : r;
    }
    if (hop_taken(skb, packet->family) < 0 || head_put(skb) < 0)
        return SHOT;
    return gateway_redirect(settings, next_hop);
}

/* Whether the parsed packet is encapsulated for this gateway. */
ALWAYS_INLINE int is_wrapped_for(const struct egress_control *settings, const struct packet *packet)
{
    return packet->shape == SHAPE_PORTS &&
           is_for_gateway(settings, packet->family == 6, &packet->tuple);
}

/* Whether a client may send this packet through the tunnel. Returns 0 or -cause. */
ALWAYS_INLINE int check_inner(const struct egress_control *settings, const struct packet *outer,
                              const struct nat_tuple *inner)
{
    int six = outer->family == 6;
    if (!addr_equal(&inner->src, &outer->tuple.src))
        return -EGRESS_CAUSE_SPOOFED;
    if (addr_equal(&inner->dst, &settings->own[six]) || is_source(settings, six, &inner->dst) ||
        encap_is(inner, settings->port))
        return -EGRESS_CAUSE_NESTED;
    if (inner->protocol != IPPROTO_TCP && inner->protocol != IPPROTO_UDP &&
        !is_icmp(inner->protocol))
        return -EGRESS_CAUSE_PROTOCOL;
    return 0;
}

/*
 * Whether a client may begin a flow to the packet's destination: its Egresses have it, and it does
 * not stay in the cluster. The client's own node checks the same, but a pod may encapsulate packets
 * itself.
 */
GLOBAL int client_may_have(__u32 client)
{
    const struct egress_ports_value *ports = ports_of(client);
    const struct scratch *room = scratch_get();
    int stays;
    return room && ports &&
           set_find(ports->policy, &room->packet.tuple.dst, room->packet.family, &stays);
}

/* Decapsulates the inner packet, if its sender may send it. Returns 0 or -cause. */
ALWAYS_INLINE int take_inner(struct __sk_buff *skb, const struct egress_control *settings,
                             const struct packet *packet, struct gateway_room *own)
{
    __u32 ip = encap_inner(packet);
    if (quote_head(skb, ip, &own->upper, &own->inner) || own->upper.version != packet->family)
        return -EGRESS_CAUSE_MALFORMED;
    if (own->inner.protocol == IPPROTO_UDP && !own->upper.later)
        bpf_skb_load_bytes(skb, own->upper.offset, &own->inner.sport, 4);
    int r = check_inner(settings, packet, &own->inner);
    if (r < 0)
        return r;
    return encap_take(skb, packet) < 0 ? -EGRESS_CAUSE_OFFLOAD : 0;
}

/* Sets the tuple of an echo, whole or its first fragment. */
ALWAYS_INLINE void take_echo(struct packet *packet, const struct nat_tuple *tuple)
{
    packet->tuple = *tuple;
    if (packet->first)
        packet->shape = SHAPE_FIRST;
}
