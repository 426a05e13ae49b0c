// SPDX-License-Identifier: Apache-2.0
/* The growth of delays, and their jitter. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_up_to_the_limit),
        cmocka_unit_test(the_limit_holds_from_the_start),
        cmocka_unit_test(jitter_covers_a_fifth_both_ways),
        cmocka_unit_test(delays_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
