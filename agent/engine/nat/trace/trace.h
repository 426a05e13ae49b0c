/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces what happens to one packet, by querying the live maps, the hooks and the kernel's routes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "apply/nat/datapath.h"
#include "apply/nat/hooks/hooks.h"
#include "apply/netlink/nl.h"
#include "base/sorted.h"
#include "plan/nat/trace.h"

/* All borrowed. */
struct tracer {
    struct nat_datapath *datapath;            /* NULL: service NAT is off */
    struct nl_socket *socket;                 /* for queries */
    const struct nat_attachment *attachments; /* where programs are wanted, sorted */
    size_t attachment_count;
    uint32_t svc0_ifindex;
    const struct sorted *links;    /* struct link: this node's interfaces; NULL: unknown */
    const struct sorted *rows;     /* struct nat_row *: the plan, for names and limits */
    const struct trace_next *next; /* NULL: no step behind service NAT */
};

/* A trace_function; the caller frees `ret_trace`. */
int trace_packet(const struct tracer *tracer, const struct trace_question *question,
                 struct trace *ret_trace);
