/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of the routes: the export table that BIRD reads, the guards that keep what this node
 * announces from looping, and the routes that lead service addresses to svc0.
 */
#pragma once

#include "engine/engine.h"
#include "plan/routes.h"

extern const struct engine_ops route_engine_ops;

/* What stands planned, for the API's documents. Borrowed; the engine is one of route_engine_ops. */
const struct route_plan *route_engine_plan(const struct engine *engine);
