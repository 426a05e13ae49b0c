/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the NAT program and the agent share: maps, keys, values, and constants for decisions. Flows
 * are in flow_abi.h. The planner, the applier, the API and the tests use these definitions as well.
 *
 * All numbers are in host byte order, except addresses and ports, which are in network byte order.
 * An address has 16 bytes; IPv4 is mapped (::ffff:a.b.c.d), so that one set of maps serves both
 * families.
 *
 * The agent writes arrays through a memory mapping, with plain stores. A reader may rely on one
 * thing only: a 64-bit word is read and written as a whole. The kernel may give an entry of a hash
 * table to another key while a program reads it, so each value has a check of its key
 * (nat_check()).
 *
 * From a packet to an endpoint:
 *
 *   frontends[address, port, protocol] -> service, port
 *   services[service]  -> one word: which bank is in force, and the service's flags
 *   ports[port * 2 + bank] -> outcomes by kind of frontend and of source; where its two sets lie
 *   slots[first .. first + count) -> endpoint and generation
 *   endpoints[endpoint] -> state word, address, port
 *
 * A Service switches as a whole: the agent fills its idle bank, then writes its word. Ids of
 * services, ports and endpoints, and slots, are reused only some time after the last reference to
 * them is gone, since a program may still be reading.
 *
 * The maps are pinned below a path that contains NAT_LAYOUT. Raise it with every change of this
 * file, or of flow_abi.h, with which an older program, still attached, would not be compatible.
 */
#pragma once

#include <linux/types.h>

#define NAT_LAYOUT 3

/* No service, port or endpoint has the id 0. */

enum {
    NAT_COUNTER_STRIPES = 8, /* CPUs share the counters of a service by number modulo this */
    NAT_MAX_POD_NETS = 16,
    NAT_MAX_SERVICE_NETS = 16,
    NAT_MAX_PEERS = 512, /* of a family */
    NAT_MAX_BY_ROUTE = 4,
    NAT_NAME_MAX = 320, /* "namespace/name" with its final zero */
    NAT_TCP = 6,        /* IPPROTO_TCP, which no usable kernel header has, */
    NAT_ICMP = 1,       /* and IPPROTO_ICMP, */
    NAT_ICMPV6 = 58,    /* IPPROTO_ICMPV6 */
};

/* The action for a packet; in the planner's rows, for a new flow. */
enum nat_act {
    NAT_ACT_PASS,    /* not ours: continues unchanged */
    NAT_ACT_FORWARD, /* to an endpoint, or back from an endpoint */
    NAT_ACT_REJECT,  /* answered by an ICMP port unreachable */
    NAT_ACT_DROP,
};

/* The cause of an action. Its names are those of nat_cause_name(): part of the API. */
enum nat_cause {
    NAT_CAUSE_NONE,           /* forwarded, or no address of a service */
    NAT_CAUSE_NO_ENDPOINTS,   /* reject: none usable anywhere */
    NAT_CAUSE_NO_LOCAL,       /* drop: policy Local, usable ones only elsewhere */
    NAT_CAUSE_SOURCE_RANGE,   /* drop: source not in loadBalancerSourceRanges */
    NAT_CAUSE_UNALLOCATED,    /* drop: in serviceCIDRs, and no Service has it */
    NAT_CAUSE_UNDEFINED_PORT, /* reject: a ClusterIP of ours without that port */
    NAT_CAUSE_UNMAPPED_PORT,  /* reject at svc0: a guarded address without that port */
    NAT_CAUSE_OTHER_PROXY,    /* pass: a ClusterIP that another proxy serves */
    NAT_CAUSE_SNAT_EXHAUSTED, /* drop: each source port to the endpoint has a live flow */
    NAT_CAUSE_NO_ROUTE,       /* drop: the kernel has no route to the endpoint or back */
    NAT_CAUSE_INVALID,        /* drop: TCP that neither opens a flow nor belongs to one */
    NAT_CAUSE_FRAGMENT,       /* drop: a later fragment whose first one was not seen */
    NAT_CAUSE_MALFORMED,      /* drop: invalid headers, on an address of ours; or two tags */
    NAT_CAUSE_PROTOCOL,       /* drop: a protocol that this program does not translate */
    NAT_CAUSE_TTL,            /* answered: hop limit expired on the path to the endpoint */
    NAT_CAUSE_TOO_BIG,        /* answered: larger than the MTU towards the endpoint */
    NAT_CAUSE_FLOWS_FULL,     /* drop: the flow table is full of live flows */
    NAT_CAUSE_EXTENSIONS,     /* drop: more IPv6 extension headers than the program parses */
    NAT_CAUSE_REVERSE_PATH,   /* drop: the route back to the source leads by another interface */
    NAT_CAUSE_COUNT,
};

