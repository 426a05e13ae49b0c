/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces of the mirror: from a dump, and from each notification. */
#pragma once

#include <stdbool.h>

#include "apply/netlink/nl.h"
#include "base/sorted.h"
#include "plan/link_table.h"

/* False for a message that is malformed, partial, or of a bridge's ports only. */
bool decode_link(const struct nlmsghdr *message, struct link *ret_link);
/* False for a message that is malformed, or of an address that ip_is_special(). */
bool decode_link_address(const struct nlmsghdr *message, struct link_address *ret_address);

/* struct link by link_cmp(). Returns 0, or -errno with the output untouched. */
int dump_links(struct nl_socket *socket, struct sorted *ret_links);

/*
 * Plays an RTM_NEWLINK or RTM_DELLINK onto the table; playing it twice does no harm. Returns 1 if
 * something of the table changed, 0, or -ENOMEM.
 */
int links_hear(struct sorted *links, const struct nlmsghdr *message);

/* True if two tables hold the same interfaces, with all that is known of them. */
bool links_equal(const struct sorted *a, const struct sorted *b);

/*
 * Of a message about a filter or a qdisc. Programs may hang in clsact; every interface has other
 * qdiscs, which come and go with it. A filter that comes matters if it gets packets before ours.
 */
bool links_filter_matters(const struct nlmsghdr *message);
