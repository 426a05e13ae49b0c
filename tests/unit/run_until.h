/* SPDX-License-Identifier: Apache-2.0 */
/* For tests that wait for what an event loop brings. */
#pragma once

#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/clock.h"

enum { DEADLINE_MS = 60000 };

/* Runs the loop of a fixture until something holds. */
#define run_until(fixture, condition)                               \
    do {                                                            \
        int64_t end_ = clock_mono_ms() + DEADLINE_MS;               \
        while (!(condition)) {                                      \
            assert_true(clock_mono_ms() < end_);                    \
            assert_true(sd_event_run((fixture)->event, 5000) >= 0); \
        }                                                           \
    } while (0)
