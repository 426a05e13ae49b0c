/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The two flow tables: finding, making, answering and forgetting flows. See "flows" in abi.h.
 *
 * The reply half is inserted first, and only if its tuple is free: that claims the tuple. Who finds
 * it taken (by another flow, a direct connection, a socket of this node) tries another source port.
 */
#pragma once

#include <linux/errno.h>

#include "bpf/choose.h"
#include "bpf/way.h"

enum {
    CLAIM_TRIES = 8, /* for a free tuple, then for one whose flow is over to each of the degrees: */
    OVER_FOR_A_WHILE = 0,
    OVER_AT_ENDPOINT,
    OVER,
    OVER_DEGREES,
    CLAIM_S = 2, /* within which who has claimed a tuple has inserted the other half */
};

ALWAYS_INLINE __u32 now_s(void)
{
    return (__u32)(bpf_ktime_get_coarse_ns() / 1000000000ull);
}

ALWAYS_INLINE void tuple_reverse(const struct nat_tuple *tuple, struct nat_tuple *ret_reversed)
{
    ret_reversed->src = tuple->dst;
    ret_reversed->dst = tuple->src;
    ret_reversed->sport = tuple->dport;
    ret_reversed->dport = tuple->sport;
    ret_reversed->protocol = tuple->protocol;
    ret_reversed->zero[0] = ret_reversed->zero[1] = ret_reversed->zero[2] = 0;
}

ALWAYS_INLINE int tuple_equal(const struct nat_tuple *a, const struct nat_tuple *b)
{
    return a->sport == b->sport && a->dport == b->dport && addr_equal(&a->src, &b->src) &&
           addr_equal(&a->dst, &b->dst);
}

/*
 * The half under a tuple, or NULL; `*ret_established`: it is in "flows". There it is looked for
 * once more at the end: another CPU may have moved it between the first look and the second.
 */
ALWAYS_INLINE struct nat_flow *flow_find(const struct nat_tuple *tuple, int *ret_established)
{
    __u32 check = nat_tuple_check(tuple);
    struct nat_flow *flow = bpf_map_lookup_elem(&flows, tuple);
    *ret_established = 1;
    if (flow && flow->check == check)
        return flow;
    flow = bpf_map_lookup_elem(&flows_new, tuple);
    *ret_established = 0;
    if (flow && flow->check == check)
        return flow;
    flow = bpf_map_lookup_elem(&flows, tuple);
    *ret_established = 1;
    return flow && flow->check == check ? flow : NULL;
}

/*
 * Inserts a half of a new flow, if its tuple is free. "flows" is asked last: another CPU may be
 * moving a half there, which is in both for a moment. Returns 0, -EEXIST, or what keeps the kernel
 * from inserting anything just now: before Linux 6.7 (d35381aa73f7) that some other context of
 * this CPU, which a packet has interrupted, is at the table, too.
 */
SUBPROGRAM int flow_insert(const struct nat_tuple *tuple, const struct nat_flow *flow)
{
    int r = map_put(&flows_new, tuple, flow, BPF_NOEXIST);
    if (r < 0 || !bpf_map_lookup_elem(&flows, tuple))
        return r;
    bpf_map_delete_elem(&flows_new, tuple);
    return -EEXIST;
}

/* Only where it was found: in the other table another CPU may have made a new one meanwhile. */
ALWAYS_INLINE void flow_delete(const struct nat_tuple *tuple, int established)
{
    if (established)
        bpf_map_delete_elem(&flows, tuple);
    else
        bpf_map_delete_elem(&flows_new, tuple);
}

/*
 * The half that belongs to the one under `key`, whose packets become `to`; NULL: it is alone. What
 * stands in its place may be of a later flow of the same client.
 */
ALWAYS_INLINE struct nat_flow *flow_find_mate(const struct nat_tuple *key,
                                              const struct nat_tuple *to,
                                              struct nat_tuple *ret_mate_key, int *ret_established)
{
    tuple_reverse(to, ret_mate_key);
    struct nat_flow *mate = flow_find(ret_mate_key, ret_established);
    if (!mate || mate->to.sport != key->dport || mate->to.dport != key->sport ||
        !addr_equal(&mate->to.src, &key->dst) || !addr_equal(&mate->to.dst, &key->src))
        return NULL;
    return mate;
}

/* The other half, from one of them and its key. */
ALWAYS_INLINE void flow_mate(const struct nat_tuple *key, const struct nat_flow *flow,
                             struct nat_tuple *ret_key, struct nat_flow *ret_mate)
{
    tuple_reverse(&flow->to, ret_key);
    __builtin_memcpy(ret_mate, flow, sizeof(*flow));
    tuple_reverse(key, &ret_mate->to);
    ret_mate->half = flow->half == NAT_HALF_FORWARD ? NAT_HALF_REPLY : NAT_HALF_FORWARD;
    ret_mate->hand = flow->mate_hand;
    ret_mate->mate_hand = flow->hand;
    ret_mate->flags = flow->flags & ~(NAT_FLOW_FIN | NAT_FLOW_RST);
    ret_mate->check = nat_tuple_check(ret_key);
    ret_mate->packets = ret_mate->bytes = 0;
}

