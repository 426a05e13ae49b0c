// SPDX-License-Identifier: Apache-2.0
/*
 * One node's steps towards a tenure, with the clock and the store played by the test. What several
 * nodes make of it together is in test_tenure_races.c.
 * This file is long because each step of one state machine has its case.
 */
#include <string.h>

#include "base/macro.h"
#include "cmocka_all.h"
#include "plan/claims/tenure.h"

enum { D = 10000, EARLY = 1000, LATE = 250, STEP = 40, RETRY = 250, WALL = 1700000 };

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
    rules.step_most_ms = rules.step_ms - 1;
    assert_non_null(tenure_rules_error(&rules));
    rules.step_most_ms = 250;
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

static void what_nobody_holds_is_taken_at_once(void **state)
{
    (void)state;
    struct tenure tenure = ranked(1, 0);
    struct lease_record record = record_of("", 5);
    assert_step(&tenure, 5000, TENURE_READ);
    tenure_saw(&tenure, &record, "7", 5000);
    assert_step(&tenure, 5000 + STEP, TENURE_UPDATE);
}

/* The first is to be heard of before the second asks: further apart by as much as that takes. */
static void ranks_are_as_far_apart_as_the_store_is_slow(void **state)
{
    (void)state;
    static const struct {
        int64_t answer_ms, step_ms;
    } rows[] = { { 0, 40 }, { 13, 40 }, { 20, 60 }, { 83, 249 }, { 84, 250 }, { 60000, 250 } };
    struct lease_record record = record_of("", 5);
    for (int32_t rank = 0; rank < 4; rank++) {
        struct tenure tenure = ranked(rank, 0);
        assert_step(&tenure, 5000, TENURE_READ);
        tenure_saw(&tenure, &record, "7", 5000);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
            tenure_pace(&tenure, rows[i].answer_ms);
            assert_int_equal(tenure_next_ms(&tenure), 5000 + rank * rows[i].step_ms);
        }
    }
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

static void foreign_record_ends_it_at_once(void **state)
{
    (void)state;
    struct tenure tenure = holder(20000);
    struct lease_record record = record_of("b", 9);
    tenure_heard(&tenure, &record, "0", 21000); /* perhaps an old one: it looks itself */
    assert_int_equal(tenure_until_ms(&tenure), 20000 + D - EARLY);
    assert_step(&tenure, 21000, TENURE_READ);
    tenure_saw(&tenure, &record, "4", 21010);
    assert_int_equal(tenure_until_ms(&tenure), 0);
    assert_step(&tenure, 21010, TENURE_WAIT);
}

/* The write was done first, and its answer comes last. */
static void what_was_heard_during_a_write_is_read_behind_it(void **state)
{
    (void)state;
    struct tenure tenure = holder(20000);
    struct lease_record record = record_of("b", 9);
    assert_step(&tenure, 23400, TENURE_UPDATE);
    tenure_heard(&tenure, &record, "5", 24000);
    tenure_wrote(&tenure, "4", 24500);
    assert_step(&tenure, 24500, TENURE_READ);
    tenure_saw(&tenure, &record, "5", 24510);
    assert_int_equal(tenure_until_ms(&tenure), 0);
}

static void conflicts_without_a_change_come_ever_later(void **state)
{
    (void)state;
    struct tenure tenure = ranked(0, 0);
    struct lease_record record = record_of("", 5);
    int64_t now_ms = 0, began_ms = 0;
    assert_step(&tenure, now_ms, TENURE_READ);
    tenure_saw(&tenure, &record, "7", now_ms);
    for (int i = 0; i < 20; i++) {
        now_ms = began_ms = MAX(now_ms, tenure_next_ms(&tenure));
        assert_step(&tenure, now_ms, TENURE_UPDATE);
        tenure_failed(&tenure, true, now_ms);
        now_ms = MAX(now_ms, tenure_next_ms(&tenure));
        assert_step(&tenure, now_ms, TENURE_READ);
        tenure_saw(&tenure, &record, "7", now_ms);
    }
    assert_int_equal(now_ms - began_ms, D / 2); /* somebody refuses by conflicts */
}

