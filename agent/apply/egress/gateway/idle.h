/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Releases blocks of source ports that no flow uses any more; a client keeps its first block. The
 * sweep counts the flows. Internal to apply/egress/.
 */
#pragma once

#include "apply/egress/gateway/gateway_inside.h"

/* Starts counting at the sweep's next round. Returns 0 or -ENOMEM. */
int egress_idle_start(struct egress_gate *gate);
void egress_idle_done(struct egress_gate *gate);
