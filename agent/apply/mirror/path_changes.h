/* SPDX-License-Identifier: Apache-2.0 */
/* Networks whose routes have changed, from notifications. */
#pragma once

#include "apply/mirror/kernel.h"

/* For an RTM_NEWROUTE or RTM_DELROUTE. Returns 0 or -ENOMEM. */
int path_changes_of_route(struct kernel_events *events, const struct nlmsghdr *message);

/*
 * For an RTM_NEWLINK or RTM_DELLINK, before `paths` (struct link_path) and `links` are updated:
 * adds the paths by an interface that was deleted, set up or set down. Returns 0 or -ENOMEM.
 */
int path_changes_of_link(struct kernel_events *events, const struct sorted *paths,
                         const struct sorted *links, const struct nlmsghdr *message,
                         const struct link *link);
