/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The two flow tables: finding, making, answering and forgetting flows. See "flows" in abi.h.
 *
 * A new flow inserts its reply half first, and only if that tuple is free. This claims the tuple.
 * If the tuple is taken (by another flow, a direct connection, or a socket of this node), the flow
 * tries another source port.
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
    CLAIM_S = 2, /* the CPU that has claimed a tuple inserts the other half within this time */
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
 * The half under a tuple, or NULL; `*ret_established`: it is in "flows". That map is searched
 * twice, before and after "flows_new": another CPU may move the half between the first two
 * searches.
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
 * Inserts a half of a new flow, if its tuple is free. It looks into "flows" last: a half that
 * another CPU is moving there is in both maps for a moment. Returns 0, -EEXIST, or the reason why
 * the kernel can't insert anything just now. Before Linux 6.7 (d35381aa73f7) one reason is that the
 * packet has interrupted another context of this CPU which is working on the table.
 */
SUBPROGRAM int flow_insert(const struct nat_tuple *tuple, const struct nat_flow *flow)
{
    int r = map_put(&flows_new, tuple, flow, BPF_NOEXIST);
    if (r < 0 || !bpf_map_lookup_elem(&flows, tuple))
        return r;
    bpf_map_delete_elem(&flows_new, tuple);
    return -EEXIST;
}

/* Deletes a half only in the map it was found in: another CPU may have put a new one into the
 * other. */
ALWAYS_INLINE void flow_delete(const struct nat_tuple *tuple, int established)
{
    if (established)
        bpf_map_delete_elem(&flows, tuple);
    else
        bpf_map_delete_elem(&flows_new, tuple);
}

/*
 * The other half of the flow whose half under `key` translates to `to`; NULL: that half is alone. A
 * half found there that does not match belongs to a later flow of the same client.
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

/* Rebuilds the other half from one half and its key. */
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

/* Deletes both halves, whichever maps they are in. */
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
 * A client starts a new connection under a tuple whose flow, which led to `to`, is over. If the
 * source port to the endpoint was drawn, the reply half stays alone until the sweep ends it: the
 * endpoint may still be in TIME_WAIT for that port, and the next connection must get another one.
 * If the flow found leads elsewhere, another CPU has already made the new one.
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
 * Whether the flow of a reply half may lose its tuple because no tuple is free. Only a flow that is
 * over may: after a reset, or after a FIN of both sides. The degrees exist because a new SYN under
 * the tuple is lost if the endpoint still waits for the client's last ACK, is just handling it, or
 * closed first and keeps TIME_WAIT.
 */
ALWAYS_INLINE int flow_may_yield(const struct nat_flow *flow, const struct nat_flow *mate,
                                 int degree)
{
    if (!mate) /* the forward half may be about to be inserted */
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
 * Frees the reply tuple of a flow that may lose it. If two CPUs find the same flow over, the one
 * that inverts its check and age by a compare-and-swap gets the tuple; the other would delete what
 * the first then claims. Neither gets it if a packet of the flow was seen meanwhile, or a new flow
 * was made in the same place in another second.
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

/* Keeps the tuple of a connection straight to an endpoint; `reply`: the tuple of its replies. */
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
 * its other half is lost for good. A half-open flow may still get the other half back.
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
 * The endpoint has answered: both halves move to "flows". If that map is full, the flow stays in
 * "flows_new" and lives as long as no flood drives it out. A half that is in "flows" already stays
 * as it is: another CPU has just moved it, and packets may have marked it since; or it is a later
 * flow's.
 */
SUBPROGRAM int flow_answer(const struct nat_tuple *key)
{
    struct nat_tuple mate_key;
    struct nat_flow copy, mate;
    const struct nat_flow *flow = bpf_map_lookup_elem(&flows_new, key);
    if (!flow || flow->half != NAT_HALF_REPLY)
        return 0;
    __builtin_memcpy(&copy, flow, sizeof(copy));
    if (copy.check != nat_tuple_check(key)) /* flow_yield() has just inverted it */
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

/* Whether a socket of this node would receive packets of this tuple. */
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

/* Room for what is too large for the stack; no other program of ours runs on this CPU meanwhile. */
struct scratch {
    struct verdict verdict;
    struct claim claim;
    struct nat_tuple to;
    struct way way;
    __u32 way_found; /* `way` is that of the flow being made, found for its first packet */
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

/* No tuple is free: claims one of a flow that is over. */
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
 * Finds a free reply tuple for the claim in the scratch room; its destination port is the source
 * port to the endpoint. The function is global, so that the verifier checks it once, not once for
 * each state it is called in.
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
