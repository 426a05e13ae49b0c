/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is remembered of the exported lists, so that what would go too fast is held back: how long
 * each list was within the last hold-down, and since when something of it is held back.
 *
 * Objects rarely vanish in one event. Forty nodes that become unready together are forty events,
 * and the list may be written after each: no step is large. So the measure is the longest that the
 * list was within the last hold-down, not what it is now.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "plan/export/export_diff.h"

/* A list had so many elements last at that time. */
struct export_length {
    size_t count;
    int64_t at_ms; /* monotonic */
};

/* Empty (all 0): nothing is known of the list. */
struct export_shrink {
    VEC(struct export_length) lengths; /* ever shorter, and ever later */
    int64_t since_ms;                  /* something is held back since then; 0: nothing is */
    size_t held;                       /* how much would go */
};

/* The longest that the list was within the hold-down before now; 0: nothing is known. */
size_t export_shrink_longest(const struct export_shrink *shrink, int64_t hold_ms, int64_t now_ms);

/* Whether something was held back for all of the hold-down: it may go. */
bool export_shrink_is_over(const struct export_shrink *shrink, int64_t hold_ms, int64_t now_ms);

/*
 * The list has `length` elements, of which `held` would go and are held back. What was let go after
 * a hold-down (`let_go`) is meant: what the list was before is forgotten. Returns 0 or -ENOMEM.
 */
int export_shrink_note(struct export_shrink *shrink, size_t length, size_t held, bool let_go,
                       int64_t now_ms);

/* When what is held back may go (monotonic); INT64_MAX: nothing is held back. */
int64_t export_shrink_until(const struct export_shrink *shrink, int64_t hold_ms);

/* Leaves it empty. */
void export_shrink_forget(struct export_shrink *shrink);
