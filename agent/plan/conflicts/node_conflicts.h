/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other objects with this node's addresses or pod networks. Pure.
 *
 * Each node reports conflicts with its own addresses, so that an error in the cluster is reported
 * where packets are lost, and not by every node.
 */
#pragma once

#include "base/fault.h"
#include "config/config.h"
#include "store/store.h"

/*
 * Adds a fault for the first of each sort: a Node with an address of this Node's; a podCIDR or
 * AddressBlock of another node that overlaps one of this node's; a network of ClusterIPs
 * (services.serviceCIDRs) that does; a Service with an address from one of this node's blocks. This
 * node's networks are appended to `own`. Returns 0 or -ENOMEM.
 */
int node_conflicts(const struct store *store, const struct config *config, prefix_list *own,
                   struct faults *faults);
