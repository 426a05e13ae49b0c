/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The networks to which the kernel's routes lead, by outgoing interface: struct link_path, from a
 * dump of all tables and from notifications. A million routes by one gateway are one path.
 *
 * A path stays until its interface is deleted, or until everything is dumped again: the
 * classification of interfaces must not follow each flapping session of a routing daemon. Only
 * default routes are always current (PATH_DEFAULT, PATH_ROUTER); whether there are routes by a
 * router (PATH_VIA) is as of the last change of a default route.
 */
#pragma once

#include "apply/netlink/nl.h"
#include "base/sorted.h"
#include "plan/link_table.h"

/* struct link_path by link_path_cmp(). Returns 0, or -errno with the output unchanged. */
int dump_paths(struct nl_socket *socket, struct sorted *ret_paths);

/* Applies an RTM_NEWROUTE to the table. Returns 1 if the table changed, 0, or -ENOMEM. */
int paths_hear(struct sorted *paths, const struct nlmsghdr *message);

/* Whether a default route may have changed or ended: then a dump is needed. */
bool paths_may_end(const struct nlmsghdr *message);
/* The same for an interface with routes to routers that is set down or up. */
bool paths_may_move(const struct sorted *paths, const struct sorted *links,
                    const struct link *link);
/* Copies the default routes from a fresh dump. Returns 1 if they have changed, 0, or -ENOMEM. */
int paths_take_defaults(struct sorted *paths, const struct sorted *fresh);

/* Removes the paths of a deleted interface. */
void paths_forget(struct sorted *paths, uint32_t ifindex);

/*
 * Adds the paths by interfaces that are down to a fresh dump: such an interface has no routes, and
 * keeps its classification. Returns 0 or -ENOMEM.
 */
int paths_keep_down(const struct sorted *paths, const struct sorted *links, struct sorted *fresh);
