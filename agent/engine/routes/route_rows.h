/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the dirty rows of a pass over the routes again. */
#pragma once

#include "engine/routes/route_state.h"

/*
 * Brings engine->plan up to date with what work names, and fills work->slots with the slots to be
 * compared (not for a pass over everything). Returns 0, or -ENOMEM: then everything must be planned
 * again, since slots or faults of new rows may be missing.
 */
int route_rows_replan(struct route_engine *engine, struct route_work *work, int64_t now_ms);
