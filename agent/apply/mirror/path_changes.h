/* SPDX-License-Identifier: Apache-2.0 */
/* What notifications tell of ways: networks to which the routes are others now. */
#pragma once

#include "apply/mirror/kernel.h"

/* Of an RTM_NEWROUTE or RTM_DELROUTE. Returns 0 or -ENOMEM. */
int path_changes_of_route(struct kernel_events *events, const struct nlmsghdr *message);

/*
 * Of an RTM_NEWLINK or RTM_DELLINK, before `ways` (struct link_path) and `links` follow it: what
 * led by an interface that went, or that is up or down now. Returns 0 or -ENOMEM.
 */
int path_changes_of_link(struct kernel_events *events, const struct sorted *paths,
                         const struct sorted *links, const struct nlmsghdr *message,
                         const struct link *link);
