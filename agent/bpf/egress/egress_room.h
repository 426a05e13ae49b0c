/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the steps of a pod's packet pass to each other (egress_client.bpf.c), and what its twin
 * reports: the same program with dry_run set, which writes nothing. See "The client's twin" in
 * egress_abi.h. Where dry_run is not set, the verifier removes all of that.
 */
#pragma once

#include <linux/pkt_cls.h>

#include "bpf/egress/egress_drop.h"
#include "bpf/egress/egress_path.h"
#include "bpf/egress/egress_route.h"
#include "bpf/packet/quote.h"
#include "bpf/packet/tuple.h"
#include "bpf/route/next_hop.h"

const volatile __u32 dry_run SEC(".rodata.twin") = 0;

/* What the twin records on the way. */
struct told {
    __u32 set, flags; /* EGRESS_TOLD_* */
    __u32 cause;      /* EGRESS_CAUSE_COUNT: not dropped by a cause */
    __u32 out;        /* interface; 0: none */
};

/* Which side began the flow of a pod's packet, as far as the packet shows. */
enum manner {
    MANNER_GOES_ON, /* unknown: a segment of TCP without SYN */
    MANNER_OPENS,   /* the pod may have, just now */
    MANNER_ANSWERS, /* the outside has: a SYN with ACK, an echo reply */
    MANNER_ERROR,   /* an ICMP error about a packet that the pod received */
};

/* What the steps of a packet's processing pass to each other. */
struct room {
    struct packet packet;
    struct nat_tuple key; /* of the pin */
    struct nat_tuple inner, quoted;
    struct icmp_upper upper;
    struct egress_pin pin;
    struct nat_addr gateway;
    struct next_hop next_hop;
    struct told told;
    struct clock clock;
    __u32 translated; /* EGRESS_PIN_TRANSLATED, or 0 */
    __u32 shunned;    /* EGRESS_GATEWAY_* with which the pod begins no flow */
    __u32 manner;     /* enum manner */
    __u32 zero;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct room);
} room SEC(".maps");

ALWAYS_INLINE struct room *room_get(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&room, &zero);
}

/* Drops the packet under a cause. */
ALWAYS_INLINE int refuse(struct __sk_buff *skb, struct room *room, __u32 cause)
{
    if (!dry_run)
        return egress_drop(skb, &room->packet.tuple, cause);
    room->told.cause = cause;
    return SHOT;
}

ALWAYS_INLINE void note(struct room *room, __u32 flag)
{
    if (dry_run)
        room->told.flags |= flag;
}

ALWAYS_INLINE void begin_to_tell(struct room *room)
{
    __builtin_memset(&room->told, 0, sizeof(room->told));
    __builtin_memset(&room->pin, 0, sizeof(room->pin));
    room->told.cause = EGRESS_CAUSE_COUNT;
}

/* Reports the twin's result, for a packet that is sent or dropped. */
ALWAYS_INLINE void tell(struct __sk_buff *skb, struct room *room, int verdict)
{
    const struct nat_tuple *tuple = &room->packet.tuple;
    __u8 family = room->packet.family;
    const struct egress_pod_value *pod = pod_find(&tuple->src);
    __u32 policy = pod ? pod->policy : 0, none;
    __u32 bits = policy ? route_find(policy, &tuple->dst, family, &none) : 0;
    __u32 mtu = 0, found = verdict == TC_ACT_REDIRECT ? EGRESS_TOLD_SENT
                           : verdict == NEXT          ? EGRESS_TOLD_PASSED
                                                      : EGRESS_TOLD_DROPPED;
    if (found == EGRESS_TOLD_SENT)
        mtu = path_narrow(&room->gateway,
                          next_hop_mtu(skb, family, &tuple->src, &room->gateway, &room->next_hop));
    note(room, pod ? EGRESS_TOLD_POD : 0);
    skb->cb[0] = found | room->told.cause << 8 | room->told.flags << 16;
    skb->cb[1] = room->told.set;
    skb->cb[2] = room->pin.gateway;
    skb->cb[3] = bits | excluded_find(&tuple->dst, family) << 16;
    skb->cb[4] = room->told.out;
    skb->mark = mtu;
}
