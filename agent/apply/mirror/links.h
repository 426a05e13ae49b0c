/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces of the mirror: from a dump, and from notifications. */
#pragma once

#include <stdbool.h>

#include "apply/netlink/nl.h"
#include "base/sorted.h"
#include "plan/link_table.h"

/* False for a message that is malformed, partial, or only about a bridge port. */
bool decode_link(const struct nlmsghdr *message, struct link *ret_link);
/* False for a message that is malformed, or about an address that ip_is_special(). */
bool decode_link_address(const struct nlmsghdr *message, struct link_address *ret_address);

/* struct link by link_cmp(). Returns 0, or -errno with the output unchanged. */
int dump_links(struct nl_socket *socket, struct sorted *ret_links);

/*
 * Applies an RTM_NEWLINK or RTM_DELLINK to the table; applying it twice does no harm. Returns 1 if
 * the table changed, 0, or -ENOMEM.
 */
int links_hear(struct sorted *links, const struct nlmsghdr *message);

/* True if two tables hold the same interfaces with the same values. */
bool links_equal(const struct sorted *a, const struct sorted *b);

/*
 * For a message about a filter or a qdisc. Programs may be attached to clsact; other qdiscs exist
 * on every interface and are created and deleted with it. A new filter matters if it gets packets
 * before ours.
 */
bool links_filter_matters(const struct nlmsghdr *message);