static int64_t refused_at(struct tenure *tenure, int64_t now_ms, int64_t retry_after_ms)
{
    now_ms = MAX(now_ms, tenure_next_ms(tenure));
    assert_step(tenure, now_ms, TENURE_READ);
    tenure_refused(tenure, retry_after_ms, now_ms);
    return now_ms;
}

static void refusals_are_asked_again_ever_later(void **state)
{
    (void)state;
    static const int64_t pauses[] = { 250, 500, 1000, 2000, 4000, D / 2, D / 2 };
    struct tenure tenure = ranked(0, 0);
    int64_t now_ms = 0;
    for (size_t i = 0; i < ARRAY_SIZE(pauses); i++) {
        now_ms = refused_at(&tenure, now_ms, 0);
        assert_int_equal(tenure_next_ms(&tenure), now_ms + pauses[i]);
    }
    /* By chance up to a fifth earlier, and never before the store wants to be asked. */
    tenure_draw(&tenure, UINT32_MAX);
    now_ms = refused_at(&tenure, now_ms, 0);
    assert_in_range(tenure_next_ms(&tenure) - now_ms, D / 2 - D / 10, D / 2 - D / 10 + 1);
    now_ms = refused_at(&tenure, now_ms, 30000);
    assert_in_range(tenure_next_ms(&tenure) - now_ms, 35000, 36000);
    tenure_draw(&tenure, 0);
    now_ms = refused_at(&tenure, now_ms, 90000);
    assert_int_equal(tenure_next_ms(&tenure), now_ms + 90000);
}

/* Once more while an answer is of use, whatever the store wants. */
static void refused_holder_asks_before_its_right_ends(void **state)
{
    (void)state;
    static const int64_t wanted[] = { 0, 1000, 30000 };
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        struct tenure tenure = holder(20000);
        struct lease_record own = tenure.wish;
        int64_t now_ms = 20000 + D / 3, last_ms = 0;
        assert_step(&tenure, now_ms, TENURE_UPDATE);
        tenure_refused(&tenure, wanted[i], now_ms);
        unsigned tries = 0;
        for (; tenure_until_ms(&tenure) > tenure_next_ms(&tenure); tries++) {
            last_ms = tenure_next_ms(&tenure);
            assert_step(&tenure, last_ms, TENURE_READ);
            tenure_saw(&tenure, &own, "1", last_ms);
            assert_step(&tenure, last_ms, TENURE_UPDATE);
            tenure_refused(&tenure, wanted[i], last_ms);
        }
        assert_in_range(tries, 1, 6);
        assert_in_range(last_ms, 20000 + D - EARLY - 1000 - 1500, 20000 + D - EARLY - 1000 - 250);
    }
}

static void echo_of_its_own_write_is_no_news(void **state)
{
    (void)state;
    struct tenure tenure = holder(20000);
    struct lease_record own = tenure.wish;
    tenure_heard(&tenure, &own, "1", 20200);
    assert_step(&tenure, 20200, TENURE_WAIT);
    own.renewed_wall_ms--;
    tenure_heard(&tenure, &own, "0", 20200); /* a late one */
    assert_step(&tenure, 20200, TENURE_WAIT);
}

static void lost_answer_is_read(void **state)
{
    (void)state;
    struct tenure tenure = ranked(0, 0);
    struct lease_record free = record_of("", 5);
    assert_step(&tenure, 0, TENURE_READ);
    tenure_saw(&tenure, &free, "7", 0);
    assert_step(&tenure, 0, TENURE_UPDATE);
    struct lease_record wish = tenure.wish;
    tenure_failed(&tenure, false, 2000);
    assert_int_equal(tenure_until_ms(&tenure), 0);
    assert_step(&tenure, 2000 + RETRY - 1, TENURE_WAIT);
    assert_step(&tenure, 2000 + RETRY, TENURE_READ);
    tenure_saw(&tenure, &wish, "8", 2300);
    assert_int_equal(tenure_until_ms(&tenure), D - EARLY); /* since it was sent */
    assert_step(&tenure, D / 3 - 1, TENURE_WAIT);
    assert_step(&tenure, D / 3, TENURE_UPDATE);
    tenure_wrote(&tenure, "9", D / 3 + 10);
    assert_int_equal(tenure_until_ms(&tenure), D / 3 + D - EARLY);
}

