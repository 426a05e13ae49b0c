// SPDX-License-Identifier: Apache-2.0
/*
 * One node's steps towards a lease, with the clock and the store played by the test. What several
 * nodes make of it together is in test_lease_races.c.
 * This file is long because each step of one state machine has its case.
 */
#include <string.h>

#include "base/macro.h"
#include "cmocka_all.h"
#include "plan/claims/lease_state.h"

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

static void assert_step(struct lease *lease, int64_t now_ms, enum lease_step expected)
{
    assert_int_equal(lease_next(lease, now_ms, WALL + now_ms), expected);
}

static struct lease ranked(int32_t rank, int64_t inherited_ms)
{
    struct lease lease;
    lease_begin(&lease, &lease_rules_default, "a", inherited_ms);
    lease_rank(&lease, rank, 0);
    return lease;
}

/* Knows that nobody has had it for long, and takes it at a time. */
static struct lease holder(int64_t now_ms)
{
    struct lease lease = ranked(0, 0);
    assert_step(&lease, now_ms, LEASE_READ);
    lease_absent(&lease, now_ms - D - LATE, now_ms);
    assert_step(&lease, now_ms, LEASE_CREATE);
    lease_wrote(&lease, "1", now_ms + 100);
    assert_int_equal(lease_until_ms(&lease), now_ms + D - EARLY);
    lease_installed(&lease, true);
    return lease;
}

static void rules_are_checked(void **state)
{
    (void)state;
    struct lease_rules rules = lease_rules_default;
    assert_null(lease_rules_error(&rules));
    rules.duration_ms = 3000;
    assert_non_null(lease_rules_error(&rules));
    rules.duration_ms = 4500;
    assert_non_null(lease_rules_error(&rules));
    rules.duration_ms = 301000;
    assert_non_null(lease_rules_error(&rules));
    rules.duration_ms = 4000;
    assert_null(lease_rules_error(&rules));
    rules.step_most_ms = rules.step_ms - 1;
    assert_non_null(lease_rules_error(&rules));
    rules.step_most_ms = 250;
    rules.early_ms = 999; /* a kernel's second, and its lateness */
    assert_non_null(lease_rules_error(&rules));
    rules = lease_rules_default;
    rules.late_ms = -1;
    assert_non_null(lease_rules_error(&rules));
}

static void without_a_rank_nothing_is_asked(void **state)
{
    (void)state;
    struct lease lease = ranked(LEASE_NO_RANK, 0);
    assert_step(&lease, 1000, LEASE_WAIT);
    assert_true(lease_next_ms(&lease) == INT64_MAX);
    assert_int_equal(lease_until_ms(&lease), 0);
}

static void renews_after_a_third_and_keeps_its_acquisition(void **state)
{
    (void)state;
    struct lease lease = holder(20000);
    assert_int_equal(lease.desired.acquired_wall_ms, WALL + 20000);
    assert_int_equal(lease.desired.transitions, 0);
    assert_int_equal(lease_next_ms(&lease), 20000 + D / 3);
    assert_step(&lease, 20000 + D / 3 - 1, LEASE_WAIT);
    assert_step(&lease, 24000, LEASE_UPDATE);
    assert_string_equal(lease.version, "1");
    assert_int_equal(lease.desired.acquired_wall_ms, WALL + 20000);
    assert_int_equal(lease.desired.renewed_wall_ms, WALL + 24000);
    lease_wrote(&lease, "2", 26000);
    assert_int_equal(lease_until_ms(&lease), 24000 + D - EARLY); /* since it was sent */
}

/* 8.9 s are left 100 ms after it was sent: eight whole seconds, which may end 0.6 s late. */
static void lifetime_is_whole_seconds_within_the_right(void **state)
{
    (void)state;
    struct lease lease = holder(20000);
    assert_int_equal(lease_lifetime_s(&lease, 20100), 8);
    assert_int_equal(lease_lifetime_s(&lease, 28000), 1);
    assert_int_equal(lease_lifetime_s(&lease, 28001), 0);
    assert_int_equal(lease_lifetime_s(&lease, 90000), 0); /* as after a jump of the clock */
}

