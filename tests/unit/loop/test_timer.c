// SPDX-License-Identifier: Apache-2.0
/* The one-shot timer: once, not early, moved when armed again. */
#include "base/clock.h"
#include "cmocka_all.h"
#include "loop/timer.h"

struct alarm {
    struct timer *timer;
    int rings, again;
};

static void ring(void *context)
{
    struct alarm *alarm = context;
    alarm->rings++;
    if (alarm->again-- > 0)
        timer_arm(alarm->timer, 1);
}

static void ring_and_free(void *context)
{
    struct alarm *alarm = context;
    alarm->rings++;
    timer_free(alarm->timer);
}

static int setup(void **state)
{
    return sd_event_new((sd_event **)state);
}

static int teardown(void **state)
{
    sd_event_unref(*state);
    return 0;
}

static void rings_once_and_not_early(void **state)
{
    struct alarm alarm = { 0 };
    assert_int_equal(timer_new(*state, 0, ring, &alarm, &alarm.timer), 0);
    assert_int_equal(sd_event_run(*state, 0), 0);

    int64_t due_ms = clock_mono_ms() + 30;
    timer_arm(alarm.timer, 30);
    assert_int_equal(sd_event_run(*state, 10000000), 1);
    assert_true(clock_mono_ms() >= due_ms);
    assert_int_equal(alarm.rings, 1);
    assert_int_equal(sd_event_run(*state, 0), 0);
    timer_free(alarm.timer);
}

static void arming_moves_it(void **state)
{
    struct alarm alarm = { .again = 1 };
    assert_int_equal(timer_new(*state, 0, ring, &alarm, &alarm.timer), 0);
    timer_arm(alarm.timer, 3600 * SECOND_MS);
    timer_arm(alarm.timer, 0);
    assert_int_equal(sd_event_run(*state, 0), 1);
    assert_int_equal(alarm.rings, 1);
    /* Armed again from within. */
    assert_int_equal(sd_event_run(*state, 10000000), 1);
    assert_int_equal(alarm.rings, 2);

    timer_arm(alarm.timer, -5);
    timer_disarm(alarm.timer);
    assert_int_equal(sd_event_run(*state, 0), 0);
    timer_arm(alarm.timer, -5);
    assert_int_equal(sd_event_run(*state, 0), 1);
    assert_int_equal(alarm.rings, 3);
    timer_free(alarm.timer);
}

static void may_be_freed_while_it_rings(void **state)
{
    struct alarm alarm = { 0 };
    assert_int_equal(timer_new(*state, 0, ring_and_free, &alarm, &alarm.timer), 0);
    timer_arm(alarm.timer, 0);
    assert_int_equal(sd_event_run(*state, 0), 1);
    assert_int_equal(alarm.rings, 1);
    assert_int_equal(sd_event_run(*state, 0), 0);
    timer_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rings_once_and_not_early, setup, teardown),
        cmocka_unit_test_setup_teardown(arming_moves_it, setup, teardown),
        cmocka_unit_test_setup_teardown(may_be_freed_while_it_rings, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
