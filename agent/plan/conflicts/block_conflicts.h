/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that lie where something else is or in no pool, and pools that are not there. Pure. */
#pragma once

#include "base/fault.h"
#include "base/sorted.h"
#include "config/config.h"
#include "store/store.h"

/*
 * Adds a fault for each of this node's blocks that is outside of services.clusterCIDRs where others
 * are inside, or outside of its pool, whose pool is not there though others are, that has a Node's
 * address, or that overlaps another one; for a block in a file that is no Node's; and for a
 * Namespace whose pool is not there. Blocks of other nodes: node_conflicts.h.
 */
void block_conflicts(const struct store *store, const struct config *config, struct faults *faults);

/*
 * Adds a fault for each of this node's blocks that overlaps the network by which the node itself is
 * reached: that of the interface with an address of its Node. A bridge may well have a block.
 */
void block_link_conflicts(const struct store *store, const struct config *config,
                          const struct sorted *link_addresses, const struct sorted *links,
                          struct faults *faults);
