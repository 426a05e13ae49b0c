// SPDX-License-Identifier: Apache-2.0
/*
 * One node's steps towards a tenure, with the clock and the store played by the test. What several
 * nodes make of it together is in test_tenure_races.c.
 */
#include <string.h>

#include "cmocka_all.h"
#include "plan/tenure.h"

enum { D = 10000, EARLY = 1000, LATE = 250, STEP = 250, WALL = 1700000 };

static struct lease_record record_of(const char *holder, int64_t acquired_wall_ms)
{
    struct lease_record record = { .duration_s = 10,
                                   .acquired_wall_ms = acquired_wall_ms,
                                   .renewed_wall_ms = acquired_wall_ms,
                                   .transitions = 3 };
    strncpy(record.holder, holder, sizeof(record.holder) - 1);
    return record;
}

static void assert_step(struct tenure *tenure, int64_t now_ms, enum tenure_step expected)
{
    assert_int_equal(tenure_next(tenure, now_ms, WALL + now_ms), expected);
}

static struct tenure ranked(int32_t rank, int64_t inherited_ms)
{
    struct tenure tenure;
    tenure_begin(&tenure, &tenure_rules_default, "a", inherited_ms);
    tenure_rank(&tenure, rank, 0);
    return tenure;
}

/* Knows that nobody has had it for long, and takes it at a time. */
static struct tenure holder(int64_t now_ms)
{
    struct tenure tenure = ranked(0, 0);
    assert_step(&tenure, now_ms, TENURE_READ);
    tenure_absent(&tenure, now_ms - D - LATE, now_ms);
    assert_step(&tenure, now_ms, TENURE_CREATE);
    tenure_wrote(&tenure, "1", now_ms + 100);
    assert_int_equal(tenure_until_ms(&tenure), now_ms + D - EARLY);
    tenure_installed(&tenure, true);
    return tenure;
}

static void rules_are_checked(void **state)
{
    (void)state;
    struct tenure_rules rules = tenure_rules_default;
    assert_null(tenure_rules_error(&rules));
    rules.duration_ms = 3000;
    assert_non_null(tenure_rules_error(&rules));
    rules.duration_ms = 4500;
    assert_non_null(tenure_rules_error(&rules));
    rules.duration_ms = 301000;
    assert_non_null(tenure_rules_error(&rules));
    rules.duration_ms = 4000;
    assert_null(tenure_rules_error(&rules));
    rules.early_ms = 999; /* a kernel's second, and its lateness */
    assert_non_null(tenure_rules_error(&rules));
    rules = tenure_rules_default;
    rules.late_ms = -1;
    assert_non_null(tenure_rules_error(&rules));
}

static void without_a_rank_nothing_is_asked(void **state)
{
    (void)state;
    struct tenure tenure = ranked(TENURE_NO_RANK, 0);
    assert_step(&tenure, 1000, TENURE_WAIT);
    assert_true(tenure_next_ms(&tenure) == INT64_MAX);
    assert_int_equal(tenure_until_ms(&tenure), 0);
}

static void renews_after_a_third_and_keeps_its_acquisition(void **state)
{
    (void)state;
    struct tenure tenure = holder(20000);
    assert_int_equal(tenure.wish.acquired_wall_ms, WALL + 20000);
    assert_int_equal(tenure.wish.transitions, 0);
    assert_int_equal(tenure_next_ms(&tenure), 20000 + D / 3);
    assert_step(&tenure, 20000 + D / 3 - 1, TENURE_WAIT);
    assert_step(&tenure, 24000, TENURE_UPDATE);
    assert_string_equal(tenure.version, "1");
    assert_int_equal(tenure.wish.acquired_wall_ms, WALL + 20000);
    assert_int_equal(tenure.wish.renewed_wall_ms, WALL + 24000);
    tenure_wrote(&tenure, "2", 26000);
    assert_int_equal(tenure_until_ms(&tenure), 24000 + D - EARLY); /* since it was sent */
}

/* 8.9 s are left 100 ms after it was sent: eight whole seconds, which may end 0.6 s late. */
static void lifetime_is_whole_seconds_within_the_right(void **state)
{
    (void)state;
    struct tenure tenure = holder(20000);
    assert_int_equal(tenure_lifetime_s(&tenure, 20100), 8);
    assert_int_equal(tenure_lifetime_s(&tenure, 28000), 1);
    assert_int_equal(tenure_lifetime_s(&tenure, 28001), 0);
    assert_int_equal(tenure_lifetime_s(&tenure, 90000), 0); /* as after a jump of the clock */
}

