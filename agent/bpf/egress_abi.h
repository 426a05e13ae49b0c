/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the egress programs and the agent share: maps, keys, values, constants. The rules of abi.h
 * on byte order, addresses and concurrent reads apply here as well.
 *
 * On the node of a client, from a pod's packet to a gateway:
 *
 *   pods[source]                      -> policy, and the interface that the pod is behind
 *   routes[policy, destination]       -> set, by the longest prefix; what stays in the cluster is
 *                                        in the same trie under policy 0, and wins if it is longer
 *   pins[tuple]                       -> the gateway that this flow began with, or that it came
 *                                        from outside
 *   gateways[set * EGRESS_SET_MAX + n] -> state word, address
 *
 * On a gateway: clients[source] -> id, ports[id] -> the blocks of source ports that the client has,
 * and its policy, which destinations it may have, by routes[]; blocks[number] -> the client that
 * has a block. Blocks are numbered through all source addresses, beginning with those of the first
 * one. A gateway's flows are in the one table of flows ("flows" in flow_abi.h), with
 * NAT_DELIVER_EGRESS as the delivery of both halves, the client's id as `port`, and the id's
 * generation as theirs.
 *
 * The maps are pinned below a path that contains EGRESS_LAYOUT.
 */
#pragma once

#include "bpf/flow_abi.h"

#define EGRESS_LAYOUT 4

enum {
    EGRESS_SET_MAX = 64,    /* gateways of a set */
    EGRESS_BLOCKS_MAX = 64, /* blocks of source ports that a client may have */
    EGRESS_SOURCES_MAX = 8, /* source addresses per family */
    EGRESS_STALE_S = 10,    /* without a heartbeat of its agent: the gateway is stale */
};

/* Why a packet is dropped or answered. The names of egress_cause_name() are part of the API. */
enum egress_cause {
    EGRESS_CAUSE_HELD,       /* client: what the pod's annotation requests is not in the maps yet */
    EGRESS_CAUSE_NO_GATEWAY, /* client: no gateway of the set is usable */
    EGRESS_CAUSE_TOO_BIG,    /* answered: larger than the path to the gateway, or back, allows */
    EGRESS_CAUSE_OFFLOAD,    /* the kernel can't add outer headers to this kind of large packet, or
                                remove them */
    EGRESS_CAUSE_NO_ROUTE,   /* the kernel has no route to the gateway, the client or outside */
    EGRESS_CAUSE_STRANGER,   /* gateway: FoU from a sender that is no client */
    EGRESS_CAUSE_SPOOFED,    /* gateway: the inner source differs from the outer one */
    EGRESS_CAUSE_NESTED,     /* gateway: FoU within FoU, or a packet for the gateway itself */
    EGRESS_CAUSE_PROTOCOL,   /* gateway: neither TCP, UDP nor ICMP echo */
    EGRESS_CAUSE_FRAGMENT,   /* a later fragment whose first one was not seen */
    EGRESS_CAUSE_MALFORMED,  /* invalid headers, or a tag follows a priority tag */
    EGRESS_CAUSE_PORTS,  /* gateway: all the client's source ports to this destination are in use */
    EGRESS_CAUSE_BLOCKS, /* gateway: no block of source ports is left for the client */
    EGRESS_CAUSE_FLOWS_FULL,  /* gateway: the flow table is full of live flows */
    EGRESS_CAUSE_UNKNOWN,     /* gateway, answered by a reset: TCP of no flow */
    EGRESS_CAUSE_TTL,         /* answered: hop limit expired */
    EGRESS_CAUSE_DRAINING,    /* gateway: takes no new flows */
    EGRESS_CAUSE_SOURCE,      /* client: the source is a pod's, but the interface is not */
    EGRESS_CAUSE_DESTINATION, /* gateway: not a destination of its client, or it stays in the
                                 cluster */
    EGRESS_CAUSE_POD_TUNNEL,  /* client: the pod itself has encapsulated it for a gateway */
    EGRESS_CAUSE_COUNT,
};

/*
 * A probe (egress_probe.h): an agent sends it to a gateway's FoU port in place of an IP packet, and
 * receives it back. It is shorter than any IP packet, so the kernel's own FoU drops it: a gateway
 * of Coil never answers.
 */
struct egress_probe {
    __u8 version; /* 0: no version of IP */
    __u8 kind;    /* EGRESS_PROBE_QUESTION, or _ANSWER */
    __be16 state; /* of an answer: EGRESS_PROBE_LEAVING, _GONE, _STALE */
    __be32 magic;
    __u64 cookie; /* the sender's: returned unchanged */
};

