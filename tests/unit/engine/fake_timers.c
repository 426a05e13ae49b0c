// SPDX-License-Identifier: Apache-2.0
/* Timers and a clock that the test moves; see fake_timers.h. */
#include "fake_timers.h"
#include "cmocka_all.h"
#include "loop/timer.h"

struct timer timers[TIMERS];
static size_t timer_count;
int64_t now_ms;

int64_t __wrap_clock_mono_ms(void);
int64_t __wrap_clock_mono_us(void);
int __wrap_timer_new(sd_event *event, int64_t priority, void (*run)(void *context), void *context,
                     struct timer **ret_timer);
void __wrap_timer_arm(struct timer *timer, int64_t delay_ms);
void __wrap_timer_disarm(struct timer *timer);
void __wrap_timer_free(struct timer *timer);

int64_t __wrap_clock_mono_ms(void)
{
    return now_ms;
}

int64_t __wrap_clock_mono_us(void)
{
    return now_ms * 1000;
}

int __wrap_timer_new(sd_event *event, int64_t priority, void (*run)(void *context), void *context,
                     struct timer **ret_timer)
{
    (void)event, (void)priority;
    assert_true(timer_count < TIMERS);
    timers[timer_count] = (struct timer){ .run = run, .context = context, .delay_ms = -1 };
    *ret_timer = &timers[timer_count++];
    return 0;
}

void __wrap_timer_arm(struct timer *timer, int64_t delay_ms)
{
    timer->delay_ms = delay_ms;
}

void __wrap_timer_disarm(struct timer *timer)
{
    timer->delay_ms = -1;
}

void __wrap_timer_free(struct timer *timer)
{
    (void)timer;
}

void fake_timers_begin(void)
{
    timer_count = 0;
    now_ms = 1000000;
}

void fire(size_t timer)
{
    assert_true(timers[timer].delay_ms >= 0);
    now_ms += timers[timer].delay_ms;
    timers[timer].delay_ms = -1;
    timers[timer].run(timers[timer].context);
}

void is_about(int64_t delay_ms, int64_t wanted_ms)
{
    assert_in_range(delay_ms, wanted_ms - wanted_ms / 5, wanted_ms + wanted_ms / 5);
}