static void failures_are_tried_again_ever_later(void **state)
{
    (void)state;
    struct tenure tenure = ranked(0, 0);
    int64_t now = 0, pauses[] = { 250, 500, 700, 700 };
    for (size_t i = 0; i < ARRAY_SIZE(pauses); i++) {
        assert_step(&tenure, now, TENURE_READ);
        tenure_failed(&tenure, false, now);
        assert_int_equal(tenure_next_ms(&tenure), now + pauses[i]);
        now += pauses[i];
    }
}

/* The same content again changes no version: nobody has seen that the holder lives. */
static void write_that_changed_nothing_does_not_count(void **state)
{
    (void)state;
    struct tenure tenure = holder(20000);
    assert_step(&tenure, 24000, TENURE_UPDATE);
    tenure_wrote(&tenure, "1", 24010);
    assert_int_equal(tenure_until_ms(&tenure), 20000 + D - EARLY);
    assert_step(&tenure, 24010 + RETRY, TENURE_READ);
}

static void given_back_once_the_kernel_has_it_no_more(void **state)
{
    (void)state;
    struct tenure tenure = holder(20000);
    tenure_rank(&tenure, TENURE_NO_RANK, 21000);
    assert_int_equal(tenure_until_ms(&tenure), 0);
    assert_step(&tenure, 21000, TENURE_WAIT);
    tenure_installed(&tenure, false);
    assert_step(&tenure, 21010, TENURE_RELEASE);
    assert_string_equal(tenure.wish.holder, "");
    /* Wanted again, while another may have it already. */
    tenure_rank(&tenure, 0, 21020);
    assert_int_equal(tenure_until_ms(&tenure), 0);
    tenure_wrote(&tenure, "2", 21030);
    assert_int_equal(tenure_until_ms(&tenure), 0);
    assert_step(&tenure, 21030, TENURE_UPDATE);
    assert_int_equal(tenure.wish.transitions, 1);
}

static void lost_release_is_found_by_reading(void **state)
{
    (void)state;
    struct tenure tenure = holder(20000);
    struct lease_record own = tenure.seen;
    tenure_rank(&tenure, TENURE_NO_RANK, 21000);
    tenure_installed(&tenure, false);
    assert_step(&tenure, 21010, TENURE_RELEASE);
    tenure_failed(&tenure, false, 23000);
    assert_step(&tenure, 23250, TENURE_READ);
    tenure_saw(&tenure, &own, "1", 23260);
    assert_step(&tenure, 23260, TENURE_RELEASE);
    tenure_failed(&tenure, true, 23270);
    assert_step(&tenure, 24270, TENURE_READ);
    struct lease_record other = record_of("b", 9);
    tenure_saw(&tenure, &other, "3", 24280);
    assert_true(tenure_next_ms(&tenure) == INT64_MAX);
}

/* Longer than a claim without the store: gone, and taken at once if the record is the same still.
 */
static void outage_ends_it_and_the_store_brings_it_back(void **state)
{
    (void)state;
    struct tenure tenure = holder(20000);
    struct lease_record own = tenure.seen;
    int64_t now = 24000;
    for (enum tenure_step step = TENURE_UPDATE; now < 40000; step = TENURE_READ) {
        assert_step(&tenure, now, step);
        tenure_failed(&tenure, false, now);
        now = tenure_next_ms(&tenure);
    }
    assert_true(tenure_until_ms(&tenure) < now);
    assert_step(&tenure, now, TENURE_READ);
    tenure_saw(&tenure, &own, "1", now);
    assert_step(&tenure, now, TENURE_UPDATE);
    assert_int_equal(tenure.wish.acquired_wall_ms, WALL + now); /* a tenure of its own */
}

