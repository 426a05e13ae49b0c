// SPDX-License-Identifier: Apache-2.0
/*
 * Exponential backoff with jitter, and the one-shot timer that goes with it.
 *
 * agentd retries what the kernel refused, the manifest source looks for a folder that is missing.
 * The jitter keeps the nodes of a cluster from knocking at the same moment after a common failure;
 * the doubling goes by the delay before jitter, so that luck does not add up.
 *
 * sd-event coalesces timers by an accuracy that is 250 ms unless given, which would be felt in
 * a hold-down of one second; these timers ask for 1 ms. They never fire early: a caller that
 * computed the delay from clock_mono_ms() finds that the time has come.
 */
#include "loop/backoff.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/macro.h"

enum {
    JITTER_PERCENT = 20,
    ACCURACY_US = 1000,
};

struct retry_timer {
    sd_event_source *source;
    void (*run)(void *context);
    void *context;
};

static int on_time(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    struct retry_timer *timer = userdata;
    timer->run(timer->context);
    return 0;
}

int64_t backoff_jitter(int64_t delay_ms, uint32_t random)
{
    int64_t spread = delay_ms * JITTER_PERCENT / 100;
    return delay_ms - spread + (int64_t)(random % (uint64_t)(2 * spread + 1));
}

int64_t backoff_next(struct backoff *backoff)
{
    if (backoff->delay_ms == 0)
        backoff->delay_ms = MIN(backoff->initial_ms, backoff->max_ms);
    else if (backoff->delay_ms > backoff->max_ms / 2)
        backoff->delay_ms = backoff->max_ms;
    else
        backoff->delay_ms *= 2;

    /* Early in the boot the kernel may have no randomness yet: then without jitter. */
    uint32_t random;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
        return backoff->delay_ms;
    return backoff_jitter(backoff->delay_ms, random);
}

void backoff_reset(struct backoff *backoff)
{
    backoff->delay_ms = 0;
}

int retry_timer_new(sd_event *event, int64_t priority, void (*run)(void *context), void *context,
                    struct retry_timer **ret_timer)
{
    CLEANUP(retry_timer_freep) struct retry_timer *timer = calloc(1, sizeof(*timer));
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

void retry_timer_arm(struct retry_timer *timer, int64_t delay_ms)
{
    int64_t due_us = clock_mono_us() + MAX(delay_ms, INT64_C(0)) * 1000;
    (void)sd_event_source_set_time(timer->source, (uint64_t)due_us);
    (void)sd_event_source_set_enabled(timer->source, SD_EVENT_ONESHOT);
}

void retry_timer_disarm(struct retry_timer *timer)
{
    (void)sd_event_source_set_enabled(timer->source, SD_EVENT_OFF);
}

void retry_timer_free(struct retry_timer *timer)
{
    if (!timer)
        return;
    sd_event_source_disable_unref(timer->source);
    free(timer);
}