enum {
    EGRESS_PROBE_QUESTION = 0,
    EGRESS_PROBE_ANSWER = 1,
    EGRESS_PROBE_MAGIC = 0x46504f53,
};

#define EGRESS_PROBE_LEAVING 1u
#define EGRESS_PROBE_GONE    2u
/* The gateway's agent learns of no new clients. Agents that do not know this bit ignore it. */
#define EGRESS_PROBE_STALE   4u

/* "egress_control", ARRAY of one. */
#define EGRESS_HOLD_UNKNOWN 1u  /* pods that are not in "egress_pods" are held */
#define EGRESS_NO_NEW_FLOWS 2u  /* gateway: no new flows */
#define EGRESS_LEAVING      4u  /* gateway: probes announce that new flows are to avoid it, */
#define EGRESS_GONE         8u  /* and that all flows are */
#define EGRESS_POD_TUNNELS  16u /* pods may encapsulate for gateways themselves */

struct egress_control {
    __be16 port; /* of FoU */
    __u16 zero;
    __u32 flags;                  /* EGRESS_* */
    __u16 auto_first, auto_count; /* source ports of flows whose set has EGRESS_SET_AUTO */
    /*
     * Gateway: block b of the source address k has the number k * address_blocks + b, and the ports
     * from snat_first + b * block_size on.
     */
    __u16 snat_first;
    __u16 block_size; /* a power of two */
    __u32 address_blocks;
    __u32 client_blocks;    /* per client, EGRESS_BLOCKS_MAX at most */
    __u32 sources[2];       /* of `snat`, IPv4 and IPv6: how many may be in use */
    struct nat_addr own[2]; /* gateway: where clients reach it; zero: none */
    struct nat_addr snat[2][EGRESS_SOURCES_MAX]; /* source addresses of packets; zero: none */
    /*
     * Tunnels without a fixed remote endpoint, which look up each packet's route; the first 0 ends
     * the list.
     */
    __u32 by_route[NAT_MAX_BY_ROUTE];
    /* Gateway: CLOCK_MONOTONIC of the last heartbeat; all clients up to then are in the maps. */
    __u32 heard_s;
    __u32 rest;
};

/* "egress_pods", HASH by nat_addr: pods of this node. */
#define EGRESS_POD_HELD    1u /* only what stays in the cluster may leave */
#define EGRESS_POD_NEW     2u /* added when some gateway was stale, which does not have it */
/*
 * In `traits`: the pod has received packets from its Egresses' destinations that did not come from
 * a gateway.
 */
#define EGRESS_POD_INBOUND 1u
#define EGRESS_POD_WRAPS   2u /* it has a tunnel of its own, which is permitted */

struct egress_pod_value {
    __u32 policy; /* 0: none */
    __u32 flags;  /* EGRESS_POD_* */
    __u32 check;  /* nat_check(address, 0) */
    /* The interface by which its packets enter; 0: not known yet. Programs write it (egress_by.h),
     * and the agent preserves it. */
    __u32 ifindex;
    __u32 traits; /* EGRESS_POD_*, likewise */
    /* The port of a bridge behind which the agent has found the address; 0: none is known. */
    __u32 port;
};

/* "egress_doors", HASH of __u32 by nat_addr: the gateways of all sets. The value is 1. */

/* "egress_bridges", HASH of __u32 by ifindex: the bridge that a pod's interface is a port of; and
 * of an interface by which this node is a host in one of its VLANs, the bridge behind it. */

/*
 * "egress_seen", HASH of __u32 by ifindex: interfaces from which packets are forwarded unchanged.
 * Either a pod's program is attached, or no pod can be behind the interface. Other interfaces are
 * so new that the agent has not handled them: with EGRESS_HOLD_UNKNOWN their packets don't leave
 * the cluster.
 */

/* "egress_routes", LPM_TRIE without preallocation. */
struct egress_route_key {
    __u32 prefixlen; /* 32 + bits of addr */
    __be32 policy;   /* 0: what stays in the cluster */
    struct nat_addr addr;
};

struct egress_route_value {
    __u32 prefixlen; /* the key's */
    __u32 set;       /* 0: stays; on a gateway 1: the client may have it */
};

/* "egress_sets", ARRAY of __u64 by set; 0: there is no such set. Set 0 is none. */
#define EGRESS_SET_USED        1u
#define EGRESS_SET_FLOWS       2u /* a gateway per flow, otherwise per client */
/* The outer source port is derived from the flow, otherwise it is FoU's port. */
#define EGRESS_SET_AUTO        4u
#define EGRESS_SET_V6          8u /* for the agent itself */
#define EGRESS_SET_COUNT_SHIFT 8  /* gateways that may be in use: 0 to count - 1 */

