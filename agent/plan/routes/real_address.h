/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that are somebody's whatever Services say: a Node's, this node's own, those of networks
 * that this node is connected to, and pods' by services.clusterCIDRs. Services may be served on
 * them, port by port; the addresses are never announced, guarded or led to svc0.
 */
#pragma once

#include "plan/facts.h"
#include "plan/routes/address_reason.h"

struct real_address {
    enum address_reason reason; /* from NODE_ADDRESS to POD_NETWORK */
    char of[256];               /* the Node, the interface, or the network: "192.0.2.0/24" */
};

/* True if the address is somebody's. */
bool real_address_of(const struct node_facts *facts, const struct ip *ip,
                     struct real_address *ret_real);

/*
 * True if the address is in the network of another Node, by its InternalIP and the length that the
 * network of this Node's own InternalIP has: nobody says how long others' are. It is not where an
 * operator's word is nearer: an IPAddressPool has it, or a range of the configuration inside that
 * network. REASON_NODE_NETWORK.
 */
bool real_network_of(const struct node_facts *facts, const struct ip *ip,
                     struct real_address *ret_real);

/* The network that real_network_of() takes an address to be in; false: none is known. */
bool real_network_around(const struct node_facts *facts, const struct ip *ip,
                         struct prefix *ret_network);

/* The interface of this node that has the address, but for kube-proxy's; NULL: none, not known. */
const struct link *real_interface_of(const struct node_facts *facts, const struct ip *ip);
