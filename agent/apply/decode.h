/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnetlink messages into routes, rules and prefixes. Each returns false for a message that is
 * malformed or of no concern, and leaves its output alone then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

#include "base/ip.h"
#include "plan/route_table.h"

/* True if the mirror holds such routes. */
bool route_is_mirrored(const struct route *route, uint32_t export_table);

/* True if packets can leave by the route, so that the kernel may drop it without a word. */
bool route_forwards(const struct route *route);

/*
 * A look at the fixed part alone, for the flood of the main table's notifications: false if
 * neither the route nor one that it replaces can be mirrored.
 */
bool decode_route_matters(const struct nlmsghdr *message, uint32_t export_table);

bool decode_route(const struct nlmsghdr *message, struct route *ret_route);
bool decode_rule(const struct nlmsghdr *message, struct rule *ret_rule);

/* An interface's address as host prefix, and its network. */
bool decode_address(const struct nlmsghdr *message, struct prefix *ret_host,
                    struct prefix *ret_network);
