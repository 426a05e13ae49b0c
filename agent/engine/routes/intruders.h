/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes that BIRD itself writes into the table that it is to read: its kernel protocol exports
 * routes learned elsewhere, and would import them again as if they were this node's.
 */
#pragma once

#include "engine/routes/route_state.h"

/* Checks the table if it changed or the work is over everything. Returns 0 or -errno. */
int intruders_judge(struct route_engine *engine, const struct route_work *work);
