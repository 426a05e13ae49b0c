/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of source ports that no flow uses any more go back to whom they may serve: a client keeps
 * the first. The sweep counts. Internal to apply/egress/.
 */
#pragma once

#include "apply/egress/gateway/gateway_inside.h"

/* Counts from the sweep's next round on. Returns 0 or -ENOMEM. */
int egress_idle_start(struct egress_gate *gate);
void egress_idle_done(struct egress_gate *gate);
