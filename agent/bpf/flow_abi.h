/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flows, as the NAT program, the egress programs and the agent share them: the two halves of each,
 * the state of a flow, when it is over, and counters of the search for room. Like abi.h, whose
 * rules hold here: byte order, addresses, checks, and NAT_LAYOUT.
 *
 * The programs write flows. The agent's sweep removes those that are over, its API shows them, and
 * both evaluate a flow with the same functions as the programs.
 */
#pragma once

#include "bpf/abi.h"

/*
 * "flows", HASH without preallocation, by nat_tuple. A flow has two halves. The key of a half is
 * the tuple of its packets, and `to` is their tuple after translation, as the endpoint or the
 * client receives them. The key of one half is the other's `to` reversed, so that each half can
 * rebuild the other. A direct half belongs to a connection straight to an endpoint; its key is the
 * tuple of the replies. It has no other half and translates nothing: it reserves its tuple, so that
 * no other flow can use it.
 *
 * A masqueraded flow bypasses the stack in both directions: destination and source are translated
 * in one step. Or it passes through the stack as two flows in sequence. The first translates as a
 * flow that is not masqueraded does: requests get the endpoint as their destination where they
 * enter, replies the service's address where they leave. The second, the SNAT entry, gives requests
 * this node's address where they leave, and replies the client's address where they enter. So
 * listeners in the stack see the client and the endpoint.
 *
 * "ring", ARRAY of nat_tuple with half as many entries as "flows": each flow has a slot, which
 * holds the key of its reply half or direct half. A new flow takes the next slot whose flow is over
 * or gone; so flows end without the agent, and "flows" is never fuller than the ring. A slot counts
 * only for the flow that names it.
 */
enum nat_half { NAT_HALF_FORWARD = 1, NAT_HALF_REPLY, NAT_HALF_DIRECT };

/* How a translated packet continues. */
enum nat_delivery {
    NAT_DELIVER_STACK,  /* unchanged path: the stack routes it */
    NAT_DELIVER_NEIGH,  /* sent by the program: routed by bpf_fib_lookup(), bypassing the stack */
    NAT_DELIVER_SVC0,   /* received again on svc0: replies to the node's own packets */
    NAT_DELIVER_LO,     /* received again on lo */
    NAT_DELIVER_EGRESS, /* for an egress gateway's flow (egress_abi.h): the NAT program ignores it
                         */
};

#define NAT_FLOW_FIN      0x01u /* of this direction, where the other side expects it */
#define NAT_FLOW_RST      0x02u /* the same, of either direction: in both halves */
#define NAT_FLOW_MASQ     0x04u /* source address translated by the rule */
#define NAT_FLOW_HAIRPIN  0x08u
#define NAT_FLOW_AT_EXIT  0x10u /* reply half: translated where it leaves the node */
#define NAT_FLOW_ANSWERED 0x20u /* the endpoint has answered: in both halves */
#define NAT_FLOW_CONFIRMED \
    0x40u /* forward half: the client has sent since; direct: a reply was seen */
#define NAT_FLOW_OUTBOUND                                                \
    0x80u /* requests are translated where they leave, and replies where \
             they come: a SNAT entry, or this node's own, straight to an \
             endpoint */

/* Whether a half is one of a SNAT entry. */
static inline __attribute__((always_inline)) int nat_flow_is_source_snat(__u8 flags)
{
    return flags & NAT_FLOW_OUTBOUND && flags & (NAT_FLOW_MASQ | NAT_FLOW_HAIRPIN);
}

/* Whether a half is the reply half of a flow that has a SNAT entry. */
static inline __attribute__((always_inline)) int nat_flow_has_snat(__u8 flags)
{
    return flags & NAT_FLOW_AT_EXIT && flags & (NAT_FLOW_MASQ | NAT_FLOW_HAIRPIN);
}

