/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to one packet: the question that `agentctl trace` asks and the story that answers
 * it, as plain values. The NAT engine finds the answer (engine/nat/trace.c), the API prints it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/protocol.h"
#include "base/vec.h"
#include "plan/nat_table.h"

struct trace_question {
    const char *in; /* an interface, or "host"; NULL: where the source would come from */
    struct ip source, destination; /* of one family */
    uint16_t source_port;          /* 0: any; then there is no flow to look for */
    uint16_t destination_port;
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
    VEC(struct trace_step) steps;
};
void trace_done(struct trace *trace);

/*
 * Returns 0 or -errno: -ENODEV there is no interface `in`; -EADDRNOTAVAIL it is not given, and
 * there is no uplink; -EOPNOTSUPP service NAT is off.
 */
typedef int (*trace_function)(void *context, const struct trace_question *question,
                              struct trace *ret_trace);