/* The store hung: it did what it was asked long after the asker had given up, and all others wait
 * for that to end. So nobody has taken it since. */
static void late_write_of_its_own_is_taken_up(void **state)
{
    (void)state;
    struct tenure tenure = holder(20000);
    struct lease_record own = tenure.seen, other = record_of("b", 9);
    assert_step(&tenure, 24000, TENURE_UPDATE);
    struct lease_record wish = tenure.wish;
    tenure_failed(&tenure, false, 26500);
    assert_step(&tenure, 36000, TENURE_READ);
    tenure_saw(&tenure, &own, "1", 36010); /* it is not done yet */
    assert_step(&tenure, 36010, TENURE_UPDATE);
    tenure_failed(&tenure, true, 36020);
    assert_step(&tenure, tenure_next_ms(&tenure), TENURE_READ);
    tenure_saw(&tenure, &wish, "2", 38010);
    assert_int_equal(tenure_lifetime_s(&tenure, 38010), 0); /* a renewal has to succeed first */
    assert_step(&tenure, 38010, TENURE_UPDATE);
    assert_string_equal(tenure.version, "2");
    tenure_wrote(&tenure, "3", 38020);
    assert_int_equal(tenure_until_ms(&tenure), 38010 + D - EARLY);
    /* Not after another had it. */
    tenure_heard(&tenure, &other, "5", 40000);
    assert_step(&tenure, 40000, TENURE_READ);
    tenure_saw(&tenure, &other, "5", 40000);
    tenure_heard(&tenure, &wish, "2", 41000);
    assert_int_equal(tenure_next_ms(&tenure), 41000 + D + LATE);
}

/* Its clock ran ahead: no time in which the holder could have been heard. */
static void time_that_was_slept_is_not_waited(void **state)
{
    (void)state;
    struct tenure tenure = ranked(0, 0);
    struct lease_record record = record_of("b", 5);
    assert_step(&tenure, 1000, TENURE_READ);
    tenure_saw(&tenure, &record, "7", 1500);
    tenure_slept(&tenure, 30000, 33000);
    assert_int_equal(tenure_next_ms(&tenure), 31500 + D + LATE);
    tenure_heard(&tenure, &record, "8", 34000);
    tenure_slept(&tenure, 30000, 34100); /* noticed after what was heard */
    assert_int_equal(tenure_next_ms(&tenure), 34100 + D + LATE);
    /* Its own record is another's if that has changed, which a write will tell. */
    tenure = holder(20000);
    tenure_slept(&tenure, 60000, 81000);
    assert_int_equal(tenure_lifetime_s(&tenure, 81000), 0);
    assert_step(&tenure, 81000, TENURE_UPDATE);
    assert_string_equal(tenure.version, "1");
}

/* etcd was restored: its old record of this node, after another had it, is not a right. */
static void restored_record_is_waited_out(void **state)
{
    (void)state;
    struct tenure tenure = holder(20000);
    struct lease_record own = tenure.seen, other = record_of("b", 9);
    tenure_heard(&tenure, &other, "5", 36000);
    assert_step(&tenure, 36000, TENURE_READ);
    tenure_saw(&tenure, &other, "5", 36000);
    tenure_heard(&tenure, &own, "1", 37000);
    assert_step(&tenure, 37000, TENURE_WAIT);
    assert_int_equal(tenure_next_ms(&tenure), 37000 + D + LATE);
}

