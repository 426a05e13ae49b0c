/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to one packet: the question that `agentctl trace` asks and the story that answers
 * it, as plain values. The NAT engine finds the answer (engine/nat/trace/trace.c), with what the
 * egress engine says of packets that leave the cluster (engine/egress/egress_trace.c); the API
 * prints it.
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
    const char *in; /* an interface, or "host"; NULL: where the source would come from */
    struct ip source, destination; /* of one family */
    uint16_t source_port;          /* 0: any; then there is no flow to look for */
    uint16_t destination_port;     /* 0: ICMP, whose source port is the ping's identifier */
    enum protocol protocol;
};

/* Whether a new flow's source is rewritten. */
enum trace_masquerade {
    TRACE_MASQUERADE_NONE, /* nothing is forwarded */
    TRACE_MASQUERADE_NO,
    TRACE_MASQUERADE_YES,
    TRACE_MASQUERADE_HAIRPIN, /* only if the endpoint chosen is the sender itself */
};

/* What a flow that exists does with the packet. */
struct trace_flow {
    bool found;
    enum nat_half half;
    bool established, masqueraded;
    struct nat_endpoint source, destination; /* as the packet goes on */
    uint32_t idle_s;
};

enum trace_side { TRACE_SIDE_NONE, TRACE_SIDE_CLIENT, TRACE_SIDE_GATEWAY };

/* What egress does with the packet. */
struct trace_egress {
    enum trace_side side; /* NONE: it is none of egress' business here */
    enum nat_act act;     /* PASS: it goes its own way; FORWARD; DROP */
    const char *reason;   /* why it is dropped: static, a stable word; NULL: it is not */
    const char *reason_text;
    char egress[NAT_NAME_MAX]; /* "namespace/name", by whose destination it leaves; "": none */
    struct prefix prefix;      /* the network that decided; IP_NONE: none has the destination */
    struct ip gateway;         /* IP_NONE: none */
    bool is_begun;             /* its flow exists, and it follows that */
    struct nat_endpoint outer_source, outer_destination; /* of a tunnel; IP_NONE: there is none */
    struct nat_endpoint source, destination;             /* the packet's own, as it goes on */
    uint32_t room;                                       /* bytes that the outer headers take */
    uint32_t mtu; /* how large the packet may be to fit in them; 0: not known */
    char out[16]; /* interface by which it leaves; "": none */
};

/* One sentence of the story: what happened, and why. */
struct trace_step {
    const char *title; /* static: "in", "service", "set" */
    char *text;
};

struct trace {
    char in[16];      /* as it was asked, or chosen */
    const char *hook; /* static; NULL: no program sees the packet */
    enum nat_act act; /* of a new flow, as all down to `picked` */
    enum nat_cause cause;
    char service[NAT_NAME_MAX + 64]; /* "namespace/name:port"; "": none */
    nat_endpoint_list endpoints;     /* all that it may be sent to */
    enum trace_masquerade masquerade;
    struct nat_endpoint picked; /* this time; IP_NONE: none */
    struct trace_flow flow;
    struct trace_egress egress;
    VEC(struct trace_step) steps;
    bool failed; /* memory ran out while something was told */
};
void trace_done(struct trace *trace);

/* Adds a sentence. */
void trace_tell(struct trace *trace, const char *title, const char *format, ...) PRINTF_LIKE(3, 4);

/*
 * Who sees the packet behind service NAT: it has come in by `ifindex`, and is as in `question` now.
 * Returns 1 if it goes no further by the stack, with the story told to its end; 0 if it does; or
 * -errno.
 */
struct trace_next {
    int (*follow)(void *context, const struct trace_question *question, uint32_t ifindex,
                  struct trace *trace);
    void *context;
    const nat_attachment_list *attached; /* its programs, sorted */
};

/*
 * Returns 0 or -errno: -ENODEV there is no interface `in`; -EADDRNOTAVAIL it is not given, and
 * there is no uplink; -EOPNOTSUPP service NAT and egress are off.
 */
typedef int (*trace_function)(void *context, const struct trace_question *question,
                              struct trace *ret_trace);
