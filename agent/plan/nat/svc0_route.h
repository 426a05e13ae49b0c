/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes to svc0: with NAT on, this node's own packets to service addresses are routed to svc0.
 * Networks of ClusterIPs have one route each; every other address that NAT serves has its own route
 * (address_row.h).
 */
#pragma once

#include "base/fault.h"
#include "plan/facts.h"

/* Where packets to an address or network are routed while NAT is on; unused with NAT off. */
struct svc0_route {
    uint32_t ifindex; /* svc0's; 0: not routed */
    struct ip source; /* of the node's own packets; IP_NONE: the kernel selects one */
};

/* A network of ClusterIPs that is routed to svc0 as a whole. */
struct net_row {
    struct prefix prefix;
    struct svc0_route svc0_route;
};

int net_row_cmp(const void *a, const void *b);

/* The route to svc0 of a family's service addresses, by these facts. */
struct svc0_route svc0_route_of(const struct node_facts *facts, uint8_t family);

/* True if the address is in a network that plan_nets() routes as a whole, while NAT is on. */
bool svc0_route_covers(const struct node_facts *facts, const struct ip *address);

/*
 * The rows of services.serviceCIDRs, none while NAT is off. One that overlaps a network of this
 * node is a fault: its route would redirect the node's packets to neighbours. Returns 0 or -ENOMEM.
 */
int plan_nets(const struct node_facts *facts, struct sorted *ret_rows, struct faults *faults);
