/* SPDX-License-Identifier: Apache-2.0 */
/* Faults for Endpoints that are ignored because their Service has EndpointSlices. */
#pragma once

#include "base/fault.h"
#include "store/store.h"

/*
 * Adds a fault for each. None where the slices mirror the Endpoints, as in a dump of a cluster:
 * both have the same content.
 */
void store_left_out_faults(const struct store *store, struct faults *faults);
