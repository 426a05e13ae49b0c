/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A one-shot timer on CLOCK_MONOTONIC, for deadlines, polls and retries alike. How long to wait
 * before a retry is backoff.h's to say.
 */
#pragma once

#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"

struct timer;

/* A timer that is not armed. `run` may arm it again, and may free it. Returns 0 or -errno. */
int timer_new(sd_event *event, int64_t priority, void (*run)(void *context), void *context,
              struct timer **ret_timer);

/* Calls `run` once, in `delay_ms` milliseconds of CLOCK_MONOTONIC; an armed timer is moved. */
void timer_arm(struct timer *timer, int64_t delay_ms);
void timer_disarm(struct timer *timer);

void timer_free(struct timer *timer);
DEFINE_CLEANUP(struct timer *, timer_free);
