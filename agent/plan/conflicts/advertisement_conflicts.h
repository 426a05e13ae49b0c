/* SPDX-License-Identifier: Apache-2.0 */
/* Advertisements that name or select what is not there. Pure. */
#pragma once

#include "base/fault.h"
#include "store/store.h"

/* Adds a fault for each advertisement that names a pool which is none, or selects no pool or no
 * Node. Without any Node nothing is said of Nodes. */
void advertisement_conflicts(const struct store *store, struct faults *faults);