/*
 * If a Service has several kinds on one address and port, the first applies: load balancers come
 * before external IPs, so that their source ranges apply.
 */
enum nat_frontend_kind {
    NAT_FRONTEND_CLUSTER_IP,
    NAT_FRONTEND_LOAD_BALANCER,
    NAT_FRONTEND_EXTERNAL_IP,
    NAT_FRONTEND_NODE_PORT,
    NAT_FRONTEND_KINDS,
    /* For an address alone (port and protocol 0), for ports that no Service has there: */
    NAT_FRONTEND_REFUSED = NAT_FRONTEND_KINDS, /* a ClusterIP of ours: reject */
    NAT_FRONTEND_FOREIGN,                      /* a ClusterIP of another proxy: pass */
};

/* The sender: a pod (is_from_pod() in filter.h) before this node itself, then all others. */
enum nat_origin { NAT_ORIGIN_OUTSIDE, NAT_ORIGIN_POD, NAT_ORIGIN_NODE, NAT_ORIGINS };

/*
 * The endpoints for a new flow. Cluster: ready and selected by the hints, otherwise all that serve
 * while terminating. Local: ready on this node, otherwise those here that serve while terminating.
 */
enum nat_set_kind { NAT_SET_CLUSTER, NAT_SET_LOCAL, NAT_SETS };

enum { NAT_BANKS = 2 };

struct nat_addr {
    union {
        __u8 bytes[16];
        __be32 words[4];
        __u64 halves[2];
    };
};

/* One direction of a flow, as on the wire. 40 bytes. */
struct nat_tuple {
    struct nat_addr src, dst;
    __be16 sport, dport;
    __u8 protocol; /* IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP */
    __u8 zero[3];
};

/* A value's check of its key: two different keys seldom have the same check. */
static inline __attribute__((always_inline)) __u32 nat_check(const struct nat_addr *addr,
                                                             __u32 rest)
{
    return addr->words[0] * 3u ^ addr->words[1] * 5u ^ addr->words[2] * 7u ^ addr->words[3] ^
           rest * 0x9e3779b1u;
}

static inline __attribute__((always_inline)) __u32 nat_tuple_check(const struct nat_tuple *tuple)
{
    __u32 ports = (__u32)tuple->sport << 16 | tuple->dport;
    return nat_check(&tuple->src, ports) * 0x85ebca6bu ^ nat_check(&tuple->dst, tuple->protocol);
}

/*
 * The state of a flow: nat_flow_state(). Its names are those of nat_state_name(): part of the API.
 * The order is that of worth: where there is no room, earlier states are evicted before later ones.
 */
enum nat_state {
    NAT_STATE_HALF_OPEN,   /* TCP: no answer yet */
    NAT_STATE_UNANSWERED,  /* not TCP */
    NAT_STATE_EXCHANGE,    /* not TCP: answered, and the client has not sent since */
    NAT_STATE_ANSWERED,    /* TCP: the client has not acknowledged the answer yet */
    NAT_STATE_CLOSED,      /* TCP: reset, or both FINs are acknowledged */
    NAT_STATE_HALF_CLOSED, /* TCP: a FIN of one side; or of both, not acknowledged yet */
    NAT_STATE_STREAM,      /* not TCP: the client sent again after an answer */
    NAT_STATE_ESTABLISHED, /* TCP */
    NAT_STATES,
};

