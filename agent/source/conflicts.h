/* SPDX-License-Identifier: Apache-2.0 */
/* What objects of manifests have against each other, which no single file can show. */
#pragma once

#include "store/store.h"

/*
 * Adds a fault for each object that stands in more than one place, and for Endpoints that count for
 * nothing beside EndpointSlices.
 */
void manifest_conflicts(const struct store *store, struct faults *faults);
