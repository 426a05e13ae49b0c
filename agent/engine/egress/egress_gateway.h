/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway's side of the egress engine: the datapath of flows, the program, the list of its
 * clients, and the addresses at which clients reach it. Internal to engine/egress/.
 */
#pragma once

#include "apply/egress/gateway/gateway.h"
#include "engine/egress/egress_drain.h"
#include "engine/engine.h"
#include "plan/egress/egress.h"

struct egress_gateway_side {
    struct nat_datapath *own; /* the flows, where service NAT is off */
    struct egress_gate *gate; /* NULL: this node is no gateway, or it failed to open */
    struct egress_gate_settings settings;
    int64_t sweep_ms; /* monotonic; next slice of the sweep of `own` */
    int64_t tell_ms;  /* monotonic; next report to the journal */
    struct egress_drain drain;
    int64_t drain_ms;   /* monotonic; when the drain may advance */
    int64_t retired_ms; /* monotonic; until then serving no Egress is no fault; 0: elapsed */
};

/* Opens the datapath; `nat` is service NAT's, or NULL. Returns 0 or -errno with a fault. */
int egress_gateway_open(struct egress_gateway_side *side, const struct config *config,
                        struct nat_datapath *nat, struct faults *faults);
void egress_gateway_close(struct egress_gateway_side *side);

/*
 * Removes what an earlier agent left of a gateway. Returns the number of objects removed, or
 * -errno.
 */
int egress_gateway_take_down(const struct config *config);

/*
 * Determines at which addresses clients reach this node, and writes them for the program. Returns 0
 * or -errno.
 */
int egress_gateway_follow(struct egress_gateway_side *side, const struct node_facts *facts,
                          struct kernel *kernel, struct faults *faults);

/* Advances a drain according to the state of the agent. */
void egress_gateway_drain(struct egress_gateway_side *side, const struct config *config,
                          enum standing standing, int64_t now_ms);
/* When the drain is to be advanced again; INT64_MAX: not before something changes. */
int64_t egress_gateway_drain_ms(const struct egress_gateway_side *side);

/* Notes whether the gateway serves Egresses. A gateway whose last Egress is removed leaves service,
 * and has the time of a drain for this. Returns whether it is leaving. */
bool egress_gateway_retires(struct egress_gateway_side *side, const struct config *config,
                            const struct egress_plan *plan, int64_t now_ms);
/* When this time ends; INT64_MAX: the gateway serves some Egress, or has left service. */
int64_t egress_gateway_retired_ms(const struct egress_gateway_side *side,
                                  const struct egress_plan *plan);

/* Does what is due: a slice of the sweep, and the report of allocated port blocks to the journal.
 * Returns when to call again (monotonic); INT64_MAX: never, because there is no gateway. */
int64_t egress_gateway_tend(struct egress_gateway_side *side, int64_t now_ms);
