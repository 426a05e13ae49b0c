/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a gateway's own address may leave by each of its uplinks. Pure, like routes.h. */
#pragma once

#include "base/fault.h"
#include "base/net/ip.h"
#include "plan/link_table.h"

/* The values of the kernel mirror. */
struct gateway_uplinks {
    const struct sorted *links;     /* struct link */
    const struct sorted *paths;     /* struct link_path */
    const struct sorted *addresses; /* struct link_address */
};

/*
 * Adds a fault for each next hop of the default route by whose interface `source` leaves with a
 * foreign address: `source` is an address of another next hop's interface, and this interface has
 * one of its own.
 */
void plan_gateway_uplinks(const struct gateway_uplinks *uplinks, const struct ip *source,
                          struct faults *faults);