static void anothers_record_is_waited_out_in_order_of_rank(void **state)
{
    (void)state;
    struct lease lease = ranked(2, 0);
    struct lease_record record = record_of("b", 5);
    assert_step(&lease, 1000, LEASE_READ);
    lease_saw(&lease, &record, "7", 1500);
    int64_t free_ms = 1500 + D + LATE + 2 * STEP;
    assert_int_equal(lease_next_ms(&lease), free_ms);
    lease_heard(&lease, &record, "8", 4000); /* renewed: only the version tells */
    free_ms += 2500;
    assert_step(&lease, free_ms - 1, LEASE_WAIT);
    assert_step(&lease, free_ms, LEASE_UPDATE);
    assert_string_equal(lease.version, "8");
    assert_int_equal(lease.desired.transitions, 4);
    lease_failed(&lease, true, free_ms + 5); /* renewed meanwhile, unheard */
    assert_int_equal(lease_until_ms(&lease), 0);
    assert_step(&lease, free_ms + 6, LEASE_READ);
    lease_saw(&lease, &record, "9", free_ms + 7);
    assert_step(&lease, free_ms + D, LEASE_WAIT);
}

static void its_duration_is_the_records(void **state)
{
    (void)state;
    struct lease lease = ranked(0, 0);
    struct lease_record record = record_of("b", 5);
    record.duration_s = 60;
    assert_step(&lease, 0, LEASE_READ);
    lease_saw(&lease, &record, "7", 0);
    assert_int_equal(lease_next_ms(&lease), 60000 + LATE);
    record.duration_s = 0; /* not said */
    lease_heard(&lease, &record, "8", 0);
    assert_int_equal(lease_next_ms(&lease), D + LATE);
    record.coordinated = true;
    lease_heard(&lease, &record, "9", 0);
    assert_true(lease_next_ms(&lease) == INT64_MAX);
}

static void what_nobody_holds_is_taken_at_once(void **state)
{
    (void)state;
    struct lease lease = ranked(1, 0);
    struct lease_record record = record_of("", 5);
    assert_step(&lease, 5000, LEASE_READ);
    lease_saw(&lease, &record, "7", 5000);
    assert_step(&lease, 5000 + STEP, LEASE_UPDATE);
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
        struct lease lease = ranked(rank, 0);
        assert_step(&lease, 5000, LEASE_READ);
        lease_saw(&lease, &record, "7", 5000);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
            lease_pace(&lease, rows[i].answer_ms);
            assert_int_equal(lease_next_ms(&lease), 5000 + rank * rows[i].step_ms);
        }
    }
}

/* Of an earlier life, or of another machine with this name: who knows what its kernel has. */
static void own_name_alone_is_no_right(void **state)
{
    (void)state;
    struct lease lease = ranked(0, 0);
    struct lease_record record = record_of("a", 5);
    assert_step(&lease, 0, LEASE_READ);
    lease_saw(&lease, &record, "7", 0);
    assert_int_equal(lease_until_ms(&lease), 0);
    assert_step(&lease, D + LATE - 1, LEASE_WAIT);
    assert_step(&lease, D + LATE, LEASE_UPDATE);
    assert_int_equal(lease.desired.transitions, 3); /* the holder's name stays */
}

static void what_the_kernel_has_is_renewed_at_once(void **state)
{
    (void)state;
    struct lease lease = ranked(0, 7000);
    struct lease_record record = record_of("a", 5);
    assert_int_equal(lease_until_ms(&lease), 7000);
    assert_step(&lease, 1000, LEASE_READ);
    lease_saw(&lease, &record, "7", 1010);
    assert_step(&lease, 1010, LEASE_UPDATE);
    assert_int_equal(lease.desired.acquired_wall_ms, 5);
    lease_wrote(&lease, "8", 1020);
    assert_int_equal(lease_until_ms(&lease), 1010 + D - EARLY);

    lease = ranked(0, 7000);
    record = record_of("b", 5);
    assert_step(&lease, 1000, LEASE_READ);
    lease_saw(&lease, &record, "7", 1010);
    assert_int_equal(lease_until_ms(&lease), 0);
}