static void record_that_is_gone_binds_like_a_new_one(void **state)
{
    (void)state;
    struct tenure tenure = ranked(0, 0);
    struct lease_record record = record_of("b", 5);
    assert_step(&tenure, 0, TENURE_READ);
    tenure_saw(&tenure, &record, "7", 0);
    tenure_heard(&tenure, NULL, "", 9000);
    assert_int_equal(tenure_next_ms(&tenure), 9000 + D + LATE);
    assert_step(&tenure, 9000 + D + LATE, TENURE_READ); /* it may have come and gone */
    tenure_absent(&tenure, 0, 9000 + D + LATE);
    assert_step(&tenure, 9000 + D + LATE, TENURE_CREATE);

    tenure = ranked(0, 0);
    assert_step(&tenure, 5000, TENURE_READ);
    tenure_absent(&tenure, 5000, 5000); /* nobody watched: a holder may have lost it just now */
    assert_int_equal(tenure_next_ms(&tenure), 5000 + D + LATE);
}

static void anothers_time_ends_without_a_renewal(void **state)
{
    (void)state;
    struct tenure tenure = ranked(TENURE_NO_RANK, 0);
    struct lease_record record = record_of("b", 5);
    assert_int_equal(tenure_others_end_ms(&tenure), INT64_MAX); /* nothing is known */
    tenure_heard(&tenure, &record, "7", 1000);
    assert_int_equal(tenure_others_end_ms(&tenure), 1000 + D + LATE);
    tenure_heard(&tenure, &record, "8", 4000);
    assert_int_equal(tenure_others_end_ms(&tenure), 4000 + D + LATE);
    record.holder[0] = '\0';
    tenure_heard(&tenure, &record, "9", 5000);
    assert_int_equal(tenure_others_end_ms(&tenure), INT64_MAX);
}

static void holder_makes_a_deleted_record_anew(void **state)
{
    (void)state;
    struct tenure tenure = holder(20000);
    tenure_heard(&tenure, NULL, "", 21000);
    assert_step(&tenure, 21000, TENURE_READ);
    tenure_absent(&tenure, 0, 21010);
    assert_int_equal(tenure_until_ms(&tenure), 20000 + D - EARLY);
    assert_step(&tenure, 21010, TENURE_CREATE);
    tenure_wrote(&tenure, "9", 21020);
    assert_int_equal(tenure_until_ms(&tenure), 21010 + D - EARLY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_checked),
        cmocka_unit_test(without_a_rank_nothing_is_asked),
        cmocka_unit_test(renews_after_a_third_and_keeps_its_acquisition),
        cmocka_unit_test(lifetime_is_whole_seconds_within_the_right),
        cmocka_unit_test(anothers_record_is_waited_out_in_order_of_rank),
        cmocka_unit_test(ranks_are_as_far_apart_as_the_store_is_slow),
        cmocka_unit_test(its_duration_is_the_records),
        cmocka_unit_test(what_nobody_holds_is_taken_at_once),
        cmocka_unit_test(own_name_alone_is_no_right),
        cmocka_unit_test(what_the_kernel_has_is_renewed_at_once),
        cmocka_unit_test(foreign_record_ends_it_at_once),
        cmocka_unit_test(what_was_heard_during_a_write_is_read_behind_it),
        cmocka_unit_test(conflicts_without_a_change_come_ever_later),
        cmocka_unit_test(refusals_are_asked_again_ever_later),
        cmocka_unit_test(refused_holder_asks_before_its_right_ends),
        cmocka_unit_test(echo_of_its_own_write_is_no_news),
        cmocka_unit_test(lost_answer_is_read),
        cmocka_unit_test(failures_are_tried_again_ever_later),
        cmocka_unit_test(write_that_changed_nothing_does_not_count),
        cmocka_unit_test(given_back_once_the_kernel_has_it_no_more),
        cmocka_unit_test(lost_release_is_found_by_reading),
        cmocka_unit_test(outage_ends_it_and_the_store_brings_it_back),
        cmocka_unit_test(late_write_of_its_own_is_taken_up),
        cmocka_unit_test(time_that_was_slept_is_not_waited),
        cmocka_unit_test(restored_record_is_waited_out),
        cmocka_unit_test(record_that_is_gone_binds_like_a_new_one),
        cmocka_unit_test(anothers_time_ends_without_a_renewal),
        cmocka_unit_test(holder_makes_a_deleted_record_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
