/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Periodic work of egress outside its passes: it checks what a gateway refuses for want of room,
 * which programs another program has detached, and which pins of maps are missing and have to be
 * made again. It reports allocated port blocks to the journal, and sweeps the flows where service
 * NAT is off. Internal to engine/egress/.
 */
#pragma once

#include "engine/egress/egress_state.h"

/* Starts the work if a side of egress is active. Returns 0 or -errno. */
int egress_upkeep_start(struct egress_engine *egress, const struct engine_setup *setup);
void egress_upkeep_done(struct egress_engine *egress);