/* "control", ARRAY of one. Written at start, on reload, and when the kernel's settings change. */
struct nat_net {
    struct nat_addr net, mask; /* IPv4 mapped, so a /8 has a mask of 104 bits */
};

/*
 * "control".path, bits. A masqueraded packet passes through the stack where it may have listeners,
 * and bypasses it otherwise: see "flows" in flow_abi.h.
 */
#define NAT_PATH_STACK           1u /* new flows pass through the stack */
#define NAT_PATH_STACKED         2u /* there may be flows that do so */
#define NAT_PATH_XFRM            4u /* XFRM has policies: also this node's own to Services, and refusals */
#define NAT_PATH_WHOLE           8u /* sources are translated before the stack: only XFRM listens */
/* Not about the path: "control".mark is also for packets to node ports. */
#define NAT_PATH_MARK_NODE_PORTS 16u

struct nat_control {
    __u64 filter_half;  /* which half of "filter" is in force: 0 or 1 */
    __u32 filter_words; /* per half, as filled by the agent; 0: none. Not read by programs. */
    __u32 svc0_ifindex; /* 0: there is none */
    __u8 svc0_mac[6];
    __u16 snat_first; /* source ports for masquerading: first and number, host order */
    __u32 snat_count;
    __u32 pod_net_count, service_net_count;
    __u32 peer_counts[2]; /* of IPv4 and IPv6, in "peers" */
    /* Minimum interval between two refusals to one source, of IPv4 and IPv6; 0: no limit. */
    __u32 icmp_interval_ms[2];
    __u32 path;                          /* NAT_PATH_* */
    __u32 ring_slots;                    /* of "ring": the maximum number of flows */
    __u32 timeouts_s[NAT_STATES];        /* idle timeout of a flow: nat_timeout_s() */
    __u32 egress_timeouts_s[NAT_STATES]; /* the same for an egress gateway's flows, */
    __u32 egress_icmp_s;                 /* and for its pings, in any state */
    /* Added to the mark of packets that enter for a port that a Service has opened; 0: none. */
    __u32 mark;
    /* None in a family: packets that enter by a pod's interface count as a pod's. */
    struct nat_net pod_nets[NAT_MAX_POD_NETS];
    struct nat_net service_nets[NAT_MAX_SERVICE_NETS];
    /*
     * Tunnels without a fixed remote endpoint, which look up each packet's route; the first 0 ends
     * the list.
     */
    __u32 by_route[NAT_MAX_BY_ROUTE];
};

/*
 * "filter", ARRAY of one value: an array of __u64 in two halves, whose number of words, a power of
 * two, is set when the programs are loaded. A half is a blocked Bloom filter of
 *   service addresses         nat_filter_hash(address, 0)
 *   node ports and endpoints  nat_filter_hash(address, port)
 * A packet is not ours if the filter has neither its destination (alone, or with the port) nor its
 * source with the port.
 * Word nat_filter_word(), in which both bits of nat_filter_bits() are set.
 */
#define NAT_FILTER_WORDS 131072 /* per half, for tables of the default size */

/* The upper bits of a product depend on all input bits: only those are used. */
static inline __attribute__((always_inline)) __u64 nat_filter_hash(const struct nat_addr *addr,
                                                                   __be16 port)
{
    __u64 h = addr->halves[0] * 0x9e3779b97f4a7c15ull ^ addr->halves[1];
    h ^= h >> 32; /* similar values may differ at the top */
    return (h ^ port) * 0xd6e8feb86659fd93ull;
}

static inline __attribute__((always_inline)) __u32 nat_filter_word(__u64 hash, __u32 words)
{
    return (__u32)(hash >> 28) & (words - 1);
}

