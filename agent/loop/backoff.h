/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trying again, later each time.
 *
 *     struct backoff backoff = { .initial_ms = SECOND_MS, .max_ms = MINUTE_MS };
 *     retry_timer_arm(timer, backoff_next(&backoff));    after a failure
 *     backoff_reset(&backoff);                           after a success
 */
#pragma once

#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"

struct backoff {
    int64_t initial_ms, max_ms;
    int64_t delay_ms; /* the last one, before jitter; 0 at the start */
};

/* The next delay: the last one doubled, at most `max_ms`; then up to 20% more or less. */
int64_t backoff_next(struct backoff *backoff);

/* The delay with jitter for a number drawn evenly: pure. */
int64_t backoff_jitter(int64_t delay_ms, uint32_t random);

void backoff_reset(struct backoff *backoff);

struct retry_timer;

/* A timer that is not armed. `run` may arm it again, and may free it. Returns 0 or -errno. */
int retry_timer_new(sd_event *event, int64_t priority, void (*run)(void *context), void *context,
                    struct retry_timer **ret_timer);

/* Calls `run` once, in `delay_ms` milliseconds of CLOCK_MONOTONIC; an armed timer is moved. */
void retry_timer_arm(struct retry_timer *timer, int64_t delay_ms);
void retry_timer_disarm(struct retry_timer *timer);

void retry_timer_free(struct retry_timer *timer);
DEFINE_CLEANUP(struct retry_timer *, retry_timer_free);
