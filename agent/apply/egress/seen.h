/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the live maps of egress for documents and metrics: drops, packets sent to gateways, and on
 * a gateway its clients' use and ports.
 */
#pragma once

#include "apply/egress/datapath.h"
#include "apply/egress/gateway/gateway.h"
#include "status/egress_status.h"

/* Returns each cause that has occurred, and their number. */
size_t egress_datapath_refusals(const struct egress_datapath *datapath,
                                struct egress_refusal ret[static EGRESS_CAUSE_COUNT]);
size_t egress_gate_refusals(const struct egress_gate *gate,
                            struct egress_refusal ret[static EGRESS_CAUSE_COUNT]);

/* Returns how many packets this node has sent to a gateway of an Egress since the gateway is in
 * the set. */
uint64_t egress_datapath_sent(const struct egress_datapath *datapath, const char *egress,
                              const struct ip *gateway);

/* False: it is no client. */
bool egress_gate_client_use(const struct egress_gate *gate, const struct ip *address,
                            struct egress_client_use *ret_use);
void egress_gate_use(const struct egress_gate *gate, struct egress_gateway_use *ret_use);
/* Returns the owners of the blocks of source ports (idle.c). */
void egress_gate_holders(const struct egress_gate *gate, struct egress_holders *ret_holders);