static inline __attribute__((always_inline)) __u64 nat_filter_bits(__u64 hash)
{
    return 1ull << (hash >> 58) | 1ull << (hash >> 52 & 63);
}

/* Whether a word has both bits of a hash. */
static inline __attribute__((always_inline)) int nat_filter_passes(__u64 word, __u64 hash)
{
    return word >> (hash >> 58) & word >> (hash >> 52 & 63) & 1;
}

/* "frontends", HASH. An address alone has port and protocol 0. */
struct nat_frontend_key {
    struct nat_addr addr;
    __be16 port;
    __u8 protocol;
    __u8 zero[5];
};

struct nat_frontend_value {
    __u32 service, port; /* port: 0 of an address alone */
    __u8 kind;           /* enum nat_frontend_kind */
    __u8 zero[3];
    __u32 check;
};

static inline __attribute__((always_inline)) __u32
nat_frontend_check(const struct nat_frontend_key *key)
{
    return nat_check(&key->addr, (__u32)key->port << 8 | key->protocol);
}

/*
 * "services", ARRAY of __u64 by service id; 0: there is no such service. A service's generation is
 * the last one that an endpoint had before it: flows with that or an older one belong to an earlier
 * service with the same id. The word of id 0 holds the generation of the newest service.
 */
#define NAT_SERVICE_BANK             (1ull << 0)
#define NAT_SERVICE_USED             (1ull << 1)
#define NAT_SERVICE_RANGES_V4        (1ull << 2) /* "ranges" applies to IPv4 sources, by bank */
#define NAT_SERVICE_RANGES_V6        (1ull << 3)
#define NAT_SERVICE_AFFINITY_SHIFT   8 /* 24 bits: ClientIP affinity in seconds; 0: none */
#define NAT_SERVICE_GENERATION_SHIFT 32

/*
 * "ports", ARRAY by port * 2 + bank: one port of one family of one service. `outcomes` has a
 * nibble for each kind of frontend and origin: nat_outcome_shift(); in it NAT_OUTCOME_*.
 */
struct nat_port_value {
    __u64 outcomes;
    __u64 sets[NAT_SETS]; /* first slot << 32 | count */
    __u64 owner;          /* service << 32 | family (4, 6) << 24 | protocol << 16 | port (host) */
};

#define NAT_OUTCOME_ACT   0x3u /* enum nat_act, counted from NAT_ACT_FORWARD */
#define NAT_OUTCOME_LOCAL 0x4u /* from the local set, else the cluster set */
#define NAT_OUTCOME_MASQ  0x8u

static inline __attribute__((always_inline)) __u32 nat_outcome_shift(__u32 kind, __u32 origin)
{
    return (kind * NAT_ORIGINS + origin) * 4;
}

/* "slots", ARRAY of __u64: endpoint id << 32 | generation. Those of a set are in rising order. */

/*
 * "endpoints", ARRAY by endpoint id: one endpoint of one Service and protocol, for all ports that
 * lead to it. The agent writes all members but `state` while the generation is 0, and does not
 * change them until the id is free again. In the entry of id 0, addr.words[0] is the generation
 * assigned last.
 */
struct nat_endpoint_value {
    __u64 state; /* NAT_ENDPOINT_* */
    struct nat_addr addr;
    __be16 port;
    __u8 protocol; /* 0: written by an agent that used one entry per port */
    __u8 zero;
    __u32 owner; /* service; if protocol is 0: port */
};

/*
 * The generation identifies one life of an endpoint, from when it first serves until it no longer
 * does. It is never 0 in that time. When it changes, UDP flows with the old one end.
 */
#define NAT_ENDPOINT_GENERATION 0xffffffffull
#define NAT_ENDPOINT_ON_NODE    (1ull << 40) /* its address is local to this node */

/*
 * "ranges", LPM_TRIE: sources that may use a Service's load balancer addresses. The value is the
 * key's prefixlen (__u32): a short IPv6 prefix may cover the addresses that IPv4 is mapped to, and
 * must not apply to them.
 */