/*
 * "egress_gateways", ARRAY by set * EGRESS_SET_MAX + n. A gateway keeps its n as long as it is in
 * the set. The agent writes the address while the word is 0.
 */
struct egress_gateway_value {
    __u64 word; /* generation << 32 | EGRESS_GATEWAY_* */
    struct nat_addr addr;
    __u64 packets; /* sent to it, for display only */
};

#define EGRESS_GATEWAY_USED    1u /* existing flows keep it */
#define EGRESS_GATEWAY_ACTIVE  2u /* new flows may begin with it */
/* Its pod is on this node, at the other end of a veth: packets are sent straight to it. */
#define EGRESS_GATEWAY_PEER    8u
/* For the agent itself: it has answered probes, so probes can judge it. */
#define EGRESS_GATEWAY_ANSWERS 4u
#define EGRESS_GATEWAY_STALE   16u /* new pods (EGRESS_POD_NEW) begin no flow with it */

/*
 * "egress_pins", ARRAY of buckets: flows of pods, by nat_tuple as the pod sends, and their gateways
 * (egress_pin_table.h); likewise fragmented packets (egress_fragment.h). A way whose check is 0 is
 * free.
 */
enum {
    EGRESS_PIN_BUCKETS = 16384,
    EGRESS_PIN_NEXT_HOPS = 8,
};

#define EGRESS_PIN_TRANSLATED 0x80000000u /* service NAT has translated the flow's packets */
/* It began outside, not by TCP: the pod's replies take the path by which it came. No gateway. */
#define EGRESS_PIN_INBOUND    0x40000000u
#define EGRESS_PIN_SEEN       0x20000000u /* with INBOUND: the pod has not answered yet */
#define EGRESS_PIN_GATEWAY    0x1fffffffu

struct egress_pin {
    struct nat_tuple key;
    __u32 gateway;    /* its index | EGRESS_PIN_* */
    __u32 generation; /* of its word */
    /* CLOCK_MONOTONIC of the last packet from the pod; with INBOUND, of either direction. */
    __u32 used_s;
    __u32 zero;
};

struct egress_bucket {
    __u32 checks[EGRESS_PIN_NEXT_HOPS]; /* pin_check() of the keys */
    __u32 owners[EGRESS_PIN_NEXT_HOPS]; /* nat_check(address of the pod, 0) */
    struct egress_pin pins[EGRESS_PIN_NEXT_HOPS];
};

/*
 * "egress_paths", LRU_HASH by nat_addr, the remote endpoint of tunnels: the path MTU that a router
 * reported.
 */
struct egress_path_value {
    __u32 mtu;    /* of the outer packet */
    __u32 check;  /* nat_check(address, 0) */
    __u32 seen_s; /* CLOCK_MONOTONIC */
    __u32 zero;
};

/* "egress_clients", HASH by nat_addr: clients whose packets the gateway accepts. */
struct egress_client_value {
    __u32 id;    /* of "egress_ports"; never 0 */
    __u32 check; /* nat_check(address, 0) */
};

/* "egress_ports", ARRAY by client id: its blocks of source ports, and its counters. */
struct egress_ports_value {
    __u32 next;                      /* where the search for a free port continues; counts up */
    __u32 count;                     /* of blocks, including those being allocated */
    __u16 blocks[EGRESS_BLOCKS_MAX]; /* numbers + 1; 0: not allocated yet */
    __u32 failed_s;   /* CLOCK_MONOTONIC of the last search in which all were taken */
    __u32 longest;    /* in the row of client 0: the most ports that any search has tried */
    __u32 generation; /* odd while a client has the id; incremented when it is added and deleted */
    __u32 policy;     /* of "egress_routes"; 0: no destination is permitted */
    __u64 packets, bytes; /* both directions */
    __u64 flows, refused;
};

/*
 * Whether a gateway's flow belongs to the client that has its id now: `ports` is that id's row. A
 * flow of an earlier client with the id is clientless: it is over, whatever its state, and the
 * sweep removes it.
 */
static inline __attribute__((always_inline)) int
egress_flow_has_client(const struct nat_flow *flow, const struct egress_ports_value *ports)
{
    return flow->generation & 1 && ports->generation == flow->generation;
}

/* "egress_blocks", ARRAY of __u64 by number: client id << 32 | since when, CLOCK_BOOTTIME in
 * seconds; 0: free. */

