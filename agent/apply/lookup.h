/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel would do with one packet: its own route lookup, rules and all. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/netlink/nl.h"
#include "plan/routes/route_table.h"

struct route_query {
    struct ip destination;
    struct ip source; /* IP_NONE: the kernel's choice; needed with `ifindex` for IPv4 */
    uint32_t ifindex; /* where the packet comes in; 0: it is this node's own */
};

struct route_found {
    uint8_t type;     /* RTN_UNICAST, RTN_LOCAL, RTN_UNREACHABLE ... */
    uint32_t ifindex; /* where it leaves; 0: nowhere */
    bool refused;     /* by a route that says so, and not for want of one */
};

/*
 * Returns 0 or -errno. That there is no route, or one that refuses, is an answer: RTN_UNREACHABLE,
 * RTN_PROHIBIT, RTN_BLACKHOLE. So is that the source can't come from there.
 */
int route_lookup(struct nl_socket *socket, const struct route_query *query,
                 struct route_found *ret_found);

/* Whether a packet of this node's own would leave for an address, or arrive on this node. Returns 0
 * or -errno (the socket failed). */
int route_reaches(struct nl_socket *socket, const struct ip *address, bool *ret_reaches);

/* Whether any ip rule of a family looks a table up. Returns 0 or -errno. */
int rules_look_up(struct nl_socket *socket, uint8_t family, uint32_t table, bool *ret_looks_up);

/* Finds the route by which a packet of this node's own would go, in whatever table. Returns 1; 0 if
 * there is none, or one that refuses; or -errno. */
int route_matched(struct nl_socket *socket, const struct ip *address, struct route *ret_route);
