// SPDX-License-Identifier: Apache-2.0
/*
 * The one-shot timer of the loop; see timer.h.
 *
 * sd-event coalesces timers by an accuracy that is 250 ms unless given, which would be felt in
 * a hold-down of one second; these timers ask for 1 ms. They never fire early: a caller that
 * computed the delay from clock_mono_ms() finds that the time has come.
 */
#include "loop/timer.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/macro.h"

enum { ACCURACY_US = 1000 };

struct timer {
    sd_event_source *source;
    void (*run)(void *context);
    void *context;
};

static int on_time(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    struct timer *timer = userdata;
    timer->run(timer->context);
    return 0;
}

int timer_new(sd_event *event, int64_t priority, void (*run)(void *context), void *context,
              struct timer **ret_timer)
{
    CLEANUP(timer_freep) struct timer *timer = calloc(1, sizeof(*timer));
    if (!timer)
        return -ENOMEM;
    timer->run = run;
    timer->context = context;

    int r =
        sd_event_add_time(event, &timer->source, CLOCK_MONOTONIC, 0, ACCURACY_US, on_time, timer);
    if (r < 0)
        return r;
    r = sd_event_source_set_enabled(timer->source, SD_EVENT_OFF);
    if (r < 0)
        return r;
    r = sd_event_source_set_priority(timer->source, priority);
    if (r < 0)
        return r;
    *ret_timer = TAKE_PTR(timer);
    return 0;
}

void timer_arm(struct timer *timer, int64_t delay_ms)
{
    int64_t due_us = clock_mono_us() + MAX(delay_ms, INT64_C(0)) * 1000;
    (void)sd_event_source_set_time(timer->source, (uint64_t)due_us);
    (void)sd_event_source_set_enabled(timer->source, SD_EVENT_ONESHOT);
}

void timer_disarm(struct timer *timer)
{
    (void)sd_event_source_set_enabled(timer->source, SD_EVENT_OFF);
}

void timer_free(struct timer *timer)
{
    if (!timer)
        return;
    sd_event_source_disable_unref(timer->source);
    free(timer);
}
