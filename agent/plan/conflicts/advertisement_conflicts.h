/* SPDX-License-Identifier: Apache-2.0 */
/* Advertisements that name or select something that does not exist. Pure. */
#pragma once

#include "base/fault.h"
#include "store/store.h"

/*
 * Adds a fault for each advertisement that names an unknown pool, or selects no pool or no Node.
 * Without any Node the selection of Nodes is not checked.
 */
void advertisement_conflicts(const struct store *store, struct faults *faults);
