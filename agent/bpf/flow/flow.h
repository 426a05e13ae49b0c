/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The flow table: finding, inserting and forgetting flows, and when one is over. See "flows" in
 * flow_abi.h. claim.h makes flows, segment.h tracks their state.
 *
 * Flows expire. A flow that has been idle for longer than its state allows is over, whether or not
 * it has been removed: a new flow may take its slot (ring.h) and its source port (claim.h), and the
 * agent's sweep removes the others.
 */
#pragma once

#include <linux/errno.h>

#include "bpf/packet/tuple.h"
#include "bpf/service/choose.h"

enum {
    CLAIM_S = 2, /* the CPU that has claimed a tuple inserts the other half within this time */
};

/* The half under a tuple, or NULL. */
ALWAYS_INLINE struct nat_flow *flow_find(const struct nat_tuple *tuple)
{
    struct nat_flow *flow = bpf_map_lookup_elem(&flows, tuple);
    return flow && flow->check == nat_tuple_check(tuple) ? flow : NULL;
}

/*
 * Inserts a half, if its tuple is free. Returns 0, -EEXIST, or the reason why the kernel can't
 * insert an entry at this moment. Before Linux 6.7 (d35381aa73f7) one reason is that the packet has
 * interrupted another context of this CPU which is working on the table.
 */
SUBPROGRAM int flow_insert(const struct nat_tuple *tuple, const struct nat_flow *flow)
{
    return map_put(&flows, tuple, flow, BPF_NOEXIST);
}

/*
 * The other half of the flow whose half under `key` translates to `to`; NULL: that half is alone. A
 * half found there that does not match belongs to a later flow of the same client.
 */
ALWAYS_INLINE struct nat_flow *flow_find_reverse(const struct nat_tuple *key,
                                                 const struct nat_tuple *to,
                                                 struct nat_tuple *ret_reverse_key)
{
    tuple_reverse(to, ret_reverse_key);
    struct nat_flow *reverse = flow_find(ret_reverse_key);
    if (!reverse || reverse->to.sport != key->dport || reverse->to.dport != key->sport ||
        !addr_equal(&reverse->to.src, &key->dst) || !addr_equal(&reverse->to.dst, &key->src))
        return NULL;
    return reverse;
}

/* Rebuilds the other half from one half and its key. */
ALWAYS_INLINE void flow_reverse(const struct nat_tuple *key, const struct nat_flow *flow,
                                struct nat_tuple *ret_key, struct nat_flow *ret_reverse)
{
    tuple_reverse(&flow->to, ret_key);
    __builtin_memcpy(ret_reverse, flow, sizeof(*flow));
    tuple_reverse(key, &ret_reverse->to);
    ret_reverse->half = flow->half == NAT_HALF_FORWARD ? NAT_HALF_REPLY : NAT_HALF_FORWARD;
    ret_reverse->delivery = flow->reverse_delivery;
    ret_reverse->reverse_delivery = flow->delivery;
    ret_reverse->flags = flow->flags & ~(NAT_FLOW_FIN | NAT_FLOW_CONFIRMED);
    ret_reverse->check = nat_tuple_check(ret_key);
    ret_reverse->next = flow->ack;
    ret_reverse->ack = flow->next;
    ret_reverse->packets = ret_reverse->bytes = 0;
}

ALWAYS_INLINE __s32 idle_s(const struct nat_flow *flow)
{
    return (__s32)(now_s() - flow->seen_s);
}

/* Seconds since the last packet in either direction. */
ALWAYS_INLINE __s32 flow_idle_s(const struct nat_flow *half, const struct nat_flow *reverse)
{
    __s32 idle = idle_s(half), reverse_idle = idle_s(reverse);
    return reverse_idle < idle ? reverse_idle : idle;
}

/* The loss if a flow is evicted. */
enum worth {
    WORTH_NOTHING, /* it is over */
    WORTH_PAST,    /* closed, but late packets may arrive */
    WORTH_LITTLE,  /* unanswered, one exchange, not acknowledged */
    WORTH_SOME,    /* half closed, or a stream that pauses */
    WORTH_ALL,
};

/*
 * The order in which flows are evicted: by worth, and at equal worth by the time since the last
 * packet. A flow of this second may just be waiting for its reply.
 */
#define PRICE(worth) ((__u32)(worth) << 8)

ALWAYS_INLINE __u32 flow_price(enum worth worth, __s32 idle)
{
    if (worth == WORTH_NOTHING)
        return 0;
    return PRICE(worth) | (idle < 0 ? 255u : idle < 255 ? 255u - (__u32)idle : 0);
}

/* Flows that a program considers over, besides by their ages: egress_owner.h defines more. */
#ifndef flow_is_clientless
#define flow_is_clientless(flow) 0
#endif