struct nat_range_key {
    __u32 prefixlen; /* 32 + bits of addr */
    __be32 owner;    /* service << 1 | bank */
    struct nat_addr addr;
};

/*
 * "peers", ARRAY of nat_addr: the other Nodes, IPv4 from 0 on, IPv6 from NAT_MAX_PEERS on. They
 * receive ICMP errors that only the Node with the flow can use (spread.h).
 */

/*
 * "affinity", LRU_HASH: the last endpoint of a client, for each set of a port that it used. Every
 * choice begins a new round, and the age follows. A choice whose round differs from the age's is
 * new.
 */
struct nat_affinity_key {
    __u32 port;
    __u32 set; /* enum nat_set_kind */
    struct nat_addr client;
};

struct nat_affinity_value {
    __u64 choice; /* round << 56 | endpoint << 32 | generation */
    __u64 age;    /* round << 56 | (nat_check(&client, port) & 0xffffff) << 32 | seen, in seconds */
};

/* "counters", ARRAY by service * NAT_COUNTER_STRIPES + stripe; added to atomically where CPUs share
 * a stripe. */
struct nat_counter {
    __u64 packets, bytes; /* both directions, translated */
    __u64 flows;          /* new flows */
    __u64 refused;
};

/* "refusals", LRU_HASH: the number of refused packets, and the last one. Service 0: no Service. */
struct nat_refusal_key {
    __u32 service;
    __u32 cause; /* enum nat_cause */
};

struct nat_refusal_value {
    __u64 count;
    __u64 last_ns; /* CLOCK_MONOTONIC */
    struct nat_tuple last;
    __u32 ifindex; /* where it was received */
    __u32 zero;
};

/*
 * "limits", LRU_HASH by nat_addr: __u64, the CLOCK_MONOTONIC nanosecond at which this receiver of
 * refusals had zero credit. See may_answer().
 */

/*
 * "interfaces", HASH by ifindex: the source address of packets that leave by it masqueraded, and
 * the interface of the routes back to senders behind it (came.h).
 */
struct nat_interface_value {
    struct nat_addr v4, v6; /* v4 mapped; zero: none */
    __u32 check;            /* the ifindex */
    __u32 back;             /* for a pod's: itself, or the bridge behind it; or NAT_BACK_* */
};

#define NAT_BACK_UNKNOWN 0u
#define NAT_BACK_ANY     0xffffffffu /* any that is no pod's: for an uplink */

/* "fragments", LRU_HASH: ports of a fragmented packet, taken from its first fragment. */
struct nat_fragment_key {
    struct nat_addr src, dst;
    __u32 id;      /* as on the wire */
    __u8 protocol; /* 0 in IPv6 */
    __u8 zero[3];
};

struct nat_fragment_value {
    __be16 sport, dport; /* 0, 0: a later one arrived first, and all are left to the stack */
    __u32 check;         /* nat_check(&src, id) */
    __u32 seen_s;        /* CLOCK_MONOTONIC of the fragment that made the entry */
    __u8 protocol;       /* 0: the first one has not arrived yet */
    __u8 zero[3];
};

/* "names", HASH by service id, for the agent itself: char[NAT_NAME_MAX], "namespace/name". */

/*
 * The twin: the same programs with `dry_run` set, for BPF_PROG_TEST_RUN. A twin changes no map and
 * no packet; it decides on the packet and writes the verdict to skb->cb[]. uplink_out and pod_out
 * have no twin, since they judge no requests.
 *
 * In:  cb[0] = 0: choose at random; n: the n-th endpoint of the set, from 1.
 *      cb[1] = NAT_DRY_* flags.
 * Out: cb[0] = act | cause << 8 | masquerade << 16 | route << 24 (0: found, or only its neighbour
 *              is not known yet; else the answer of bpf_fib_lookup(), or NAT_ROUTE_*)
 *      cb[1] = service, cb[2] = port, cb[3] = endpoint, cb[4] = set << 31 | count
 *      mark = the interface that a forwarded packet leaves by; 0: none (the endpoint is on this
 *             node, there is no route, or the packet is too big for it)
 */
