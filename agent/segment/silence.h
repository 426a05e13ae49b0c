/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a watch of claims may be silent before it is asked for anew. A connection of which one
 * end was cut off stands, and what was said meanwhile comes when TCP tries again: as long after the
 * cut as that lasted, and two minutes at most. But who has a claim renews it three times in its
 * duration, so that two thirds of it without a word mean a deaf watch, or that all holders are
 * dead.
 *
 * Each silence is twice as long as the one before, until something is heard. Internal to segment/.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/lease.h"

struct silence {
    int64_t news_ms; /* when the holder that was heard of last is due, and once more; 0: none was */
    unsigned times;  /* in a row */
};

/* Something was heard: a record is so now; NULL: it is gone. */
void silence_note(struct silence *silence, const struct lease_record *record);

/* How long from now on, up to `most_ms`. */
int64_t silence_limit_ms(const struct silence *silence, int64_t most_ms);
