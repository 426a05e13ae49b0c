/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the routes: plans the dirty rows, compares the plan with the kernel's mirror, and
 * writes the difference.
 */
#pragma once

#include "engine/routes/route_state.h"

/*
 * Executes one pass over what `work` names. Returns the number of operations requested from the
 * kernel, or -errno when the pass could not be completed (memory, netlink socket). What was done
 * until then stays and is counted; a pass over everything must follow.
 */
int route_pass(struct route_engine *engine, struct route_work *work, int64_t now_ms);
