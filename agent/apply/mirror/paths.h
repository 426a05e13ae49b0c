/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the kernel's routes lead, by interface: struct link_path, from a dump of all tables and
 * from notifications. A million routes by one gateway are one way.
 *
 * A way that was seen stays until its interface goes, or until everything is dumped again: what
 * interfaces are shall not follow each session of a routing daemon that flaps. Only where default
 * routes lead is told as it is (PATH_DEFAULT, PATH_ROUTER), and whether there are routes by a
 * router (PATH_VIA) as it was when a default route last came or went.
 */
#pragma once

#include "apply/netlink/nl.h"
#include "base/sorted.h"
#include "plan/link_table.h"

/* struct link_path by link_path_cmp(). Returns 0, or -errno with the output untouched. */
int dump_paths(struct nl_socket *socket, struct sorted *ret_paths);

/* Plays an RTM_NEWROUTE onto the table. Returns 1 if it told something new, 0, or -ENOMEM. */
int paths_hear(struct sorted *paths, const struct nlmsghdr *message);

/* Whether a default route may lead elsewhere now, or nowhere: the dump tells. */
bool paths_may_end(const struct nlmsghdr *message);
/* The same of an interface that routes to routers lead out of, and that goes down or comes up. */
bool paths_may_move(const struct sorted *paths, const struct sorted *links,
                    const struct link *link);
/* Takes over which default routes there are from a fresh dump. Returns 1 if they are others, 0, or
 * -ENOMEM. */
int paths_take_defaults(struct sorted *paths, const struct sorted *fresh);

/* Forgets those of an interface that is gone. */
void paths_forget(struct sorted *paths, uint32_t ifindex);

/*
 * Adds to a fresh dump what led by interfaces that are down: such a one has no routes, and is what
 * it was. Returns 0 or -ENOMEM.
 */
int paths_keep_down(const struct sorted *paths, const struct sorted *links, struct sorted *fresh);