/* Both halves, wherever they are. */
SUBPROGRAM int flow_forget(const struct nat_tuple *key)
{
    struct nat_tuple mate;
    int established, mate_established;
    const struct nat_flow *flow = flow_find(key, &established);
    if (!flow)
        return 0;
    int alone =
        flow->half == NAT_HALF_DIRECT || !flow_find_mate(key, &flow->to, &mate, &mate_established);
    flow_delete(key, established);
    if (!alone)
        flow_delete(&mate, mate_established);
    return 0;
}

/*
 * A client begins anew under a tuple whose flow, which led to `to`, is over. Where its port to the
 * endpoint was drawn, the reply half stays alone for a while (the sweep ends it): the endpoint may
 * still be in TIME_WAIT for that port, and the next connection shall have another. What leads
 * elsewhere another CPU has made anew already.
 */
SUBPROGRAM int flow_reopen(const struct nat_tuple *key, const struct nat_tuple *to)
{
    struct nat_tuple mate;
    int established, mate_established;
    const struct nat_flow *flow = flow_find(key, &established);
    if (!flow || !tuple_equal(&flow->to, to))
        return 0;
    flow_delete(key, established);
    /* UDP has no TIME_WAIT, and a half-open flow's late answer must not take the new one over. */
    if ((to->sport == key->sport || key->protocol != IPPROTO_TCP || !established) &&
        flow_find_mate(key, to, &mate, &mate_established))
        flow_delete(&mate, mate_established);
    return 0;
}

/*
 * Whether the flow of a reply half may lose its tuple for want of free ones: that is over, by a
 * reset or both ends' word. A SYN under it would be lost on an endpoint that still waits for the
 * client's last ACK, is just working on it, or closed first and keeps TIME_WAIT.
 */
ALWAYS_INLINE int flow_may_yield(const struct nat_flow *flow, const struct nat_flow *mate,
                                 int degree)
{
    if (!mate) /* maybe because the forward half is about to be inserted */
        return degree == OVER && (__s32)(now_s() - flow->seen_s) > CLAIM_S;
    if (degree == OVER_FOR_A_WHILE && mate->seen_s == now_s())
        return 0;
    if ((flow->flags | mate->flags) & NAT_FLOW_RST)
        return 1;
    return flow->flags & NAT_FLOW_FIN && mate->flags & NAT_FLOW_FIN &&
           (degree == OVER || mate->flags & NAT_FLOW_LAST);
}

/* When a half was seen last, and whose it is: one word. */
union flow_age {
    struct {
        __u32 seen_s, check;
    };
    __u64 word;
};

/*
 * Frees the reply tuple of a flow that may lose it. Of two CPUs that find the same flow over, the
 * one that unmakes its check has it: the other would delete what the first then claims. Nobody has
 * it whose flow has been seen since it was found, or made anew in the same place in another second.
 */
SUBPROGRAM int flow_yield(const struct nat_tuple *reply, int degree)
{
    struct nat_tuple mate_key;
    int established, mate_established;
    struct nat_flow *flow = flow_find(reply, &established);
    if (!flow || flow->half != NAT_HALF_REPLY)
        return 0;
    __u64 *word = (__u64 *)&flow->seen_s;
    union flow_age age = { .word = READ_ONCE(*word) };
    const struct nat_flow *mate = flow_find_mate(reply, &flow->to, &mate_key, &mate_established);
    if (age.check != nat_tuple_check(reply) || !flow_may_yield(flow, mate, degree))
        return 0;
    if (__sync_val_compare_and_swap(word, age.word, ~age.word) != age.word)
        return 0;
    if (mate)
        flow_delete(&mate_key, mate_established);
    flow_delete(reply, established);
    return 1;
}

/* A connection straight to an endpoint, by the tuple of its replies. */
SUBPROGRAM int flow_keep_direct(const struct nat_tuple *reply)
{
    struct nat_flow direct = {
        .seen_s = now_s(),
        .half = NAT_HALF_DIRECT,
        .check = nat_tuple_check(reply),
    };
    return flow_insert(reply, &direct);
}

/*
 * Whether a SYN under this forward or reply half begins a new connection: the old one is over, or
 * its other half is not to be had any more. One that is half open may get it back.
 */
ALWAYS_INLINE int flow_is_over(const struct nat_tuple *key, const struct nat_flow *flow,
                               int established)
{
    if (flow->half == NAT_HALF_DIRECT)
        return 0;
    if (flow->flags & (NAT_FLOW_RST | NAT_FLOW_FIN))
        return 1;
    struct nat_tuple mate_key;
    int mate_established;
    const struct nat_flow *mate = flow_find_mate(key, &flow->to, &mate_key, &mate_established);
    return mate ? mate->flags & (NAT_FLOW_RST | NAT_FLOW_FIN) : established;
}

/*
 * The endpoint has answered: both halves go over to "flows". When that is full the flow stays where
 * it is and lives as long as the flood lets it. What is there already stays: another CPU has moved
 * it just now, and packets may have left their marks on it; or it is of a later flow.
 */
