/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of one packet: the query of `agentctl trace` and its result, as plain values. The NAT
 * engine computes the result (engine/nat/trace/trace.c), with the egress engine's part for packets
 * that leave the cluster (engine/egress/egress_trace.c); the API prints it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"
#include "base/net/ip.h"
#include "base/net/protocol.h"
#include "base/vec.h"
#include "bpf/flow_abi.h"
#include "plan/nat/nat_table.h"

struct trace_question {
    const char *in; /* an interface, or "host"; NULL: the one by which the source would arrive */
    struct ip source, destination; /* of one family */
    uint16_t source_port;          /* 0: any; then no flow is looked up */
    uint16_t destination_port;     /* 0: ICMP, whose source port is the ping's identifier */
    enum protocol protocol;
};

/* Whether a new flow's source is rewritten. */
enum trace_masquerade {
    TRACE_MASQUERADE_NONE, /* nothing is forwarded */
    TRACE_MASQUERADE_NO,
    TRACE_MASQUERADE_YES,
    TRACE_MASQUERADE_HAIRPIN, /* only if the selected endpoint is the sender itself */
};

/* The effect of an existing flow on the packet. */
struct trace_flow {
    bool found;
    enum nat_half half;
    bool established, masqueraded;
    struct nat_endpoint source, destination; /* of the forwarded packet */
    uint32_t idle_s;
};

enum trace_side { TRACE_SIDE_NONE, TRACE_SIDE_CLIENT, TRACE_SIDE_GATEWAY };

/* The effect of egress on the packet. */
struct trace_egress {
    enum trace_side side; /* NONE: egress does not handle it here */
    enum nat_act act;     /* PASS: unchanged; FORWARD; DROP */
    const char *reason;   /* why it is dropped: static, a stable word; NULL: it is not */
    const char *reason_text;
    char egress[NAT_NAME_MAX]; /* "namespace/name", the Egress with its destination; "": none */
    struct prefix prefix;      /* the matching network; IP_NONE: none */
    struct ip gateway;         /* IP_NONE: none */
    bool is_begun;             /* it belongs to an existing flow */
    struct nat_endpoint outer_source, outer_destination; /* of FoU; IP_NONE: there is none */
    struct nat_endpoint source, destination;             /* the forwarded packet's own */
    uint32_t room;                                       /* bytes of the outer headers */
    uint32_t mtu; /* the largest packet that fits; 0: unknown */
    char out[16]; /* the outgoing interface; "": none */
};

/* One step of the result: what happens, and why. */
struct trace_step {
    const char *title; /* static: "in", "service", "set" */
    char *text;
};

struct trace {
    char in[16];      /* as in the query, or selected */
    const char *hook; /* static; NULL: no program sees the packet */
    enum nat_act act; /* of a new flow, as all down to `picked` */
    enum nat_cause cause;
    char service[NAT_NAME_MAX + 64]; /* "namespace/name:port"; "": none */
    nat_endpoint_list endpoints;     /* all candidates */
    enum trace_masquerade masquerade;
    struct nat_endpoint picked; /* selected this time; IP_NONE: none */
    struct trace_flow flow;
    struct trace_egress egress;
    VEC(struct trace_step) steps;
    bool failed; /* memory ran out while a step was added */
};
void trace_done(struct trace *trace);

/* Adds a step. */
void trace_tell(struct trace *trace, const char *title, const char *format, ...) PRINTF_LIKE(3, 4);

/*
 * The next stage after service NAT: the packet came in by `ifindex`, and is now as in `question`.
 * Returns 1 if it does not continue through the stack, with all steps added; 0 if it does; or
 * -errno.
 */
struct trace_next {
    int (*follow)(void *context, const struct trace_question *question, uint32_t ifindex,
                  struct trace *trace);
    void *context;
    const nat_attachment_list *attached; /* its programs, sorted */
};

/*
 * Returns 0 or -errno: -ENODEV there is no interface `in`; -EADDRNOTAVAIL `in` is NULL, and there
 * is no uplink; -EOPNOTSUPP service NAT and egress are off.
 */
typedef int (*trace_function)(void *context, const struct trace_question *question,
                              struct trace *ret_trace);
