/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each interface is to Service NAT: an uplink, a pod's, or neither. By name where
 * services.uplinks and podInterfaces say so, else by what it is. Pure.
 */
#pragma once

#include "config/config.h"
#include "plan/link_table.h"
#include "plan/nat/nat_table.h"

/* What is known of the node's interfaces. All borrowed. */
struct link_facts {
    const struct config *config;
    const struct sorted *links;     /* struct link */
    const struct sorted *paths;     /* struct link_path */
    const struct sorted *addresses; /* struct link_address; NULL: not looked at */
    const struct prefix *pod_nets;
    size_t pod_net_count;
    bool without_pods; /* none is served: that none is found is no fault */
};

enum nat_role { NAT_ROLE_NONE, NAT_ROLE_UPLINK, NAT_ROLE_POD };

/* What an interface is by its kind, its ports and the routes by it, whatever the names say. */
enum nat_role nat_found_role(const struct link_facts *facts, const struct link *link);

/* What it shall be: by name or found. Both are true if both lists name it. */
bool nat_is_uplink(const struct link_facts *facts, const struct link *link);
bool nat_is_pods(const struct link_facts *facts, const struct link *link);

/* True if routes lead by it to pods: to one, or of a bridge to a network of theirs. */
bool nat_leads_to_pods(const struct link_facts *facts, const struct link *link);

/* The loopback, svc0 and its peer: no pattern means them, nor are they found. */
bool nat_is_own_link(const struct link *link);

/*
 * True if packets have an Ethernet header there, or none at all before IP's (`bare`). What has
 * another one, as GRE without a fixed other end, can't carry a program.
 */
bool nat_can_carry(const struct link *link);
bool nat_is_bare(const struct link *link);

/* A tunnel that asks each packet's route for its other end. */
bool nat_goes_by_route(const struct link *link);

/* The VRF that an interface is in; 0: none. */
uint32_t nat_vrf_of(const struct link_facts *facts, const struct link *link);

/* By its kind the host's end of a pod or of a virtual machine. */
bool nat_may_be_pods(const struct link *link);

bool nat_is_bridge(const struct link *link);
