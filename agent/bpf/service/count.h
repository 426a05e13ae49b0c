/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the program writes for display: counters of each service, and the last refusals. */
#pragma once

#include "bpf/packet/parse.h"
#include "bpf/service/maps.h"

/*
 * False where each CPU has a stripe of its own. Programs of tc run with bottom halves disabled, so
 * no other program adds to that stripe at the same time. The loader sets it; tests leave it true.
 */
const volatile __u32 stripes_are_shared SEC(".rodata.counters") = 1;

ALWAYS_INLINE void counter_add(__u64 *counter, __u64 number)
{
    if (stripes_are_shared)
        __sync_fetch_and_add(counter, number);
    else
        WRITE_ONCE(*counter, READ_ONCE(*counter) + number);
}

ALWAYS_INLINE struct nat_counter *counter_of(__u32 service)
{
    __u32 index = service * NAT_COUNTER_STRIPES + bpf_get_smp_processor_id() % NAT_COUNTER_STRIPES;
    return bpf_map_lookup_elem(&counters, &index);
}

ALWAYS_INLINE void count_packet(struct __sk_buff *skb, __u32 service)
{
    struct nat_counter *counter = counter_of(service);
    if (!counter)
        return;
    counter_add(&counter->packets, 1);
    counter_add(&counter->bytes, skb->len);
}

ALWAYS_INLINE void count_flow(__u32 service)
{
    struct nat_counter *counter = counter_of(service);
    if (counter)
        counter_add(&counter->flows, 1);
}

/* Counts a refused packet of a service; 0: of no service. */
SUBPROGRAM int count_refusal(struct __sk_buff *skb, const struct packet *packet, __u32 service,
                             __u32 cause)
{
    struct nat_refusal_key key = { .service = service, .cause = cause };
    struct nat_refusal_value *value = bpf_map_lookup_elem(&refusals, &key);
    struct nat_counter *counter = counter_of(service);
    if (counter)
        counter_add(&counter->refused, 1);
    if (!value) {
        struct nat_refusal_value fresh = {};
        bpf_map_update_elem(&refusals, &key, &fresh, BPF_NOEXIST);
        value = bpf_map_lookup_elem(&refusals, &key);
        if (!value)
            return 0;
    }
    __sync_fetch_and_add(&value->count, 1);
    value->last_ns = bpf_ktime_get_coarse_ns();
    value->last = packet->tuple;
    value->ifindex = skb->ifindex;
    return 0;
}
