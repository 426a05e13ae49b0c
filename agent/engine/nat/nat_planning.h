/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the dirty Services of a round. Each one whose row changed becomes an update, which is kept
 * until it is written (nat_updates.h).
 */
#pragma once

#include "engine/nat/nat_state.h"

/*
 * Plans the Services that engine->work names into engine->turns. Adds the addresses that lose
 * service, and every address of a Service that changed, to the round. Returns 0, or -ENOMEM with no
 * updates.
 */
int nat_updates_plan(struct nat_engine *engine, struct round *round);
