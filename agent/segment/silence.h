/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a watch of claims may be silent before it is restarted. A connection whose peer was cut
 * off stays established, and data sent meanwhile arrives at TCP's next retransmission: after as
 * long again as the outage lasted, two minutes at most. But a holder renews its claim three times
 * in its duration, so silence for two thirds of it means that the watch is broken, or that all
 * holders are dead.
 *
 * Each limit is twice the one before, until something arrives. Internal to segment/.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/lease.h"

struct silence {
    int64_t news_ms; /* two thirds of the duration in the last record with a holder; 0: there was
                        none */
    unsigned times;  /* silences in a row */
};

/* A record has changed; NULL: it was deleted. */
void silence_note(struct silence *silence, const struct lease_record *record);

/* The limit from now on, `most_ms` at most. */
int64_t silence_limit_ms(const struct silence *silence, int64_t most_ms);
