/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What egress does by the clock, beside its passes: it looks for what a gateway refuses for want of
 * room, for programs that somebody has taken away, and for pins of maps that are gone, which it
 * makes again; it tells the journal of blocks that were given, and sweeps the flows where there is
 * no service NAT. Internal to engine/egress/.
 */
#pragma once

#include "engine/egress/egress_state.h"

/* Begins, where a side of egress works. Returns 0 or -errno. */
int egress_upkeep_start(struct egress_engine *egress, const struct engine_setup *setup);
void egress_upkeep_done(struct egress_engine *egress);
