/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes rtnetlink messages into routes, rules and prefixes. Each function returns false for a
 * message that is malformed or irrelevant, and then leaves its output unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

#include "base/net/ip.h"
#include "plan/routes/route_table.h"

/* True if packets can leave by the route, so that the kernel may delete it without a
 * notification. */
bool route_forwards(const struct route *route);

bool decode_route(const struct nlmsghdr *message, struct route *ret_route);
bool decode_rule(const struct nlmsghdr *message, struct rule *ret_rule);

/* An interface's address as host prefix, and its network. */
bool decode_address(const struct nlmsghdr *message, struct prefix *ret_host,
                    struct prefix *ret_network);
