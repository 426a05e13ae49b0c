/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong between pools, which no definition of one of them can hold: addresses that two
 * AddressPools have, and pools that reach into the network of Nodes or that of Services. Networks
 * are known by who has an address of them: Nodes, and Services with a clusterIP. Pure.
 */
#pragma once

#include "base/fault.h"
#include "plan/pools/pool_table.h"
#include "store/store.h"

/*
 * Adds a fault for each AddressPool whose subnets overlap those of an older pool or each other, for
 * each that has the address of a Node, and for each that has a clusterIP of the Services in the
 * store; one of each sort for a pool. And for each AddressBlock that no node's label is on.
 */
void pool_conflicts(const struct store *store, const object_list *pools, struct faults *faults);

/*
 * Adds a fault for each IPAddressPool of the table that has the address of a Node, and for each
 * that has a Service's clusterIP. Such an address is given to nobody. So are faults of pools that
 * have addresses of an AddressPool's, and that are for Namespaces that are not there.
 */
void ip_pool_conflicts(const struct store *store, const struct pool_table *table,
                       struct faults *faults);