struct nat_flow {
    struct nat_tuple to;
    __u32 service, port; /* ids */
    __u32 endpoint, generation;
    __u32 seen_s;  /* CLOCK_MONOTONIC of the last packet of this half; one word with the next */
    __u32 check;   /* nat_tuple_check() of the key; this and seen_s inverted: the flow is gone */
    __u8 half;     /* enum nat_half */
    __u8 delivery; /* enum nat_delivery */
    __u8 reverse_delivery; /* `delivery` of the other half */
    __u8 flags;            /* NAT_FLOW_* */
    __u32 slot;            /* of "ring" */
    __u32 next, ack; /* TCP: the sequence number after all data this half has carried in order; the
                        last acknowledgement it has carried */
    __u64 packets, bytes; /* of this half; written without a lock, for display only */
};

#define NAT_NO_SLOT 0xffffffffu

/*
 * "came", ARRAY by slot: the interface by which the packets of each half entered when the last
 * route lookup confirmed it: nat_came_word(). A word of another flow, which had the slot before or
 * shares it, has another check.
 */
struct nat_came {
    __u64 forward, reply;
};

/* `check`: nat_tuple_check() of the half's key. */
static inline __attribute__((always_inline)) __u64 nat_came_word(__u32 check, __u32 ifindex)
{
    return (__u64)check << 32 | ifindex;
}

/* The state of a flow, by both halves in any order. `alone`: there is no other half, and `reverse`
 * is `half`. */
static inline __attribute__((always_inline)) enum nat_state
nat_flow_state(const struct nat_flow *half, const struct nat_flow *reverse, __u8 alone,
               __u8 protocol)
{
    __u8 flags = half->flags | reverse->flags;
    if (protocol != NAT_TCP) {
        if (!(flags & NAT_FLOW_ANSWERED))
            return NAT_STATE_UNANSWERED;
        return flags & NAT_FLOW_CONFIRMED ? NAT_STATE_STREAM : NAT_STATE_EXCHANGE;
    }
    if (flags & NAT_FLOW_RST)
        return NAT_STATE_CLOSED;
    if (!(flags & NAT_FLOW_ANSWERED))
        return NAT_STATE_HALF_OPEN;
    if (!(flags & NAT_FLOW_FIN))
        return flags & NAT_FLOW_CONFIRMED ? NAT_STATE_ESTABLISHED : NAT_STATE_ANSWERED;
    if (alone) /* a direct connection shows only one direction */
        return NAT_STATE_CLOSED;
    return half->flags & reverse->flags & NAT_FLOW_FIN && half->ack == reverse->next &&
                   reverse->ack == half->next
               ? NAT_STATE_CLOSED
               : NAT_STATE_HALF_CLOSED;
}

/* The idle timeout, in seconds, after which the flow of this half is over. */
static inline __attribute__((always_inline)) __u32 nat_timeout_s(const struct nat_control *control,
                                                                 const struct nat_flow *half,
                                                                 __u8 protocol,
                                                                 enum nat_state state)
{
    __u32 at = state < NAT_STATES ? state : 0;
    if (half->delivery != NAT_DELIVER_EGRESS)
        return control->timeouts_s[at];
    if (protocol == NAT_ICMP || protocol == NAT_ICMPV6)
        return control->egress_icmp_s;
    return control->egress_timeouts_s[at];
}

/*
 * "searches", ARRAY by endpoint id: where the search for a free source port to it continues, so
 * that the port assigned longest ago is tried first. Id 0: for connections straight to endpoints.
 */
struct nat_search {
    __u32 next;     /* counts up, modulo the number of source ports */
    __u32 failed_s; /* CLOCK_MONOTONIC of the last search in which all were taken */
};

/*
 * "pressure", ARRAY of one: counters of the search for room. Added to atomically; `turn` is the
 * slot of "ring" that comes next, modulo their number.
 */
struct nat_pressure {
    __u64 turn;
    __u64 flows_dropped;  /* live flows of little worth that lost their slot to a new one */
    __u64 flows_refused;  /* new flows that found no slot */
    __u64 ports_searched; /* flows whose first choice of a source port was taken */
    __u64 ports_dropped;  /* live flows of little worth that lost their source port to a new one */
    __u64 ports_refused;  /* new flows that found no source port */
    __u64 errors_spread;  /* ICMP errors that were forwarded to the other Nodes */
    __u64 spread_ns;      /* CLOCK_MONOTONIC of the last one */
};

_Static_assert(sizeof(struct nat_flow) == 96, "values have no holes");