static void foreign_record_ends_it_at_once(void **state)
{
    (void)state;
    struct lease lease = holder(20000);
    struct lease_record record = record_of("b", 9);
    lease_heard(&lease, &record, "0", 21000); /* perhaps an old one: it looks itself */
    assert_int_equal(lease_until_ms(&lease), 20000 + D - EARLY);
    assert_step(&lease, 21000, LEASE_READ);
    lease_saw(&lease, &record, "4", 21010);
    assert_int_equal(lease_until_ms(&lease), 0);
    assert_step(&lease, 21010, LEASE_WAIT);
}

/* The write was done first, and its answer comes last. */
static void what_was_heard_during_a_write_is_read_behind_it(void **state)
{
    (void)state;
    struct lease lease = holder(20000);
    struct lease_record record = record_of("b", 9);
    assert_step(&lease, 23400, LEASE_UPDATE);
    lease_heard(&lease, &record, "5", 24000);
    lease_wrote(&lease, "4", 24500);
    assert_step(&lease, 24500, LEASE_READ);
    lease_saw(&lease, &record, "5", 24510);
    assert_int_equal(lease_until_ms(&lease), 0);
}

static void conflicts_without_a_change_come_ever_later(void **state)
{
    (void)state;
    struct lease lease = ranked(0, 0);
    struct lease_record record = record_of("", 5);
    int64_t now_ms = 0, began_ms = 0;
    assert_step(&lease, now_ms, LEASE_READ);
    lease_saw(&lease, &record, "7", now_ms);
    for (int i = 0; i < 20; i++) {
        now_ms = began_ms = MAX(now_ms, lease_next_ms(&lease));
        assert_step(&lease, now_ms, LEASE_UPDATE);
        lease_failed(&lease, true, now_ms);
        now_ms = MAX(now_ms, lease_next_ms(&lease));
        assert_step(&lease, now_ms, LEASE_READ);
        lease_saw(&lease, &record, "7", now_ms);
    }
    assert_int_equal(now_ms - began_ms, D / 2); /* somebody refuses by conflicts */
}

static int64_t refused_at(struct lease *lease, int64_t now_ms, int64_t retry_after_ms)
{
    now_ms = MAX(now_ms, lease_next_ms(lease));
    assert_step(lease, now_ms, LEASE_READ);
    lease_refused(lease, retry_after_ms, now_ms);
    return now_ms;
}

static void refusals_are_asked_again_ever_later(void **state)
{
    (void)state;
    static const int64_t pauses[] = { 250, 500, 1000, 2000, 4000, D / 2, D / 2 };
    struct lease lease = ranked(0, 0);
    int64_t now_ms = 0;
    for (size_t i = 0; i < ARRAY_SIZE(pauses); i++) {
        now_ms = refused_at(&lease, now_ms, 0);
        assert_int_equal(lease_next_ms(&lease), now_ms + pauses[i]);
    }
    /* By chance up to a fifth earlier, and never before the store wants to be asked. */
    lease_draw(&lease, UINT32_MAX);
    now_ms = refused_at(&lease, now_ms, 0);
    assert_in_range(lease_next_ms(&lease) - now_ms, D / 2 - D / 10, D / 2 - D / 10 + 1);
    now_ms = refused_at(&lease, now_ms, 30000);
    assert_in_range(lease_next_ms(&lease) - now_ms, 35000, 36000);
    lease_draw(&lease, 0);
    now_ms = refused_at(&lease, now_ms, 90000);
    assert_int_equal(lease_next_ms(&lease), now_ms + 90000);
}

