/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of pins ("egress_pins"), which the pods of a node share.
 *
 * A flow is stored in one bucket, and a bucket has a few ways. Where all of them hold live flows, a
 * new flow replaces one of its own pod. It replaces another pod's flow only where that pod has two
 * more of the bucket's ways than its own. So a pod that begins flows without end evicts its own
 * pins, and long-lived pins of other pods stay. A flow that finds no way has no pin. A flow that
 * the pod has not answered yet (EGRESS_PIN_SEEN) replaces only flows of the same kind, and is
 * evicted first.
 */
#pragma once

#include "bpf/egress/egress_client_maps.h"
#include "bpf/egress/egress_route.h"
#include "bpf/packet/tuple.h"

enum {
    PIN_TCP_S = 7440,    /* idle time after which a connection's pin may be evicted (RFC 5382) */
    PIN_OTHER_S = 120,   /* likewise for other flows (RFC 4787); one that began outside is over */
    PIN_SEEN_S = 10,     /* how long the pod's reply may take */
    PIN_FRAGMENT_S = 15, /* the least time in which RFC 791 allows reassembly */
};

/*
 * Takes the place of a protocol, for fragmented packets (egress_fragment.h): 253 and above are
 * unassigned.
 */
enum {
    FRAGMENT_GOT = 254,
    FRAGMENT_SENT = 255,
};

/* The intermediate result of a search for a way. */
struct pin_search {
    __u32 bucket, owner, now;
    __u32 seen; /* of the new flow */
    __u64 best;
    __u32 next_hop, zero;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct pin_search);
} pin_search SEC(".maps");

ALWAYS_INLINE struct pin_search *pin_search_get(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&pin_search, &zero);
}

ALWAYS_INLINE __u32 pin_bucket(const struct nat_tuple *key)
{
    return (__u32)tuple_mix(key) % EGRESS_PIN_BUCKETS;
}

ALWAYS_INLINE __u32 pin_check(const struct nat_tuple *key)
{
    __u32 check = nat_tuple_check(key);
    return check ? check : 1; /* 0: a free way */
}

/* The clocks of two CPUs may differ by a tick. */
ALWAYS_INLINE int pin_silent(const struct egress_pin *pin, __u32 now, __s32 most_s)
{
    return (__s32)(now - pin->used_s) > most_s;
}

ALWAYS_INLINE int pin_over(const struct egress_pin *pin, __u32 now)
{
    __s32 most_s = pin->key.protocol >= FRAGMENT_GOT  ? PIN_FRAGMENT_S
                   : pin->gateway & EGRESS_PIN_SEEN   ? PIN_SEEN_S
                   : pin->key.protocol == IPPROTO_TCP ? PIN_TCP_S
                                                      : PIN_OTHER_S;
    return pin_silent(pin, now, most_s);
}

/* The pin of a flow, or NULL. */
SUBPROGRAM struct egress_pin *pin_get(const struct nat_tuple *key)
{
    __u32 index = pin_bucket(key), check = pin_check(key);
    struct egress_bucket *bucket = bpf_map_lookup_elem(&egress_pins, &index);
    if (!bucket)
        return NULL;
#pragma unroll
    for (int i = 0; i < EGRESS_PIN_NEXT_HOPS; i++) {
        struct egress_pin *pin = &bucket->pins[i];
        if (bucket->checks[i] == check && pin->key.protocol == key->protocol &&
            tuple_equal(&pin->key, key))
            return pin;
    }
    return NULL;
}

SUBPROGRAM int pin_forget(const struct nat_tuple *key)
{
    __u32 index = pin_bucket(key), check = pin_check(key);
    struct egress_bucket *bucket = bpf_map_lookup_elem(&egress_pins, &index);
    if (!bucket)
        return 0;
#pragma unroll
    for (int i = 0; i < EGRESS_PIN_NEXT_HOPS; i++) {
        if (bucket->checks[i] == check && tuple_equal(&bucket->pins[i].key, key))
            WRITE_ONCE(bucket->checks[i], 0);
    }
    return 0;
}

/* The number of a bucket's ways that an owner has. */
ALWAYS_INLINE __u64 pin_count(const struct egress_bucket *bucket, __u32 owner)
{
    __u64 count = 0;
#pragma unroll
    for (int i = 0; i < EGRESS_PIN_NEXT_HOPS; i++)
        count += ((__u64)(bucket->owners[i] ^ owner) - 1) >> 63; /* without a branch */
    return count;
}

/*
 * The priority with which a way is given to a new flow; 0: never. A way of the pod that has the
 * most comes first, with the new flow counted in, and at equality its own; then unanswered flows;
 * then the oldest.
 */
ALWAYS_INLINE __u64 pin_price(const struct pin_search *search, const struct egress_bucket *bucket,
                              __u32 next_hop)
{
    const struct egress_pin *pin = &bucket->pins[next_hop];
    __u32 owner = bucket->owners[next_hop], seen = pin->gateway & EGRESS_PIN_SEEN;
    __u64 own = owner == search->owner, count = pin_count(bucket, owner) + own;
    __s32 age = (__s32)(search->now - pin->used_s);
    if (!bucket->checks[next_hop] || pin_over(pin, search->now))
        return ~0ull;
    if ((search->seen && !seen) || count < 2)
        return 0;
    return count << 40 | own << 39 | (__u64) !!seen << 38 | (__u32)(age < 0 ? 0 : age);
}

static long pin_step(__u32 step, void *context)
{
    struct pin_search *search = pin_search_get();
    __u32 next_hop = step % EGRESS_PIN_NEXT_HOPS;
    (void)context;
    if (!search)
        return 1;
    const struct egress_bucket *bucket = bpf_map_lookup_elem(&egress_pins, &search->bucket);
    if (!bucket)
        return 1;
    __u64 price = pin_price(search, bucket, next_hop);
    if (price <= search->best)
        return 0;
    search->best = price;
    search->next_hop = next_hop;
    return price == ~0ull;
}

/* Writes `pin`, whose flow has none, to a way that may be replaced. */
SUBPROGRAM int pin_place(const struct egress_pin *pin)
{
    struct pin_search *search = pin_search_get();
    if (!search)
        return 0;
    search->bucket = pin_bucket(&pin->key);
    search->owner = nat_check(&pin->key.src, 0);
    search->now = pin->used_s;
    search->seen = pin->gateway & EGRESS_PIN_SEEN;
    search->best = 0;
    bpf_loop(EGRESS_PIN_NEXT_HOPS, pin_step, NULL, 0);
    struct egress_bucket *bucket = bpf_map_lookup_elem(&egress_pins, &search->bucket);
    __u32 next_hop = search->next_hop % EGRESS_PIN_NEXT_HOPS;
    if (!bucket || !search->best)
        return 0;
    WRITE_ONCE(bucket->checks[next_hop], 0);
    barrier();
    bucket->pins[next_hop] = *pin;
    bucket->owners[next_hop] = search->owner;
    barrier();
    WRITE_ONCE(bucket->checks[next_hop], pin_check(&pin->key));
    return 1;
}

/* Pins a flow, again or for the first time. `pin->used_s` is now. */
ALWAYS_INLINE void pin_put(const struct egress_pin *pin)
{
    struct egress_pin *old = pin_get(&pin->key);
    if (!old) {
        pin_place(pin);
        return;
    }
    old->generation = 0; /* a generation that no gateway has */
    barrier();
    old->gateway = pin->gateway;
    old->used_s = pin->used_s;
    barrier();
    old->generation = pin->generation;
}
