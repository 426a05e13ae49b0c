/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The egress engine: keeps the maps and programs that send pods' packets to gateways, and those of
 * a gateway, in line with the objects. It is a row of the table of engines.
 */
#pragma once

#include "apply/egress/datapath.h"
#include "apply/egress/gateway/gateway.h"
#include "engine/engine.h"
#include "plan/egress/egress.h"
#include "plan/nat/trace.h"

extern const struct engine_ops egress_engine_ops;

/* What the API reads of the engine with these operations. Borrowed. */

/* The last plan; NULL: neither side of egress is active here. */
const struct egress_plan *egress_engine_plan(const struct engine *engine);
/* The maps of the two sides; NULL: that side is off or could not be opened. */
const struct egress_datapath *egress_engine_datapath(const struct engine *engine);
const struct egress_gate *egress_engine_gate(const struct engine *engine);
/* Whether the client's programs are attached to a pod's interface, or no pod here needs them. */
bool egress_engine_carries(const struct engine *engine, uint32_t ifindex);
/* The trace step behind service NAT's program. False: neither side is active here. */
bool egress_engine_behind(struct engine *engine, struct trace_next *ret_next);
