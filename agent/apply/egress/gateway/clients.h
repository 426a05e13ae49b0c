/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clients of a gateway in its maps: their addresses and ids, and the flows and blocks of ports
 * that are removed with them. Internal to apply/egress/.
 */
#pragma once

#include "apply/egress/gateway/gateway_inside.h"

/* Reads what an earlier agent has left. Returns 0 or -errno. */
int egress_clients_adopt(struct egress_gate *gate);
void egress_clients_done(struct egress_gate *gate);

/* nat_clientless_judge of a gate, `context`. */
bool egress_client_is_clientless(const struct nat_flow *flow, const void *context);

/*
 * Called when the layout of ports differs from gate->layout: clients that have a block which
 * differs lose all their flows and blocks, and start again. Then `layout` becomes gate->layout.
 * Returns the number of these clients, or -errno; then it has to be called again.
 */
int egress_clients_lay_out(struct egress_gate *gate, const struct egress_layout *layout);
