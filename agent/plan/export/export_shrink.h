/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history of an exported list's length, by which removals that are too fast are held back: the
 * lengths within the last hold-down, and since when removals are held back.
 *
 * Objects are rarely deleted in one event. Forty nodes that become unready together are forty
 * events, and the list may be written after each: no step is large. So the reference is the
 * greatest length within the last hold-down, not the current one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "plan/export/export_diff.h"

/* The last time at which a list had this length. */
struct export_length {
    size_t count;
    int64_t at_ms; /* monotonic */
};

/* Empty (all 0): no history. */
struct export_shrink {
    VEC(struct export_length) lengths; /* by decreasing length and increasing time */
    int64_t since_ms;                  /* removals are held back since then; 0: none */
    size_t held;                       /* number of held back removals */
};

/* The greatest length of the list within the hold-down before now; 0: unknown. */
size_t export_shrink_longest(const struct export_shrink *shrink, int64_t hold_ms, int64_t now_ms);

/* Whether removals were held back for the whole hold-down: they are allowed. */
bool export_shrink_is_over(const struct export_shrink *shrink, int64_t hold_ms, int64_t now_ms);

/*
 * Records that the list has `length` elements, of which the removal of `held` is held back. A
 * removal after a hold-down (`let_go`) is intended: the history is cleared. Returns 0 or -ENOMEM.
 */
int export_shrink_note(struct export_shrink *shrink, size_t length, size_t held, bool let_go,
                       int64_t now_ms);

/* When held back removals are allowed (monotonic); INT64_MAX: none are held back. */
int64_t export_shrink_until(const struct export_shrink *shrink, int64_t hold_ms);

/* Clears the history and frees its memory. */
void export_shrink_forget(struct export_shrink *shrink);