/* Once more while an answer is of use, whatever the store wants. */
static void refused_holder_asks_before_its_right_ends(void **state)
{
    (void)state;
    static const int64_t wanted[] = { 0, 1000, 30000 };
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        struct lease lease = holder(20000);
        struct lease_record own = lease.desired;
        int64_t now_ms = 20000 + D / 3, last_ms = 0;
        assert_step(&lease, now_ms, LEASE_UPDATE);
        lease_refused(&lease, wanted[i], now_ms);
        unsigned tries = 0;
        for (; lease_until_ms(&lease) > lease_next_ms(&lease); tries++) {
            last_ms = lease_next_ms(&lease);
            assert_step(&lease, last_ms, LEASE_READ);
            lease_saw(&lease, &own, "1", last_ms);
            assert_step(&lease, last_ms, LEASE_UPDATE);
            lease_refused(&lease, wanted[i], last_ms);
        }
        assert_in_range(tries, 1, 6);
        assert_in_range(last_ms, 20000 + D - EARLY - 1000 - 1500, 20000 + D - EARLY - 1000 - 250);
    }
}

static void echo_of_its_own_write_is_no_news(void **state)
{
    (void)state;
    struct lease lease = holder(20000);
    struct lease_record own = lease.desired;
    lease_heard(&lease, &own, "1", 20200);
    assert_step(&lease, 20200, LEASE_WAIT);
    own.renewed_wall_ms--;
    lease_heard(&lease, &own, "0", 20200); /* a late one */
    assert_step(&lease, 20200, LEASE_WAIT);
}

static void lost_answer_is_read(void **state)
{
    (void)state;
    struct lease lease = ranked(0, 0);
    struct lease_record free = record_of("", 5);
    assert_step(&lease, 0, LEASE_READ);
    lease_saw(&lease, &free, "7", 0);
    assert_step(&lease, 0, LEASE_UPDATE);
    struct lease_record desired = lease.desired;
    lease_failed(&lease, false, 2000);
    assert_int_equal(lease_until_ms(&lease), 0);
    assert_step(&lease, 2000 + RETRY - 1, LEASE_WAIT);
    assert_step(&lease, 2000 + RETRY, LEASE_READ);
    lease_saw(&lease, &desired, "8", 2300);
    assert_int_equal(lease_until_ms(&lease), D - EARLY); /* since it was sent */
    assert_step(&lease, D / 3 - 1, LEASE_WAIT);
    assert_step(&lease, D / 3, LEASE_UPDATE);
    lease_wrote(&lease, "9", D / 3 + 10);
    assert_int_equal(lease_until_ms(&lease), D / 3 + D - EARLY);
}

static void failures_are_tried_again_ever_later(void **state)
{
    (void)state;
    struct lease lease = ranked(0, 0);
    int64_t now = 0, pauses[] = { 250, 500, 700, 700 };
    for (size_t i = 0; i < ARRAY_SIZE(pauses); i++) {
        assert_step(&lease, now, LEASE_READ);
        lease_failed(&lease, false, now);
        assert_int_equal(lease_next_ms(&lease), now + pauses[i]);
        now += pauses[i];
    }
}

/* The same content again changes no version: nobody has seen that the holder lives. */
static void write_that_changed_nothing_does_not_count(void **state)
{
    (void)state;
    struct lease lease = holder(20000);
    assert_step(&lease, 24000, LEASE_UPDATE);
    lease_wrote(&lease, "1", 24010);
    assert_int_equal(lease_until_ms(&lease), 20000 + D - EARLY);
    assert_step(&lease, 24010 + RETRY, LEASE_READ);
}

