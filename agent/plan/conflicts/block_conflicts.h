/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that overlap something else or are in no pool, and pools that do not exist. Pure. */
#pragma once

#include "base/fault.h"
#include "base/sorted.h"
#include "config/config.h"
#include "store/store.h"

/*
 * Adds a fault for each of this node's blocks that is outside services.clusterCIDRs while others
 * are inside, or outside its pool, whose pool does not exist while others do, that contains a
 * Node's address, or that overlaps another block; for a block in a file without a Node; and for a
 * Namespace whose pool does not exist. Blocks of other nodes: node_conflicts.h.
 */
void block_conflicts(const struct store *store, const struct config *config, struct faults *faults);

/*
 * Adds a fault for each of this node's blocks that overlaps the network by which the node itself is
 * reached: that of the interface with an address of its Node. A bridge may have a block.
 */
void block_link_conflicts(const struct store *store, const struct config *config,
                          const struct sorted *link_addresses, const struct sorted *links,
                          struct faults *faults);
