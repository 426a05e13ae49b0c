/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schedule's time in the hands of a test: the linker wraps the monotonic clock and the timers,
 * so that a timer tells how long it was armed for, and runs when the test says so.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct timer {
    void (*run)(void *context);
    void *context;
    int64_t delay_ms; /* -1: not armed */
};

/* In the order in which the schedule makes them. */
enum { FULL, DUE, RETRY, CALM, TIMERS };

extern struct timer timers[TIMERS];
extern int64_t now_ms;

void fake_timers_begin(void);

/* The time has come for an armed timer. */
void fire(size_t timer);

/* Fails unless a delay is the wanted one, give or take its jitter; see loop/backoff.h. */
void is_about(int64_t delay_ms, int64_t wanted_ms);
