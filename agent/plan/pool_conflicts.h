/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong between AddressPools, which no definition of one of them can hold: addresses that
 * two of them have, and addresses of Nodes. Pure.
 */
#pragma once

#include "base/fault.h"
#include "store/store.h"

/*
 * Adds a fault for each pool whose subnets overlap those of an older pool or each other, and for
 * each that has the address of a Node; one of each sort for a pool.
 */
void pool_conflicts(const struct store *store, const object_list *pools, struct faults *faults);
