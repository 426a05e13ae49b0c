/* SPDX-License-Identifier: Apache-2.0 */
/* Flows in live maps, and sweeps of them. */
#pragma once

#include <arpa/inet.h>
#include <bpf/bpf.h>

#include "apply/nat/flows/flows.h"
#include "apply/nat/services/filter.h"
#include "nat_datapath_lab.h"

enum { NOW_S = 1000000 };

/* A flow from a client to 10.96.0.1:80, translated to the endpoint with a source of the node's. */
struct flow {
    uint16_t client_port;
    uint8_t protocol;
    uint32_t idle_s, reply_idle_s;
    uint8_t flags, reply_flags;
    bool alone; /* the reply half is missing */
    uint32_t endpoint, generation;
    bool half_open;
    bool unacknowledged; /* what the client has sent last */
};

static inline struct nat_tuple tuple_of(const char *source, uint16_t sport, const char *destination,
                                        uint16_t dport, uint8_t protocol)
{
    struct ip src = ip(source), dst = ip(destination);
    return (struct nat_tuple){ .src = nat_addr_of(&src),
                               .dst = nat_addr_of(&dst),
                               .sport = htons(sport),
                               .dport = htons(dport),
                               .protocol = protocol };
}

static inline struct nat_tuple forward_key(const struct flow *flow)
{
    return tuple_of("10.9.9.9", flow->client_port, "10.96.0.1", 80, flow->protocol);
}

static inline struct nat_tuple reply_key(const struct flow *flow)
{
    return tuple_of("10.0.0.1", 8080, "192.0.2.100", flow->client_port, flow->protocol);
}

static inline void put_half(const struct nat_datapath *datapath, const struct nat_tuple *key,
                            struct nat_flow half)
{
    half.check = nat_tuple_check(key);
    assert_int_equal(nat_table_put(datapath, NAT_MAP_FLOWS, key, &half, BPF_ANY), 0);
}

static inline void put_flow(const struct nat_datapath *datapath, const struct flow *flow,
                            uint32_t now_s)
{
    struct nat_tuple forward = forward_key(flow), reply = reply_key(flow);
    const uint8_t flags = NAT_FLOW_MASQ | (flow->half_open ? 0 : NAT_FLOW_ANSWERED);
    struct nat_flow half = {
        .to = tuple_of("192.0.2.100", flow->client_port, "10.0.0.1", 8080, flow->protocol),
        .service = 1,
        .port = 1,
        .endpoint = flow->endpoint,
        .generation = flow->generation,
        .half = NAT_HALF_FORWARD,
        .seen_s = now_s - flow->idle_s,
        .flags = flow->flags | flags,
        .packets = 3,
        .bytes = 300,
    };
    put_half(datapath, &forward, half);
    half.to = tuple_of("10.96.0.1", 80, "10.9.9.9", flow->client_port, flow->protocol);
    half.half = NAT_HALF_REPLY;
    half.seen_s = now_s - flow->reply_idle_s;
    half.flags = flow->reply_flags | flags;
    half.packets = 2;
    half.bytes = 2000;
    half.ack = flow->unacknowledged;
    if (!flow->alone)
        put_half(datapath, &reply, half);
}

static inline bool has(const struct nat_datapath *datapath, const struct nat_tuple *key)
{
    struct nat_flow half;
    return nat_table_get(datapath, NAT_MAP_FLOWS, key, &half) == 0;
}

/* A whole round, however many slices. Returns how many flows have ended. */
static inline int sweep(struct nat_datapath *datapath, int64_t now_ms, int64_t *ret_next_ms)
{
    int ended = 0;
    do {
        int r = nat_datapath_sweep(datapath, now_ms, ret_next_ms);
        assert_true(r >= 0);
        ended += r;
    } while (datapath->sweep.under_way);
    return ended;
}

static inline bool filtered(const struct nat_datapath *datapath, const char *address, uint16_t port)
{
    struct ip it = ip(address);
    struct nat_addr addr = nat_addr_of(&it);
    return nat_filter_has(datapath, &addr, htons(port));
}
