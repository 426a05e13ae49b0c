/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools, blocks and destinations that lie where something else of the cluster is, or in no pool.
 * Pure.
 *
 * What an API gave is judged by its controllers as well (pool_conflicts.h): of such objects only
 * this node's blocks are looked at, and what the configuration says otherwise.
 */
#pragma once

#include "base/fault.h"
#include "config/config.h"
#include "store/store.h"

/*
 * Adds a fault for each IPAddressPool and AddressPool that reaches into services.serviceCIDRs, for
 * an IPAddressPool that reaches into services.clusterCIDRs or, in a file, has a Node's address, and
 * for a destination of an Egress that is inside of one of both settings.
 */
void object_networks(const struct store *store, const struct config *config, struct faults *faults);
