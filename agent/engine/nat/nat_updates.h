/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the updates of a round into the maps, and starts proving them. */
#pragma once

#include "engine/nat/nat_state.h"

/*
 * Executes and empties engine->turns, and does all other work of the round. Proves one slice of
 * what was written, and adds the addresses whose proof changed to the round. Returns 0, or -errno;
 * then everything must be planned again.
 */
int nat_updates_write(struct nat_engine *engine, struct round *round);
