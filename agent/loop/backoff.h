/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trying again, later each time.
 *
 *     struct backoff backoff = { .initial_ms = SECOND_MS, .max_ms = MINUTE_MS };
 *     timer_arm(timer, backoff_next(&backoff));    after a failure
 *     backoff_reset(&backoff);                           after a success
 */
#pragma once

#include <stdint.h>

struct backoff {
    int64_t initial_ms, max_ms;
    int64_t delay_ms; /* the last one, before jitter; 0 at the start */
};

/* The next delay: the last one doubled, at most `max_ms`; then up to 20% more or less. */
int64_t backoff_next(struct backoff *backoff);

/* The delay with jitter for a number drawn evenly: pure. */
int64_t backoff_jitter(int64_t delay_ms, uint32_t random);

void backoff_reset(struct backoff *backoff);
