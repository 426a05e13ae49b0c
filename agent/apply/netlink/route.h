/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes of the table main as the requests of the CNI plugin want them: to a prefix by a link, with
 * a gateway or without. The agent's own routes are written by apply/mirror/write.h.
 */
#pragma once

#include <stdint.h>

#include "apply/netlink/nl.h"
#include "base/net/ip.h"
#include "base/vec.h"

struct nl_route {
    struct prefix to; /* of length 0: all that no other route has */
    struct ip via;    /* IP_NONE: they are on the link */
    uint32_t ifindex;
};

typedef VEC(struct nl_route) nl_route_list;

/*
 * Adds one. Returns 0, -EEXIST if there is one to this prefix, -ENETUNREACH if the gateway can't be
 * reached by the link, -ENETDOWN, -ENODEV, or -errno; `result` (may be NULL) has the kernel's own
 * words.
 */
int nl_route_add(struct nl_socket *socket, const struct nl_route *route, struct nl_result *result);

/*
 * Reads those of a link (both families, all tables), without what the kernel makes for itself. The
 * caller ends the list by vec_done(). Returns 0 or -errno with the list untouched.
 */
int nl_route_dump(struct nl_socket *socket, uint32_t ifindex, nl_route_list *ret_routes);
