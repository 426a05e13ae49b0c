/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writes that the API refuses, by object, for faults. A job keeps them across responses, so
 * that the result for one object does not affect another.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/sorted.h"

struct refusal {
    char *place, *message, *remedy; /* remedy may be NULL */
};

struct refusals {
    struct sorted rows; /* struct refusal, by place */
    bool changed;       /* since refusals_faults() */
};

void refusals_init(struct refusals *refusals);
void refusals_done(struct refusals *refusals);

/*
 * Records that a write for an object ("Service shop/web") is refused; `remedy` may be NULL.
 * Arguments are copied. Returns whether that is new. Without memory nothing is recorded until the
 * next attempt.
 */
bool refusals_note(struct refusals *refusals, const char *place, const char *message,
                   const char *remedy);

/* Removes an object's refusal: a write succeeded, or the object is gone. */
void refusals_end(struct refusals *refusals, const char *place);

void refusals_clear(struct refusals *refusals);

/* The refusal of an object, borrowed until the next change; NULL: none. */
const struct refusal *refusals_find(const struct refusals *refusals, const char *place);

static inline size_t refusals_count(const struct refusals *refusals)
{
    return refusals->rows.count;
}

/* Adds a fault for each object, up to a limit, and one with the number of the others. */
void refusals_faults(struct refusals *refusals, struct faults *faults);
