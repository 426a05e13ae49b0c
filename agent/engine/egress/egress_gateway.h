/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway's side of the egress engine: the datapath of flows, the program, who its clients are,
 * and where they reach it. Internal to engine/egress/.
 */
#pragma once

#include "apply/egress/gateway/gateway.h"
#include "engine/egress/egress_drain.h"
#include "engine/engine.h"
#include "plan/egress/egress.h"

struct egress_gateway_side {
    struct nat_datapath *own; /* where service NAT is off: the flows */
    struct egress_gate *gate; /* NULL: this node is no gateway, or it can't be had */
    struct egress_gate_settings settings;
    int64_t sweep_ms; /* monotonic; of `own`, the next slice */
    int64_t tell_ms;  /* monotonic; when the journal is told next */
    struct egress_drain drain;
    int64_t drain_ms;   /* monotonic; when it may go further */
    int64_t retired_ms; /* monotonic; until then it is no fault that it serves no Egress; 0: over */
};

/* Opens the datapath; `nat` is service NAT's, or NULL. Returns 0 or -errno with a fault. */
int egress_gateway_open(struct egress_gateway_side *side, const struct config *config,
                        struct nat_datapath *nat, struct faults *faults);
void egress_gateway_close(struct egress_gateway_side *side);

/* Takes away what an earlier agent has left of a gateway. Returns how much, or -errno. */
int egress_gateway_take_down(const struct config *config);

/* Finds out where clients reach this node, and tells the program. Returns 0 or -errno. */
int egress_gateway_follow(struct egress_gateway_side *side, const struct node_facts *facts,
                          struct kernel *kernel, struct faults *faults);

/* Goes on with a drain, as the agent stands. */
void egress_gateway_drain(struct egress_gateway_side *side, const struct config *config,
                          enum standing standing, int64_t now_ms);
/* When that is to be done again; INT64_MAX: not before something changes. */
int64_t egress_gateway_drain_ms(const struct egress_gateway_side *side);

/* Notes whether it serves Egresses. A gateway of which the last one was taken is on its way out of
 * service, and has its time for a drain to get there. Returns whether it is on that way. */
bool egress_gateway_retires(struct egress_gateway_side *side, const struct config *config,
                            const struct egress_plan *plan, int64_t now_ms);
/* When that way ends; INT64_MAX: it serves some, or has been out of service. */
int64_t egress_gateway_retired_ms(const struct egress_gateway_side *side,
                                  const struct egress_plan *plan);

/* What is due of a slice of the sweep, and of telling the journal who got ports. Returns when to
 * call again (monotonic); INT64_MAX: never, for there is no gateway. */
int64_t egress_gateway_tend(struct egress_gateway_side *side, int64_t now_ms);