/* "egress_names", HASH by set, for the agent itself: char[NAT_NAME_MAX], "namespace/name" of the
 * Egress. */

/* "egress_drops", ARRAY by enum egress_cause: the number of packets, and the last one. */
struct egress_drop_value {
    __u64 count;
    __u64 last_ns; /* CLOCK_MONOTONIC */
    struct nat_tuple last;
    __u32 ifindex; /* where it was received */
    __u32 zero;
};

/*
 * The client's twin is "client_in" with `dry_run` set: it processes a pod's packet as the program
 * does, and writes no map. Its output is the packet as it would be sent. The twin returns
 *   cb[0] = enum egress_told | enum egress_cause << 8 (COUNT: none) | EGRESS_TOLD_* << 16
 *   cb[1] = set (0: none), cb[2] = index of the gateway
 *   cb[3] = bits of the policy's prefix | of what stays << 16, with the 32 of the policy; 0: none
 *   cb[4] = the interface that leads to the gateway; 0: none
 *   mark  = how large a packet may be on that path
 */
enum egress_told {
    EGRESS_TOLD_PASSED, /* it is routed normally */
    EGRESS_TOLD_SENT,
    EGRESS_TOLD_DROPPED,
};
#define EGRESS_TOLD_POD     1u /* the pod is known */
#define EGRESS_TOLD_PINNED  2u /* the flow began with this gateway */
#define EGRESS_TOLD_INBOUND 4u /* the flow began outside: replies return by that path */
#define EGRESS_TOLD_HERE    8u /* the gateway is this node */

/*
 * The gateway's twin, "gateway_twin", is a program that processes a client's packet as "gateway_in"
 * does, and writes nothing. It assumes the client, the source address whose number is in cb[0], and
 * its first port. With EGRESS_TWIN_LIVE in cb[1], the packet is processed as any other: it has to
 * be a client's, and follows its flow. Its result is in cb[0]: enum egress_twin; cb[1]: its detail;
 * cb[2]: the result of bpf_fib_lookup() for the address that the gateway translates to; cb[3]: enum
 * egress_twin_port; cb[4]: the interface of the route back to the client, 0: there is none.
 */
#define EGRESS_TWIN_LIVE 1u

enum egress_twin {
    EGRESS_TWIN_NOTHING,  /* it did not get that far */
    EGRESS_TWIN_NOT_OURS, /* no FoU for this gateway */
    EGRESS_TWIN_DROPPED,  /* cb[1]: enum egress_cause */
    EGRESS_TWIN_NO_ROUTE, /* cb[1]: result of bpf_fib_lookup() */
    EGRESS_TWIN_SENT,     /* translated, and redirected to interface cb[1] */
};

/* The origin of the packet's new source. */
enum egress_twin_port {
    EGRESS_TWIN_PORT_GIVEN, /* from the caller: the client has none left, or was assumed */
    EGRESS_TWIN_PORT_NEXT,  /* of the client's, the next without a flow to this destination */
    EGRESS_TWIN_PORT_FLOW,  /* that of the packet's flow */
};

#define EGRESS_MAPS(MAP)           \
    MAP(CONTROL, egress_control)   \
    MAP(PODS, egress_pods)         \
    MAP(SEEN, egress_seen)         \
    MAP(BRIDGES, egress_bridges)   \
    MAP(DOORS, egress_doors)       \
    MAP(ROUTES, egress_routes)     \
    MAP(SETS, egress_sets)         \
    MAP(GATEWAYS, egress_gateways) \
    MAP(NAMES, egress_names)       \
    MAP(PINS, egress_pins)         \
    MAP(PATHS, egress_paths)       \
    MAP(CLIENTS, egress_clients)   \
    MAP(PORTS, egress_ports)       \
    MAP(BLOCKS, egress_blocks)     \
    MAP(DROPS, egress_drops)

#define EGRESS_MAP_INDEX(NAME, name) EGRESS_MAP_##NAME,
enum egress_map_index { EGRESS_MAPS(EGRESS_MAP_INDEX) EGRESS_MAP_COUNT };
#undef EGRESS_MAP_INDEX

_Static_assert(sizeof(struct egress_gateway_value) == 32, "values have no holes");
_Static_assert(sizeof(struct egress_pod_value) == 24, "values have no holes");
_Static_assert(sizeof(struct egress_bucket) == 512, "values have no holes");
_Static_assert(sizeof(struct egress_route_key) == 24, "keys have no holes");
_Static_assert(sizeof(struct egress_probe) == 16, "the wire has no holes");
