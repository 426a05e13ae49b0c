/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conflicts between pools, which a schema can't detect: addresses in two AddressPools, and pools
 * that overlap the network of Nodes or of Services. These networks are known by the addresses of
 * Nodes and by clusterIPs. Pure.
 */
#pragma once

#include "base/fault.h"
#include "plan/pools/pool_table.h"
#include "store/store.h"

/*
 * Adds a fault for each AddressPool whose subnets overlap those of an older pool or each other, for
 * each that contains the address of a Node, and for each that contains a clusterIP of the Services
 * in the store; at most one of each sort per pool. And for each AddressBlock without a node's
 * label.
 */
void pool_conflicts(const struct store *store, const object_list *pools, struct faults *faults);

/*
 * Adds a fault for each IPAddressPool of the table that contains the address of a Node, and for
 * each that contains a Service's clusterIP. Such an address is not allocated. Also for each with
 * addresses of an AddressPool, and for each that is for Namespaces that do not exist.
 */
void ip_pool_conflicts(const struct store *store, const struct pool_table *table,
                       struct faults *faults);
