/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The role of each interface in service NAT: an uplink, a pod's, or neither. By name if
 * services.uplinks or podInterfaces match it, else by its kind and routes. Pure.
 */
#pragma once

#include "config/config.h"
#include "plan/link_table.h"
#include "plan/nat/nat_table.h"

/* The node's interfaces. All borrowed. */
struct link_facts {
    const struct config *config;
    const struct sorted *links;     /* struct link */
    const struct sorted *paths;     /* struct link_path */
    const struct sorted *addresses; /* struct link_address; NULL: not checked */
    const struct prefix *pod_nets;
    size_t pod_net_count;
    bool without_pods; /* no pods are served: that none are found is no fault */
};

enum nat_role { NAT_ROLE_NONE, NAT_ROLE_UPLINK, NAT_ROLE_POD };

/* The detected role of an interface, by its kind, its ports and its routes; names do not matter. */
enum nat_role nat_found_role(const struct link_facts *facts, const struct link *link);

/* The wanted role: by name or detected. Both are true if both lists name it. */
bool nat_is_uplink(const struct link_facts *facts, const struct link *link);
bool nat_is_pods(const struct link_facts *facts, const struct link *link);

/* True if routes by it lead to pods: to a single pod, or for a bridge to a network of pods. */
bool nat_leads_to_pods(const struct link_facts *facts, const struct link *link);

/* The loopback, svc0 and its peer: patterns do not match them, and they are not detected. */
bool nat_is_own_link(const struct link *link);

/*
 * True if packets have an Ethernet header there, or none at all before IP's (`bare`). An interface
 * with another link-layer header, as GRE without a fixed remote end, can't have a program.
 */
bool nat_can_carry(const struct link *link);
bool nat_is_bare(const struct link *link);

/* A tunnel that takes its remote end from each packet's route. */
bool nat_goes_by_route(const struct link *link);

/* The VRF that an interface is in; 0: none. */
uint32_t nat_vrf_of(const struct link_facts *facts, const struct link *link);

/* True if its kind is that of the host's end of a pod or of a virtual machine. */
bool nat_may_be_pods(const struct link *link);

bool nat_is_bridge(const struct link *link);
