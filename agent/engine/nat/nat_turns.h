/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what was planned into the maps, and has it proved. */
#pragma once

#include "engine/nat/nat_state.h"

/*
 * Carries out engine->turns, which are gone afterwards, and whatever else the round is about.
 * Proves what was written as far as a slice goes, and adds the addresses whose proof changed to
 * the round. Returns 0 or -errno: then everything must be planned again.
 */
int nat_turns_write(struct nat_engine *engine, struct round *round);
