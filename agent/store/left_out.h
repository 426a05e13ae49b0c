/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints that count for nothing beside EndpointSlices of the same Service. */
#pragma once

#include "base/fault.h"
#include "store/store.h"

/*
 * Adds a fault for each. None where the slices mirror the Endpoints, as in a dump of a cluster:
 * both say the same.
 */
void store_left_out_faults(const struct store *store, struct faults *faults);
