/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Making flows: the claim of a reply tuple, that is, of a source port to an endpoint.
 *
 * A new flow inserts its reply half first, and only if that tuple is free. This claims the tuple.
 * The flow tries its client's own port first. If that is taken (by another flow, a direct
 * connection, or a socket of this node), it searches all source ports, from where the last search
 * for that endpoint ended, so that the port assigned longest ago comes first. A tuple whose flow is
 * over is reused on the way. If the search passes many live flows, it evicts the first of those
 * that are worth least. A search fails only if each port has a flow of the highest worth; then for
 * the rest of that second only some ports are tried for each packet.
 */
#pragma once

#include "bpf/flow/ring.h"
#include "bpf/route/next_hop.h"

enum {
    CLAIM_FREE = 64,        /* ports that are checked before a live flow is evicted */
    CLAIM_STEPS = 65536,    /* all there may be */
    CLAIM_STEPS_FULL = 256, /* after a search in this second has failed */
};

/* Whether a socket of this node would receive packets with this tuple. */
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
    __u32 searched;     /* ports tried in the search */
    __u32 price;        /* the lowest price of the live flows met, that of the candidate */
    __be16 candidate;
    __u32 candidate_at; /* egress: which of the client's ports it is */
    __u8 family;
    __u8 keep;    /* try the port that is in `reply` first */
    __u8 sockets; /* check for sockets as well */
    __u8 done;
};

/*
 * Space for what is too large for the stack, and for what the steps of a packet's processing pass
 * to each other; no other program of ours runs on this CPU meanwhile. Each step is a global
 * function that reads the packet here: so the verifier checks it once, and not for each possible
 * state before it.
 */
struct scratch {
    struct nat_seen seen; /* read by the agent; the rest is private */
    struct packet packet;
    struct verdict verdict;
    struct claim claim;
    struct nat_tuple to;
    struct next_hop next_hop;
    __u32 source;         /* of the packet that was judged last: enum source */
    __u32 next_hop_found; /* `next_hop` is that of the flow being made, for its first packet */
    __u32 came;           /* the packet that begins a flow: enum came */
    __u32 reopens;        /* the flow being made replaces one that is over, */
    struct nat_tuple old; /* which led to this tuple */
    struct clock clock;
    __u32 zero;
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

/* Claims the reply tuple of the claim in the scratch space if it is free, or if the flow that has
 * it is worth no more than `worth`. Returns 0 if it is claimed, otherwise that flow's price. */
GLOBAL __u32 claim_tuple(struct __sk_buff *skb, __u32 worth, int sockets)
{
    struct scratch *room = scratch_get();
    if (!room)
        return PRICE(WORTH_ALL);
    struct claim *claim = &room->claim;
    if (sockets && socket_has(skb, &claim->reply, claim->family))
        return PRICE(WORTH_ALL);
    claim->value.check = nat_tuple_check(&claim->reply);
    int r = flow_insert(&claim->reply, &claim->value);
    if (r == -EEXIST) {
        __u32 price = flow_end(&claim->reply, NAT_NO_SLOT, worth);
        if (price)
            return price;
        r = flow_insert(&claim->reply, &claim->value);
    }
    return r == 0 ? 0 : PRICE(WORTH_ALL);
}

ALWAYS_INLINE struct nat_search *search_of(__u32 endpoint)
{
    return bpf_map_lookup_elem(&searches, &endpoint);
}

static long claim_step(__u32 step, void *context)
{
    struct __sk_buff *skb = *(struct __sk_buff **)context;
    const struct nat_control *control = control_get();
    struct scratch *room = scratch_get();
    if (!control || !room)
        return 1;
    struct claim *claim = &room->claim;
    struct nat_search *search = search_of(claim->value.endpoint);
    if (!search || claim->count == 0)
        return 1;
    __u32 next = __sync_fetch_and_add(&search->next, 1);
    claim->searched = step + 1;
    claim->reply.dport = bpf_htons(claim->first + next % claim->count);
    /* A node port; or an endpoint on this node. */
    if (filter_has(control, &claim->reply.dst, claim->reply.dport))
        return 0;
    __u32 price = claim_tuple(skb, WORTH_NOTHING, 1);
    if (price == 0) {
        claim->done = 1;
        return 1;
    }
    if (price < claim->price) {
        claim->price = price;
        claim->candidate = claim->reply.dport;
    }
    return step >= CLAIM_FREE && claim->price < PRICE(WORTH_SOME);
}

/* Searches all source ports. Returns 1 if it claimed one. */
SUBPROGRAM int claim_search(struct __sk_buff *skb, struct claim *claim)
{
    struct nat_search *search = search_of(claim->value.endpoint);
    struct nat_pressure *state = pressure_get();
    if (!search || !state || claim->count == 0)
        return 0;
    __u32 steps = claim->count < CLAIM_STEPS ? claim->count : CLAIM_STEPS;
    if (search->failed_s == now_s() && steps > CLAIM_STEPS_FULL)
        steps = CLAIM_STEPS_FULL;
    claim->price = PRICE(WORTH_ALL);
    bpf_loop(steps, claim_step, &skb, 0);
    __sync_fetch_and_add(&state->ports_searched, 1);
    if (claim->done)
        return 1;
    if (claim->price < PRICE(WORTH_ALL)) {
        claim->reply.dport = claim->candidate;
        if (claim_tuple(skb, claim->price >> 8, 1) == 0) {
            __sync_fetch_and_add(&state->ports_dropped, 1);
            return 1;
        }
    }
    if (claim->searched >= claim->count)
        search->failed_s = now_s();
    __sync_fetch_and_add(&state->ports_refused, 1);
    return 0;
}

/*
 * Finds a free reply tuple for the claim in the scratch space; its destination port is the source
 * port to the endpoint.
 */
GLOBAL int claim_any(struct __sk_buff *skb)
{
    struct scratch *room = scratch_get();
    if (!room)
        return 0;
    struct claim *claim = &room->claim;
    if (claim->keep && claim_tuple(skb, WORTH_NOTHING, claim->sockets) == 0)
        return 1;
    return claim_search(skb, claim);
}
