/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of the routes that others change, those that matter to somebody: which lead, or led, to one of a
 * few addresses. Of a routing table in upheaval nothing else is looked at.
 */
#pragma once

#include <stdbool.h>

#include <libmnl/libmnl.h>

#include "base/net/ip.h"
#include "base/sorted.h"

/* Whether an RTM_NEWROUTE or RTM_DELROUTE is about a network that has one of the addresses
 * (struct ip by ip_cmp()). */
bool watch_hears(const struct sorted *addresses, const struct nlmsghdr *message);

/*
 * The network that a route's message is about. False of what is no route of a table: answers of the
 * cache, addresses of this node.
 */
bool watch_network(const struct nlmsghdr *message, struct prefix *ret_network);
