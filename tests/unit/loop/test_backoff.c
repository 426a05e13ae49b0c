// SPDX-License-Identifier: Apache-2.0
/* The growth of delays, their jitter, and the timer that waits for them. */
#include "base/clock.h"
#include "base/macro.h"
#include "cmocka_all.h"
#include "loop/backoff.h"

static void doubles_up_to_the_limit(void **state)
{
    (void)state;
    static const int64_t delays[] = { 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000 };
    struct backoff backoff = { .initial_ms = SECOND_MS, .max_ms = MINUTE_MS };
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_SIZE(delays); i++) {
            int64_t next = backoff_next(&backoff);
            assert_int_equal(backoff.delay_ms, delays[i]);
            assert_in_range(next, delays[i] * 8 / 10, delays[i] * 12 / 10);
        }
        backoff_reset(&backoff);
    }
}

static void the_limit_holds_from_the_start(void **state)
{
    (void)state;
    struct backoff backoff = { .initial_ms = 1000, .max_ms = 100 };
    (void)backoff_next(&backoff);
    assert_int_equal(backoff.delay_ms, 100);
    struct backoff same = { .initial_ms = 100, .max_ms = 100 };
    (void)backoff_next(&same);
    (void)backoff_next(&same);
    assert_int_equal(same.delay_ms, 100);
}

static void jitter_covers_a_fifth_both_ways(void **state)
{
    (void)state;
    assert_int_equal(backoff_jitter(1000, 0), 800);
    assert_int_equal(backoff_jitter(1000, 200), 1000);
    assert_int_equal(backoff_jitter(1000, 400), 1200);
    assert_int_equal(backoff_jitter(1000, 401), 800);
    assert_int_equal(backoff_jitter(0, UINT32_MAX), 0);
    assert_int_equal(backoff_jitter(4, UINT32_MAX), 4); /* too short for a fifth */
    for (uint32_t random = 0; random < 100000; random += 7)
        assert_in_range(backoff_jitter(60000, random), 48000, 72000);
}

/* That 64 draws from 12001 numbers are all the same has a chance of 12001^-63. */
static void delays_differ(void **state)
{
    (void)state;
    struct backoff backoff = { .initial_ms = 30000, .max_ms = 30000 };
    int64_t first = backoff_next(&backoff);
    int different = 0;
    for (int i = 1; i < 64; i++)
        different += backoff_next(&backoff) != first;
    assert_true(different > 0);
}

struct alarm {
    struct retry_timer *timer;
    int rings, again;
};

static void ring(void *context)
{
    struct alarm *alarm = context;
    alarm->rings++;
    if (alarm->again-- > 0)
        retry_timer_arm(alarm->timer, 1);
}

static void ring_and_free(void *context)
{
    struct alarm *alarm = context;
    alarm->rings++;
    retry_timer_free(alarm->timer);
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
    assert_int_equal(retry_timer_new(*state, 0, ring, &alarm, &alarm.timer), 0);
    assert_int_equal(sd_event_run(*state, 0), 0);

    int64_t due_ms = clock_mono_ms() + 30;
    retry_timer_arm(alarm.timer, 30);
    assert_int_equal(sd_event_run(*state, 10000000), 1);
    assert_true(clock_mono_ms() >= due_ms);
    assert_int_equal(alarm.rings, 1);
    assert_int_equal(sd_event_run(*state, 0), 0);
    retry_timer_free(alarm.timer);
}

static void arming_moves_it(void **state)
{
    struct alarm alarm = { .again = 1 };
    assert_int_equal(retry_timer_new(*state, 0, ring, &alarm, &alarm.timer), 0);
    retry_timer_arm(alarm.timer, 3600 * SECOND_MS);
    retry_timer_arm(alarm.timer, 0);
    assert_int_equal(sd_event_run(*state, 0), 1);
    assert_int_equal(alarm.rings, 1);
    /* Armed again from within. */
    assert_int_equal(sd_event_run(*state, 10000000), 1);
    assert_int_equal(alarm.rings, 2);

    retry_timer_arm(alarm.timer, -5);
    retry_timer_disarm(alarm.timer);
    assert_int_equal(sd_event_run(*state, 0), 0);
    retry_timer_arm(alarm.timer, -5);
    assert_int_equal(sd_event_run(*state, 0), 1);
    assert_int_equal(alarm.rings, 3);
    retry_timer_free(alarm.timer);
}

static void may_be_freed_while_it_rings(void **state)
{
    struct alarm alarm = { 0 };
    assert_int_equal(retry_timer_new(*state, 0, ring_and_free, &alarm, &alarm.timer), 0);
    retry_timer_arm(alarm.timer, 0);
    assert_int_equal(sd_event_run(*state, 0), 1);
    assert_int_equal(alarm.rings, 1);
    assert_int_equal(sd_event_run(*state, 0), 0);
    retry_timer_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_up_to_the_limit),
        cmocka_unit_test(the_limit_holds_from_the_start),
        cmocka_unit_test(jitter_covers_a_fifth_both_ways),
        cmocka_unit_test(delays_differ),
        cmocka_unit_test_setup_teardown(rings_once_and_not_early, setup, teardown),
        cmocka_unit_test_setup_teardown(arming_moves_it, setup, teardown),
        cmocka_unit_test_setup_teardown(may_be_freed_while_it_rings, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
