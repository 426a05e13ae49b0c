/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writes that the API refuses, by the object that they are about: for faults. Kept by a job
 * from answer to answer, so that what becomes of one object says nothing of another.
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

/* Notes that a write about an object ("Service shop/web") is refused; `remedy` may be NULL. All is
 * copied. Returns whether that is new. Without memory nothing is noted: it is told at the next try.
 */
bool refusals_note(struct refusals *refusals, const char *place, const char *message,
                   const char *remedy);

/* It is not refused any more, or the object is gone. */
void refusals_end(struct refusals *refusals, const char *place);

void refusals_clear(struct refusals *refusals);

/* What is refused about an object, borrowed until the next change; NULL: nothing. */
const struct refusal *refusals_find(const struct refusals *refusals, const char *place);

static inline size_t refusals_count(const struct refusals *refusals)
{
    return refusals->rows.count;
}

/* A fault for each object, up to a bound, and one that says how many more there are. */
void refusals_faults(struct refusals *refusals, struct faults *faults);
