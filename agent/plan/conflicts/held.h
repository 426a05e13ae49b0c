/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deleted pools, blocks and Egresses that still exist: because of a finalizer whose owner may be
 * gone permanently, and a pool because of its blocks. Pure.
 */
#pragma once

#include <stdint.h>

#include "base/fault.h"
#include "store/store.h"

/* A running controller removes its finalizer within seconds. */
enum { HELD_PATIENCE_MS = 10 * 1000 };

/*
 * Adds a fault for each AddressPool, AddressBlock or Egress of the store that was deleted at least
 * that long ago, at most sixteen of a kind. Returns after how many milliseconds to check again,
 * since others were deleted recently; INT64_MAX: when one of them changes. `wall_ms`: the current
 * wall clock; deletionTimestamp is by the API server's clock.
 */
int64_t held_faults(const struct store *store, enum kind kind, int64_t wall_ms,
                    struct faults *faults);