static void anothers_record_is_waited_out_in_order_of_rank(void **state)
{
    (void)state;
    struct tenure tenure = ranked(2, 0);
    struct lease_record record = record_of("b", 5);
    assert_step(&tenure, 1000, TENURE_READ);
    tenure_saw(&tenure, &record, "7", 1500);
    int64_t free_ms = 1500 + D + LATE + 2 * STEP;
    assert_int_equal(tenure_next_ms(&tenure), free_ms);
    tenure_heard(&tenure, &record, "8", 4000); /* renewed: only the version tells */
    free_ms += 2500;
    assert_step(&tenure, free_ms - 1, TENURE_WAIT);
    assert_step(&tenure, free_ms, TENURE_UPDATE);
    assert_string_equal(tenure.version, "8");
    assert_int_equal(tenure.wish.transitions, 4);
    tenure_failed(&tenure, true, free_ms + 5); /* renewed meanwhile, unheard */
    assert_int_equal(tenure_until_ms(&tenure), 0);
    assert_step(&tenure, free_ms + 6, TENURE_READ);
    tenure_saw(&tenure, &record, "9", free_ms + 7);
    assert_step(&tenure, free_ms + D, TENURE_WAIT);
}

static void its_duration_is_the_records(void **state)
{
    (void)state;
    struct tenure tenure = ranked(0, 0);
    struct lease_record record = record_of("b", 5);
    record.duration_s = 60;
    assert_step(&tenure, 0, TENURE_READ);
    tenure_saw(&tenure, &record, "7", 0);
    assert_int_equal(tenure_next_ms(&tenure), 60000 + LATE);
    record.duration_s = 0; /* not said */
    tenure_heard(&tenure, &record, "8", 0);
    assert_int_equal(tenure_next_ms(&tenure), D + LATE);
    record.coordinated = true;
    tenure_heard(&tenure, &record, "9", 0);
    assert_true(tenure_next_ms(&tenure) == INT64_MAX);
}

/* Of an earlier life, or of another machine with this name: who knows what its kernel has. */
static void own_name_alone_is_no_right(void **state)
{
    (void)state;
    struct tenure tenure = ranked(0, 0);
    struct lease_record record = record_of("a", 5);
    assert_step(&tenure, 0, TENURE_READ);
    tenure_saw(&tenure, &record, "7", 0);
    assert_int_equal(tenure_until_ms(&tenure), 0);
    assert_step(&tenure, D + LATE - 1, TENURE_WAIT);
    assert_step(&tenure, D + LATE, TENURE_UPDATE);
    assert_int_equal(tenure.wish.transitions, 3); /* the holder's name stays */
}

static void what_the_kernel_has_is_renewed_at_once(void **state)
{
    (void)state;
    struct tenure tenure = ranked(0, 7000);
    struct lease_record record = record_of("a", 5);
    assert_int_equal(tenure_until_ms(&tenure), 7000);
    assert_step(&tenure, 1000, TENURE_READ);
    tenure_saw(&tenure, &record, "7", 1010);
    assert_step(&tenure, 1010, TENURE_UPDATE);
    assert_int_equal(tenure.wish.acquired_wall_ms, 5);
    tenure_wrote(&tenure, "8", 1020);
    assert_int_equal(tenure_until_ms(&tenure), 1010 + D - EARLY);

    tenure = ranked(0, 7000);
    record = record_of("b", 5);
    assert_step(&tenure, 1000, TENURE_READ);
    tenure_saw(&tenure, &record, "7", 1010);
    assert_int_equal(tenure_until_ms(&tenure), 0);
}

/* Longer than a claim without the store: gone, and taken at once if the record is the same still.
 */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_checked),
        cmocka_unit_test(without_a_rank_nothing_is_asked),
        cmocka_unit_test(renews_after_a_third_and_keeps_its_acquisition),
        cmocka_unit_test(lifetime_is_whole_seconds_within_the_right),
        cmocka_unit_test(anothers_record_is_waited_out_in_order_of_rank),
        cmocka_unit_test(its_duration_is_the_records),
        cmocka_unit_test(own_name_alone_is_no_right),
        cmocka_unit_test(what_the_kernel_has_is_renewed_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
