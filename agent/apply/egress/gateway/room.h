/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a gateway has room for new connections, where some were refused. */
#pragma once

#include "apply/egress/gateway/gateway.h"
#include "apply/nat/flows/room.h"
#include "status/egress_status.h"

/* Of want of ports, of blocks of them or of places for flows, the causes in the refusals of a
 * gateway; others are no want of room. `at`: as of nat_datapath_find_port(). */
enum nat_room egress_gate_find_room(const struct egress_gate *gate,
                                    const struct egress_refusal *refusal, uint32_t *at);
