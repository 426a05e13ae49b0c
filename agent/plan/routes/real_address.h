/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses with an owner other than a Service: a Node's, this node's own, those of connected
 * networks, and pods' by services.clusterCIDRs. Services may be served on them, port by port; the
 * addresses are never announced or routed to svc0, and have no guard.
 */
#pragma once

#include "plan/facts.h"
#include "plan/routes/address_reason.h"

struct real_address {
    enum address_reason reason; /* from NODE_ADDRESS to POD_NETWORK */
    char of[256];               /* the Node, the interface, or the network: "192.0.2.0/24" */
};

/* True if the address has such an owner. */
bool real_address_of(const struct node_facts *facts, const struct ip *ip,
                     struct real_address *ret_real);

/*
 * True if the address is in the network of another Node: its InternalIP with the prefix length of
 * this Node's own InternalIP, since those of other nodes are unknown. False where an operator's
 * setting is more specific: an IPAddressPool has the address, or a configured range inside that
 * network. REASON_NODE_NETWORK.
 */
bool real_network_of(const struct node_facts *facts, const struct ip *ip,
                     struct real_address *ret_real);

/* The network that real_network_of() assumes for an address; false: none is known. */
bool real_network_around(const struct node_facts *facts, const struct ip *ip,
                         struct prefix *ret_network);

/* The interface of this node that has the address, except kube-proxy's; NULL: none, or unknown. */
const struct link *real_interface_of(const struct node_facts *facts, const struct ip *ip);
