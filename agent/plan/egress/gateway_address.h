/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source addresses that this node, as an egress gateway, assigns to its clients' packets: which
 * they are, and whether they are announced and have a guard. Only configured ones need a route;
 * this node's own addresses are already reachable.
 */
#pragma once

#include "plan/routes/address_row.h"

/* The addresses that egress.gateway.addresses names; none if this node is no gateway. */
const ip_list *gateway_addresses(const struct config *config);

/* True if it is one of them. */
bool gateway_has_address(const struct config *config, const struct ip *address);

/*
 * The row of such an address that no Service names. `*ret_row` is NULL if this node has it on an
 * interface. If it can't be announced at all, a fault reports why. Returns 0 or -ENOMEM.
 */
int plan_gateway_address(const struct route_inputs *inputs, const struct ip *address,
                         struct address_row **ret_row, struct faults *faults);

/*
 * Reports that a Service names it too: the Service has its ports, and decides about its
 * announcement.
 */
void gateway_address_shared(const struct ip *address, const struct object *service,
                            struct faults *faults);