SUBPROGRAM int flow_answer(const struct nat_tuple *key)
{
    struct nat_tuple mate_key;
    struct nat_flow copy, mate;
    const struct nat_flow *flow = bpf_map_lookup_elem(&flows_new, key);
    if (!flow || flow->half != NAT_HALF_REPLY)
        return 0;
    __builtin_memcpy(&copy, flow, sizeof(copy));
    if (copy.check != nat_tuple_check(key)) /* unmade just now: flow_yield() */
        return 0;
    copy.flags |= NAT_FLOW_ANSWERED;
    flow_mate(key, &copy, &mate_key, &mate);
    const struct nat_flow *forward = bpf_map_lookup_elem(&flows_new, &mate_key);
    if (forward && forward->check == mate.check) {
        mate.packets = forward->packets;
        mate.bytes = forward->bytes;
        mate.flags |= forward->flags;
    }
    if (map_put(&flows, &mate_key, &mate, BPF_NOEXIST) < 0)
        return 0;
    if (map_put(&flows, key, &copy, BPF_NOEXIST) < 0) {
        bpf_map_delete_elem(&flows, &mate_key);
        return 0;
    }
    bpf_map_delete_elem(&flows_new, &mate_key);
    bpf_map_delete_elem(&flows_new, key);
    return 1;
}

/* A socket of this node that would take packets of this tuple. */
ALWAYS_INLINE int socket_has(struct __sk_buff *skb, const struct nat_tuple *tuple, __u8 family)
{
    struct bpf_sock_tuple key;
    struct bpf_sock *socket;
    __u32 size;
    if (family == 4) {
        key.ipv4.saddr = tuple->src.words[3];
        key.ipv4.daddr = tuple->dst.words[3];
        key.ipv4.sport = tuple->sport;
        key.ipv4.dport = tuple->dport;
        size = sizeof(key.ipv4);
    } else {
        __builtin_memcpy(key.ipv6.saddr, &tuple->src, sizeof(tuple->src));
        __builtin_memcpy(key.ipv6.daddr, &tuple->dst, sizeof(tuple->dst));
        key.ipv6.sport = tuple->sport;
        key.ipv6.dport = tuple->dport;
        size = sizeof(key.ipv6);
    }
    socket = tuple->protocol == IPPROTO_TCP
                 ? bpf_skc_lookup_tcp(skb, &key, size, BPF_F_CURRENT_NETNS, 0)
                 : bpf_sk_lookup_udp(skb, &key, size, BPF_F_CURRENT_NETNS, 0);
    if (!socket)
        return 0;
    bpf_sk_release(socket);
    return 1;
}

struct claim {
    struct nat_tuple reply;
    struct nat_flow value;
    __u32 first, count; /* source ports to choose from */
    __u8 family;
    __u8 keep;    /* try the port that is in `reply` first */
    __u8 sockets; /* ask for sockets, too */
    __u8 done;
};

/* Room for what is too large for the stack. Nobody else is here on this CPU meanwhile. */
struct scratch {
    struct verdict verdict;
    struct claim claim;
    struct nat_tuple to;
    struct way way;
    __u32 way_found; /* of a masqueraded flow that is being made, by its first packet */
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct scratch);
} scratch SEC(".maps");

ALWAYS_INLINE struct scratch *scratch_get(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&scratch, &zero);
}

SUBPROGRAM int claim_tuple(struct __sk_buff *skb, struct claim *claim, int sockets)
{
    if (sockets && socket_has(skb, &claim->reply, claim->family))
        return 0;
    claim->value.check = nat_tuple_check(&claim->reply);
    return flow_insert(&claim->reply, &claim->value) == 0;
}

ALWAYS_INLINE void claim_draw(struct claim *claim)
{
    claim->reply.dport = bpf_htons(claim->first + bpf_get_prandom_u32() % claim->count);
}

/* For want of free ones: the tuple of a flow that is over. */
SUBPROGRAM int claim_over(struct __sk_buff *skb, struct claim *claim)
{
    for (int i = 0; i < OVER_DEGREES * CLAIM_TRIES; i++) {
        claim_draw(claim);
        flow_yield(&claim->reply, i / CLAIM_TRIES);
        if (claim_tuple(skb, claim, 1))
            return 1;
    }
    return 0;
}

/*
 * Finds a free reply tuple for the claim in the scratch room: its port is the source port to the
 * endpoint. Global: the verifier looks at it once, not once for each state that it is called in.
 */
__noinline int claim_any(struct __sk_buff *skb)
{
    struct scratch *room = scratch_get();
    if (!room)
        return 0;
    struct claim *claim = &room->claim;
    if (claim->keep && claim_tuple(skb, claim, claim->sockets))
        return 1;
    if (claim->count == 0)
        return 0;
    for (int i = 0; i < CLAIM_TRIES; i++) {
        claim_draw(claim);
        if (claim_tuple(skb, claim, 1))
            return 1;
    }
    return claim_over(skb, claim);
}
