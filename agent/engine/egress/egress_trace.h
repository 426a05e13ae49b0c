/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `agentctl trace` shows of egress: behind service NAT's program, a pod's packet reaches the
 * clients' program, and a packet that enters by an uplink of a gateway reaches the gateway's
 * program. Internal to engine/egress/.
 */
#pragma once

#include "apply/nat/proof/packet.h"
#include "engine/egress/egress_state.h"
#include "plan/nat/trace.h"
#include "status/egress_status.h"

/* The follow() of a struct trace_next; the context is the engine. */
int egress_trace(void *context, const struct trace_question *question, uint32_t ifindex,
                 struct trace *trace);

/*
 * The gateway's part. `ifindex`: an uplink, or lo for a pod of this node. Returns the same as
 * egress_trace().
 */
int egress_trace_gateway(const struct egress_engine *egress, const struct trace_question *question,
                         uint32_t ifindex, struct trace *trace);

/* Records that the packet is dropped, and why. */
void egress_trace_drop(struct trace *trace, enum egress_cause cause);
/* The packet of a question in the form that the program takes. */
struct nat_packet egress_trace_packet(const struct trace_question *question);

enum { PLACE_STRLEN = 64 };
/* "10.0.0.1:80", "[fd00::1]:80". Returns `buffer`. */
const char *egress_trace_place(const struct nat_endpoint *place, char buffer[static PLACE_STRLEN]);
/* The interface's name, or "an interface that is gone". */
const char *egress_trace_interface(uint32_t ifindex, char buffer[static 16]);
