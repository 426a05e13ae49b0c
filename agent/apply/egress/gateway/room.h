/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a gateway has room for new connections again, after some were refused. */
#pragma once

#include "apply/egress/gateway/gateway.h"
#include "apply/nat/flows/room.h"
#include "status/egress_status.h"

/* Checks the causes in a gateway's refusals that mean no room: no ports, no blocks of ports, or
 * no places for flows; other causes do not count. `at`: as of nat_datapath_find_port(). */
enum nat_room egress_gate_find_room(const struct egress_gate *gate,
                                    const struct egress_refusal *refusal, uint32_t *at);
