/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes of the main table as the CNI plugin requests them: to a prefix by a link, with or without
 * a gateway. apply/mirror/write.h writes the agent's routes.
 */
#pragma once

#include <stdint.h>

#include "apply/netlink/nl.h"
#include "base/net/ip.h"
#include "base/vec.h"

struct nl_route {
    struct prefix to; /* of length 0: the default route */
    struct ip via;    /* IP_NONE: on-link */
    uint32_t ifindex;
};

typedef VEC(struct nl_route) nl_route_list;

/*
 * Adds one. Returns 0, -EEXIST if there is a route to this prefix, -ENETUNREACH if the gateway
 * can't be reached by the link, -ENETDOWN, -ENODEV, or -errno; `result` (may be NULL) has the
 * kernel's error text.
 */
int nl_route_add(struct nl_socket *socket, const struct nl_route *route, struct nl_result *result);

/*
 * Reads the routes of a link (both families, all tables), without those that the kernel creates.
 * The caller frees the list by vec_done(). Returns 0 or -errno with the list unchanged.
 */
int nl_route_dump(struct nl_socket *socket, uint32_t ifindex, nl_route_list *ret_routes);