/* A half that is alone may be one that another CPU is about to complete. */
ALWAYS_INLINE enum worth flow_worth(const struct nat_control *control, const struct nat_flow *half,
                                    const struct nat_flow *reverse, __u8 alone, __u8 protocol)
{
    enum nat_state state = nat_flow_state(half, reverse, alone, protocol);
    __s32 idle = flow_idle_s(half, reverse);
    if (idle > (__s32)nat_timeout_s(control, half, protocol, state) || flow_is_clientless(half))
        return WORTH_NOTHING;
    if ((alone && idle <= CLAIM_S) || state == NAT_STATE_ESTABLISHED)
        return WORTH_ALL;
    if (state == NAT_STATE_CLOSED)
        return WORTH_PAST;
    if (state < NAT_STATE_CLOSED)
        return WORTH_LITTLE;
    return idle > (__s32)nat_timeout_s(control, half, protocol, NAT_STATE_EXCHANGE) ? WORTH_SOME
                                                                                    : WORTH_ALL;
}

/* When a half was last seen, and the check of its key: one word. */
union flow_age {
    struct {
        __u32 seen_s, check;
    };
    __u64 word;
};

ALWAYS_INLINE union flow_age flow_age(struct nat_flow *half)
{
    return (union flow_age){ .word = READ_ONCE(*(__u64 *)&half->seen_s) };
}

/*
 * Takes the right to end a flow, by inverting the check and age of one of its halves. If two CPUs
 * want to end it, one of them gets the right; the other would delete what the first then inserts.
 * Neither gets it if a packet of the flow was seen since the age was read.
 */
ALWAYS_INLINE int flow_seize(struct nat_flow *half, const struct nat_tuple *key, union flow_age age)
{
    return age.check == nat_tuple_check(key) &&
           __sync_val_compare_and_swap((__u64 *)&half->seen_s, age.word, ~age.word) == age.word;
}

/*
 * Ends the flow whose reply half or direct half is under `key`, if it is worth at most `worth`, and
 * if its half names `slot` (NAT_NO_SLOT: any). Returns the flow's price; 0 if it has ended, or
 * there is none.
 */
SUBPROGRAM __u32 flow_end(const struct nat_tuple *key, __u32 slot, enum worth worth)
{
    struct nat_tuple reverse_key;
    const struct nat_control *control = control_get();
    struct nat_flow *flow = flow_find(key);
    if (!control || !flow || (slot != NAT_NO_SLOT && flow->slot != slot))
        return 0;
    if (flow->half == NAT_HALF_FORWARD)
        return PRICE(WORTH_ALL);
    union flow_age age = flow_age(flow);
    const struct nat_flow *reverse = flow_find_reverse(key, &flow->to, &reverse_key);
    __u8 alone = 0;
    if (!reverse) {
        reverse = flow;
        alone = 1;
    }
    enum worth is = flow_worth(control, flow, reverse, alone, key->protocol);
    if (is > worth)
        return flow_price(is, flow_idle_s(flow, reverse));
    if (!flow_seize(flow, key, age))
        return PRICE(WORTH_ALL);
    if (!alone)
        bpf_map_delete_elem(&flows, &reverse_key);
    bpf_map_delete_elem(&flows, key);
    return 0;
}

/*
 * Ensures that a forward half has its reply half, which may be lost if the agent was killed while
 * it ended the flow. Returns 0, or < 0 if another flow has taken its tuple.
 */
SUBPROGRAM int flow_keep_reverse(const struct nat_tuple *key, const struct nat_flow *flow)
{
    struct nat_tuple reverse_key;
    struct nat_flow reverse;
    if (flow_find_reverse(key, &flow->to, &reverse_key))
        return 0;
    flow_reverse(key, flow, &reverse_key, &reverse);
    return flow_insert(&reverse_key, &reverse) == -EEXIST ? -1 : 0;
}

/* Whether the forward half under `key` still leads to `to`. */
ALWAYS_INLINE int flow_leads(const struct nat_tuple *key, const struct nat_tuple *to)
{
    const struct nat_flow *flow = flow_find(key);
    return flow && tuple_equal(&flow->to, to);
}

/*
 * Frees the reply tuple of a flow that is over, whose forward half under `key` leads to `to`. The
 * forward half stays until the new flow replaces it, so that CPUs that make the new flow at once
 * never delete each other's. Returns the slot that the flow had, to the one CPU that has freed it;
 * or NAT_NO_SLOT.
 */
SUBPROGRAM __u32 flow_free_reply(const struct nat_tuple *key, const struct nat_tuple *to)
{
    struct nat_tuple reverse_key;
    const struct nat_flow *reverse = flow_find_reverse(key, to, &reverse_key);
    if (!reverse)
        return NAT_NO_SLOT;
    __u32 slot = reverse->slot;
    return bpf_map_delete_elem(&flows, &reverse_key) == 0 ? slot : NAT_NO_SLOT;
}

/* Ends a flow that is over, whose forward half is under `key` and leads to `to`. */
SUBPROGRAM int flow_forget(const struct nat_tuple *key, const struct nat_tuple *to)
{
    flow_free_reply(key, to);
    if (flow_leads(key, to))
        bpf_map_delete_elem(&flows, key);
    return 0;
}
