/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools, blocks and destinations that overlap other networks of the cluster, or are in no pool.
 * Pure.
 *
 * Objects of an API are also checked by its controllers (pool_conflicts.h): of such objects only
 * this node's blocks are checked here, and contradictions to the configuration.
 */
#pragma once

#include "base/fault.h"
#include "config/config.h"
#include "store/store.h"

/*
 * Adds a fault for each IPAddressPool and AddressPool that overlaps services.serviceCIDRs, for an
 * IPAddressPool that overlaps services.clusterCIDRs or, in a file, contains a Node's address, and
 * for a destination of an Egress inside one of both settings.
 */
void object_networks(const struct store *store, const struct config *config, struct faults *faults);
