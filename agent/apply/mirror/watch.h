/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects, of the routes that other programs change, those that lead, or led, to one of a few
 * addresses. All other changes of a large routing table are ignored.
 */
#pragma once

#include <stdbool.h>

#include <libmnl/libmnl.h>

#include "base/net/ip.h"
#include "base/sorted.h"

/* Whether an RTM_NEWROUTE or RTM_DELROUTE is about a network that contains one of the addresses
 * (struct ip by ip_cmp()). */
bool watch_hears(const struct sorted *addresses, const struct nlmsghdr *message);

/*
 * The network of a route's message. False for a message that is not about a route of a table:
 * entries of the cache, addresses of this node.
 */
bool watch_network(const struct nlmsghdr *message, struct prefix *ret_network);