static void given_back_once_the_kernel_has_it_no_more(void **state)
{
    (void)state;
    struct lease lease = holder(20000);
    lease_rank(&lease, LEASE_NO_RANK, 21000);
    assert_int_equal(lease_until_ms(&lease), 0);
    assert_step(&lease, 21000, LEASE_WAIT);
    lease_installed(&lease, false);
    assert_step(&lease, 21010, LEASE_RELEASE);
    assert_string_equal(lease.desired.holder, "");
    /* Wanted again, while another may have it already. */
    lease_rank(&lease, 0, 21020);
    assert_int_equal(lease_until_ms(&lease), 0);
    lease_wrote(&lease, "2", 21030);
    assert_int_equal(lease_until_ms(&lease), 0);
    assert_step(&lease, 21030, LEASE_UPDATE);
    assert_int_equal(lease.desired.transitions, 1);
}

static void lost_release_is_found_by_reading(void **state)
{
    (void)state;
    struct lease lease = holder(20000);
    struct lease_record own = lease.seen;
    lease_rank(&lease, LEASE_NO_RANK, 21000);
    lease_installed(&lease, false);
    assert_step(&lease, 21010, LEASE_RELEASE);
    lease_failed(&lease, false, 23000);
    assert_step(&lease, 23250, LEASE_READ);
    lease_saw(&lease, &own, "1", 23260);
    assert_step(&lease, 23260, LEASE_RELEASE);
    lease_failed(&lease, true, 23270);
    assert_step(&lease, 24270, LEASE_READ);
    struct lease_record other = record_of("b", 9);
    lease_saw(&lease, &other, "3", 24280);
    assert_true(lease_next_ms(&lease) == INT64_MAX);
}

/* Longer than a claim without the store: gone, and taken at once if the record is the same still.
 */
static void outage_ends_it_and_the_store_brings_it_back(void **state)
{
    (void)state;
    struct lease lease = holder(20000);
    struct lease_record own = lease.seen;
    int64_t now = 24000;
    for (enum lease_step step = LEASE_UPDATE; now < 40000; step = LEASE_READ) {
        assert_step(&lease, now, step);
        lease_failed(&lease, false, now);
        now = lease_next_ms(&lease);
    }
    assert_true(lease_until_ms(&lease) < now);
    assert_step(&lease, now, LEASE_READ);
    lease_saw(&lease, &own, "1", now);
    assert_step(&lease, now, LEASE_UPDATE);
    assert_int_equal(lease.desired.acquired_wall_ms, WALL + now); /* a lease of its own */
}

/* The store hung: it did what it was asked long after the asker had given up, and all others wait
 * for that to end. So nobody has taken it since. */
static void late_write_of_its_own_is_taken_up(void **state)
{
    (void)state;
    struct lease lease = holder(20000);
    struct lease_record own = lease.seen, other = record_of("b", 9);
    assert_step(&lease, 24000, LEASE_UPDATE);
    struct lease_record desired = lease.desired;
    lease_failed(&lease, false, 26500);
    assert_step(&lease, 36000, LEASE_READ);
    lease_saw(&lease, &own, "1", 36010); /* it is not done yet */
    assert_step(&lease, 36010, LEASE_UPDATE);
    lease_failed(&lease, true, 36020);
    assert_step(&lease, lease_next_ms(&lease), LEASE_READ);
    lease_saw(&lease, &desired, "2", 38010);
    assert_int_equal(lease_lifetime_s(&lease, 38010), 0); /* a renewal has to succeed first */
    assert_step(&lease, 38010, LEASE_UPDATE);
    assert_string_equal(lease.version, "2");
    lease_wrote(&lease, "3", 38020);
    assert_int_equal(lease_until_ms(&lease), 38010 + D - EARLY);
    /* Not after another had it. */
    lease_heard(&lease, &other, "5", 40000);
    assert_step(&lease, 40000, LEASE_READ);
    lease_saw(&lease, &other, "5", 40000);
    lease_heard(&lease, &desired, "2", 41000);
    assert_int_equal(lease_next_ms(&lease), 41000 + D + LATE);
}

