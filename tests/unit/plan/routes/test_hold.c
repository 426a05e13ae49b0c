// SPDX-License-Identifier: Apache-2.0
/* Hold-down: doubling, the cap, and starting afresh after quiet. */
#include "cmocka_all.h"
#include "plan/routes/hold.h"

static const struct config config = { .routes = { .hold_initial_ms = 1000, .hold_max_ms = 60000 } };

static void doubles_up_to_the_cap(void **state)
{
    (void)state;
    static const int64_t delays[] = { 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000 };
    struct hold hold = { 0 };
    int64_t now = 5000;
    for (size_t i = 0; i < ARRAY_SIZE(delays); i++) {
        hold_withdraw(&hold, &config, now);
        assert_int_equal(hold.until_ms - now, delays[i]);
        now = hold.until_ms + 10;
        hold_announce(&hold, now);
        now += 100;
    }
}

static void quiet_starts_afresh(void **state)
{
    (void)state;
    struct hold hold = { 0 };
    hold_withdraw(&hold, &config, 1000);
    hold_announce(&hold, 2000);
    hold_withdraw(&hold, &config, 3000);
    assert_int_equal(hold.delay_ms, 2000);
    hold_announce(&hold, 5000);
    assert_false(hold_is_idle(&hold, &config, 64999));
    assert_true(hold_is_idle(&hold, &config, 65000));
    hold_withdraw(&hold, &config, 65000);
    assert_int_equal(hold.delay_ms, 1000);

    /* Withdrawn and left alone, it is forgotten as well. */
    assert_false(hold_is_idle(&hold, &config, 66000 + 59999));
    assert_true(hold_is_idle(&hold, &config, 66000 + 60000));
}

static void zero_means_no_hold(void **state)
{
    (void)state;
    static const struct config none = { .routes = { .hold_initial_ms = 0, .hold_max_ms = 0 } };
    struct hold hold = { 0 };
    hold_withdraw(&hold, &none, 1000);
    assert_int_equal(hold.until_ms, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_up_to_the_cap),
        cmocka_unit_test(quiet_starts_afresh),
        cmocka_unit_test(zero_means_no_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
