/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's route lookup for one packet, including rules. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/netlink/nl.h"
#include "plan/routes/route_table.h"

struct route_query {
    struct ip destination;
    struct ip source; /* IP_NONE: the kernel's choice; needed with `ifindex` for IPv4 */
    uint32_t ifindex; /* the interface by which the packet arrives; 0: this node sends it */
};

struct route_found {
    uint8_t type;     /* RTN_UNICAST, RTN_LOCAL, RTN_UNREACHABLE ... */
    uint32_t ifindex; /* the outgoing interface; 0: none */
    bool refused;     /* by a route of that type, not for lack of a route */
};

/*
 * Returns 0 or -errno. A missing route, or a route that refuses, is a result: RTN_UNREACHABLE,
 * RTN_PROHIBIT, RTN_BLACKHOLE. So is a source that is not valid on that interface.
 */
int route_lookup(struct nl_socket *socket, const struct route_query *query,
                 struct route_found *ret_found);

/* Whether a packet of this node would leave for an address, or be delivered to this node.
 * Returns 0 or -errno (the socket failed). */
int route_reaches(struct nl_socket *socket, const struct ip *address, bool *ret_reaches);

/* Whether any ip rule of a family uses a table. Returns 0 or -errno. */
int rules_look_up(struct nl_socket *socket, uint8_t family, uint32_t table, bool *ret_looks_up);

/* Finds the route for a packet of this node, in any table. Returns 1; 0 if there is none, or one
 * that refuses; or -errno. */
int route_matched(struct nl_socket *socket, const struct ip *address, struct route *ret_route);
