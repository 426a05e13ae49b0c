/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of conflicts: what other nodes or Services have of this node's addresses and networks
 * of pods, and advertisements of nothing, as faults (plan/conflicts/node_conflicts.h,
 * plan/conflicts/advertisement_conflicts.h). It writes nothing.
 */
#pragma once

#include "engine/engine.h"

extern const struct engine_ops conflict_engine_ops;
