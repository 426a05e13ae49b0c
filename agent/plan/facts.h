/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input of planners about this node: its configuration, the objects, and what the kernel's
 * mirror shows. Every planner reads the same facts; input of a single planner is separate (struct
 * route_inputs).
 *
 * The daemon makes the facts in engine/facts.c, once for all its engines. `agentctl plan` and tests
 * have store and config only, and leave out the rest.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/sorted.h"
#include "config/config.h"
#include "store/store.h"

/*
 * How this node's own packets to service addresses are routed while NAT is on: to svc0, where a
 * program translates them, with the node's address as their source.
 */
struct nat_svc0 {
    uint32_t ifindex; /* svc0's */
    struct ip v4, v6; /* IP_NONE: none of that family, the kernel selects one */
};

/* All borrowed; no planner changes any of it. */
struct node_facts {
    const struct store *store;
    const struct config *config;
    const struct sorted *local_prefixes; /* struct prefix: addresses and on-link networks */
    const struct sorted *local_networks; /* of these the networks of more than one address; a few */
    const struct sorted *link_addresses; /* struct link_address: of this node; NULL: not known */
    const struct sorted *links;          /* struct link; NULL: not known */
    const struct nat_svc0 *nat_svc0;     /* NULL: NAT is off, or svc0 is not there */
    bool gateway_retires; /* it served Egresses until recently: that none is left is no fault */
    bool other_rules;     /* the kernel has ip rules other than its three default ones and ours */
    /* This node's source address for the default route: IPv4, IPv6; IP_NONE: none, unknown. */
    struct ip default_source[2];
};
