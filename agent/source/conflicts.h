/* SPDX-License-Identifier: Apache-2.0 */
/* Conflicts between objects of different manifests, which no single file can show. */
#pragma once

#include "store/store.h"

/*
 * Adds a fault for each object that is defined more than once, and for Endpoints that are ignored
 * because EndpointSlices exist.
 */
void manifest_conflicts(const struct store *store, struct faults *faults);
