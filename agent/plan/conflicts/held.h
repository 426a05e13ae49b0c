/* SPDX-License-Identifier: Apache-2.0 */
/* Pools, blocks and Egresses that somebody has deleted, and that are kept all the same: by a
 * finalizer whose owner may be gone for good, and a pool by its blocks. Pure. */
#pragma once

#include <stdint.h>

#include "base/fault.h"
#include "store/store.h"

/* Who takes his finalizer off does so within seconds. */
enum { HELD_PATIENCE_MS = 10 * 1000 };

/*
 * Adds a fault for each AddressPool, AddressBlock or Egress of the store that was deleted so long
 * ago, sixteen of a kind at most. Returns in how many milliseconds to ask again, since others were
 * deleted just now; INT64_MAX: when one of them changes. `wall_ms`: now, by the wall clock, which
 * the API has written into them by its own.
 */
int64_t held_faults(const struct store *store, enum kind kind, int64_t wall_ms,
                    struct faults *faults);
