/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lead: with NAT on, routes lead what this node's packets are to reach through NAT to svc0.
 * Networks of ClusterIPs are led as a whole; every other address that NAT serves has a route of its
 * own (address_row.h).
 */
#pragma once

#include "base/fault.h"
#include "plan/facts.h"

/* Where packets to an address or network are led while NAT is on; with NAT off, nowhere. */
struct svc0_route {
    uint32_t ifindex; /* svc0's; 0: they are not led */
    struct ip source; /* of the node's own packets; IP_NONE: the kernel chooses */
};

/* A network of ClusterIPs that is led to svc0 as a whole. */
struct net_row {
    struct prefix prefix;
    struct svc0_route svc0_route;
};

int net_row_cmp(const void *a, const void *b);

/* Where what NAT serves of a family is led by these facts. */
struct svc0_route svc0_route_of(const struct node_facts *facts, uint8_t family);

/* True if the address lies in a network that plan_nets() leads as a whole, while NAT is on. */
bool svc0_route_covers(const struct node_facts *facts, const struct ip *address);

/*
 * The rows of services.serviceCIDRs, none while NAT is off. One that overlaps a network of this
 * node is a fault: it would lead the node's neighbours away. Returns 0 or -ENOMEM.
 */
int plan_nets(const struct node_facts *facts, struct sorted *ret_rows, struct faults *faults);
