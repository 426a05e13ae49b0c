/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of the Beacons: a blackhole route for each, in a table of their own. */
#pragma once

#include "engine/engine.h"

extern const struct engine_ops beacon_engine_ops;
