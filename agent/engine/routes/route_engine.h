/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routes engine. It owns our routes and rules in the kernel: the export table that BIRD reads,
 * the guards that prevent forwarding loops of packets to announced addresses, and the svc0 routes,
 * which send packets for service addresses to svc0.
 */
#pragma once

#include "engine/engine.h"
#include "plan/routes/routes.h"

extern const struct engine_ops route_engine_ops;

/* The plan in force, for the API's documents. Borrowed; the engine is one of route_engine_ops. */
const struct route_plan *route_engine_plan(const struct engine *engine);