/* Its clock ran ahead: no time in which the holder could have been heard. */
static void time_that_was_slept_is_not_waited(void **state)
{
    (void)state;
    struct lease lease = ranked(0, 0);
    struct lease_record record = record_of("b", 5);
    assert_step(&lease, 1000, LEASE_READ);
    lease_saw(&lease, &record, "7", 1500);
    lease_slept(&lease, 30000, 33000);
    assert_int_equal(lease_next_ms(&lease), 31500 + D + LATE);
    lease_heard(&lease, &record, "8", 34000);
    lease_slept(&lease, 30000, 34100); /* noticed after what was heard */
    assert_int_equal(lease_next_ms(&lease), 34100 + D + LATE);
    /* Its own record is another's if that has changed, which a write will tell. */
    lease = holder(20000);
    lease_slept(&lease, 60000, 81000);
    assert_int_equal(lease_lifetime_s(&lease, 81000), 0);
    assert_step(&lease, 81000, LEASE_UPDATE);
    assert_string_equal(lease.version, "1");
}

/* etcd was restored: its old record of this node, after another had it, is not a right. */
static void restored_record_is_waited_out(void **state)
{
    (void)state;
    struct lease lease = holder(20000);
    struct lease_record own = lease.seen, other = record_of("b", 9);
    lease_heard(&lease, &other, "5", 36000);
    assert_step(&lease, 36000, LEASE_READ);
    lease_saw(&lease, &other, "5", 36000);
    lease_heard(&lease, &own, "1", 37000);
    assert_step(&lease, 37000, LEASE_WAIT);
    assert_int_equal(lease_next_ms(&lease), 37000 + D + LATE);
}

static void record_that_is_gone_binds_like_a_new_one(void **state)
{
    (void)state;
    struct lease lease = ranked(0, 0);
    struct lease_record record = record_of("b", 5);
    assert_step(&lease, 0, LEASE_READ);
    lease_saw(&lease, &record, "7", 0);
    lease_heard(&lease, NULL, "", 9000);
    assert_int_equal(lease_next_ms(&lease), 9000 + D + LATE);
    assert_step(&lease, 9000 + D + LATE, LEASE_READ); /* it may have come and gone */
    lease_absent(&lease, 0, 9000 + D + LATE);
    assert_step(&lease, 9000 + D + LATE, LEASE_CREATE);

    lease = ranked(0, 0);
    assert_step(&lease, 5000, LEASE_READ);
    lease_absent(&lease, 5000, 5000); /* nobody watched: a holder may have lost it just now */
    assert_int_equal(lease_next_ms(&lease), 5000 + D + LATE);
}

static void anothers_time_ends_without_a_renewal(void **state)
{
    (void)state;
    struct lease lease = ranked(LEASE_NO_RANK, 0);
    struct lease_record record = record_of("b", 5);
    assert_int_equal(lease_others_end_ms(&lease), INT64_MAX); /* nothing is known */
    lease_heard(&lease, &record, "7", 1000);
    assert_int_equal(lease_others_end_ms(&lease), 1000 + D + LATE);
    lease_heard(&lease, &record, "8", 4000);
    assert_int_equal(lease_others_end_ms(&lease), 4000 + D + LATE);
    record.holder[0] = '\0';
    lease_heard(&lease, &record, "9", 5000);
    assert_int_equal(lease_others_end_ms(&lease), INT64_MAX);
}

static void holder_makes_a_deleted_record_anew(void **state)
{
    (void)state;
    struct lease lease = holder(20000);
    lease_heard(&lease, NULL, "", 21000);
    assert_step(&lease, 21000, LEASE_READ);
    lease_absent(&lease, 0, 21010);
    assert_int_equal(lease_until_ms(&lease), 20000 + D - EARLY);
    assert_step(&lease, 21010, LEASE_CREATE);
    lease_wrote(&lease, "9", 21020);
    assert_int_equal(lease_until_ms(&lease), 21010 + D - EARLY);
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
