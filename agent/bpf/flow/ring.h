/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slots for new flows. Each flow has a slot of "ring", and there are as many slots as the maximum
 * number of flows. A hand moves round over the slots, a step or a few for each new flow, and takes
 * the first whose flow is over or gone. So ended flows are found without the agent, in the order in
 * which they began.
 *
 * Where the hand finds only live flows, it takes the slot of the one that is worth least, and at
 * equal worth of the one that was idle longest: a flood of unanswered flows evicts its own kind,
 * and seldom one that is just waiting for its reply. An established flow never loses its slot. The
 * hand never moves back: a slot that another CPU has just taken looks free until its flow is
 * stored.
 */
#pragma once

#include "bpf/flow/flow.h"

enum {
    RING_FREE = 8,   /* slots that are checked before a live flow is evicted */
    RING_STEPS = 64, /* and before a new flow is refused */
};

struct ring_look {
    __u32 found, slot;      /* a slot that is free now */
    __u32 price, candidate; /* of the live flows met so far, the cheapest */
};

ALWAYS_INLINE struct nat_pressure *pressure_get(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&pressure, &zero);
}

/* Ends the flow of a slot if it is worth no more than `worth`. Returns its price; 0: the slot is
 * free. */
GLOBAL __u32 ring_clear(__u32 slot, __u32 worth)
{
    const struct nat_tuple *place = bpf_map_lookup_elem(&ring, &slot);
    if (!place)
        return PRICE(WORTH_ALL);
    struct nat_tuple key = *place;
    return key.protocol ? flow_end(&key, slot, worth) : 0;
}

static long ring_step(__u32 step, void *context)
{
    struct ring_look *look = context;
    const struct nat_control *control = control_get();
    struct nat_pressure *state = pressure_get();
    if (!control || !state || control->ring_slots == 0)
        return 1;
    __u32 slot = __sync_fetch_and_add(&state->turn, 1) % control->ring_slots;
    __u32 price = ring_clear(slot, WORTH_NOTHING);
    if (price == 0) {
        look->slot = slot;
        look->found = 1;
        return 1;
    }
    if (price < look->price) {
        look->price = price;
        look->candidate = slot;
    }
    return step >= RING_FREE && look->price < PRICE(WORTH_SOME);
}

/* Returns a slot for a new flow, or NAT_NO_SLOT if there is none. */
GLOBAL __u32 ring_take(void)
{
    struct ring_look look = { .price = PRICE(WORTH_ALL) };
    struct nat_pressure *state = pressure_get();
    if (!state)
        return NAT_NO_SLOT;
    bpf_loop(RING_STEPS, ring_step, &look, 0);
    if (look.found)
        return look.slot;
    if (look.price < PRICE(WORTH_ALL) && ring_clear(look.candidate, look.price >> 8) == 0) {
        __sync_fetch_and_add(&state->flows_dropped, 1);
        return look.candidate;
    }
    __sync_fetch_and_add(&state->flows_refused, 1);
    return NAT_NO_SLOT;
}

/* Stores which flow has the slot: the key of its reply half or direct half. */
ALWAYS_INLINE void ring_put(__u32 slot, const struct nat_tuple *key)
{
    bpf_map_update_elem(&ring, &slot, key, BPF_ANY);
}