#define NAT_ROUTE_SVC0      254u /* the route leads to svc0: it is an address of a Service */
#define NAT_ROUTE_NO_SOURCE 255u /* this node has no address for masquerading on that route */
#define NAT_DRY_FLOWS       1u   /* check the flow tables first, as for a real packet */
#define NAT_DRY_CAME        2u   /* check by which interface the source is routed, likewise */

/*
 * skb->tc_index of a pod's packet that was translated and continues in the stack, for the egress
 * program that runs next.
 */
#define NAT_TRANSLATED 0xf19fu

enum nat_masquerade { NAT_MASQUERADE_NO, NAT_MASQUERADE_YES, NAT_MASQUERADE_HAIRPIN };

/* The programs, by where they are attached. */
enum nat_hook {
    NAT_HOOK_UPLINK_IN,
    NAT_HOOK_UPLINK_OUT,
    NAT_HOOK_POD_IN,  /* ingress of the host's end: what the pod sends */
    NAT_HOOK_POD_OUT, /* egress of the host's end: what the pod receives */
    NAT_HOOK_LO_OUT,
    NAT_HOOK_SVC_OUT,
    NAT_HOOKS,
    /* The programs of egress, behind those of NAT (egress_abi.h). */
    EGRESS_HOOK_CLIENT_IN = NAT_HOOKS, /* ingress of a pod's host end */
    EGRESS_HOOK_CLIENT_OUT,            /* its egress */
    EGRESS_HOOK_GATEWAY_IN,            /* ingress of an uplink */
    EGRESS_HOOK_CLIENT_GUARD,          /* egress of an uplink of a node with pods */
};

/*
 * At the start of "scratch", the programs' own PERCPU_ARRAY of one, which is neither pinned nor in
 * the list below: the number of packets at each hook since its program was loaded, whatever their
 * verdict. The twin's are not counted.
 */
struct nat_seen {
    __u64 packets[NAT_HOOKS];
};

/*
 * All maps, in the order of this file and of maps.h: the end of NAT_MAP_*, and the map's name in
 * the program and below the pins. The agent numbers, opens, pins and counts them by this list.
 */
#define NAT_MAPS(MAP)           \
    MAP(CONTROL, control)       \
    MAP(FILTER, filter)         \
    MAP(FRONTENDS, frontends)   \
    MAP(SERVICES, services)     \
    MAP(PORTS, ports)           \
    MAP(SLOTS, slots)           \
    MAP(ENDPOINTS, endpoints)   \
    MAP(RANGES, ranges)         \
    MAP(FLOWS, flows)           \
    MAP(RING, ring)             \
    MAP(CAME, came)             \
    MAP(SEARCHES, searches)     \
    MAP(PRESSURE, pressure)     \
    MAP(PEERS, peers)           \
    MAP(AFFINITY, affinity)     \
    MAP(COUNTERS, counters)     \
    MAP(REFUSALS, refusals)     \
    MAP(LIMITS, limits)         \
    MAP(INTERFACES, interfaces) \
    MAP(FRAGMENTS, fragments)   \
    MAP(NAMES, names)

#define NAT_MAP_INDEX(NAME, name) NAT_MAP_##NAME,
enum nat_map_index { NAT_MAPS(NAT_MAP_INDEX) NAT_MAP_COUNT };
#undef NAT_MAP_INDEX

_Static_assert(sizeof(struct nat_tuple) == 40, "keys have no holes");
_Static_assert(sizeof(struct nat_frontend_key) == 24, "keys have no holes");
_Static_assert(sizeof(struct nat_port_value) == 32, "values have no holes");
_Static_assert(sizeof(struct nat_endpoint_value) == 32, "values have no holes");
