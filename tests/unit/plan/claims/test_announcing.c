// SPDX-License-Identifier: Apache-2.0
/* What is said of an address, when, and what another machine's word changes. */
#include "plan/claims/announcing.h"

#include "cmocka_all.h"

static const uint8_t other[6] = { 2, 0, 0, 0, 0, 9 };

/* Runs until `until_ms`; counts what is sent. */
static int64_t run(struct announcing *announcing, int64_t now_ms, int64_t until_ms,
                   unsigned sent[static ANNOUNCING_STEPS])
{
    while (now_ms <= until_ms) {
        enum announcing_step step = announcing_next(announcing, now_ms);
        sent[step]++;
        sent[ANNOUNCING_SAY] += step == ANNOUNCING_TELL;
        now_ms += step == ANNOUNCING_NOTHING ? 1 : 0;
    }
    return now_ms;
}

static struct announcing held_at(int64_t now_ms)
{
    struct announcing announcing = { 0 };
    unsigned sent[ANNOUNCING_STEPS] = { 0 };
    announcing_begin(&announcing, now_ms - 200);
    run(&announcing, now_ms - 200, now_ms, sent);
    assert_int_equal(sent[ANNOUNCING_PROBE], 3);
    assert_true(announcing_may_install(&announcing));
    announcing_installed(&announcing, now_ms);
    return announcing;
}

static void it_is_probed_before_it_is_used(void **state)
{
    (void)state;
    struct announcing announcing = { 0 };
    unsigned sent[ANNOUNCING_STEPS] = { 0 };
    announcing_begin(&announcing, 1000);
    run(&announcing, 1000, 1119, sent);
    assert_false(announcing_may_install(&announcing));
    run(&announcing, 1120, 1120, sent);
    assert_true(announcing_may_install(&announcing));
    assert_int_equal(sent[ANNOUNCING_PROBE], 3);
    assert_int_equal(sent[ANNOUNCING_SAY], 0);
}

static void it_is_announced_several_times_and_then_each_minute(void **state)
{
    (void)state;
    struct announcing announcing = held_at(10000);
    unsigned sent[ANNOUNCING_STEPS] = { 0 };
    run(&announcing, 10000, 13500, sent);
    assert_int_equal(sent[ANNOUNCING_SAY], 5);
    assert_int_equal(sent[ANNOUNCING_TELL], 2);
    run(&announcing, 13501, 13501 + 3 * 60000, sent);
    assert_int_equal(sent[ANNOUNCING_SAY], 8);
    assert_int_equal(sent[ANNOUNCING_TELL], 2);
    announcing_again(&announcing, 200000);
    run(&announcing, 200000, 203500, sent);
    assert_int_equal(sent[ANNOUNCING_SAY], 13);
}

static void what_was_inherited_is_not_announced_at_once(void **state)
{
    (void)state;
    struct announcing announcing;
    unsigned sent[ANNOUNCING_STEPS] = { 0 };
    announcing_inherit(&announcing, 1000);
    assert_true(announcing_may_install(&announcing));
    run(&announcing, 1000, 60999, sent);
    assert_int_equal(sent[ANNOUNCING_SAY], 0);
    run(&announcing, 61000, 61000, sent);
    assert_int_equal(sent[ANNOUNCING_SAY], 1);
    assert_int_equal(sent[ANNOUNCING_TELL], 0);
}

static void what_a_stranger_has_is_never_used_and_taken_when_he_goes(void **state)
{
    (void)state;
    struct announcing announcing = { 0 };
    unsigned sent[ANNOUNCING_STEPS] = { 0 };
    int64_t now_ms = 1000;
    announcing_begin(&announcing, now_ms);
    for (unsigned i = 0; i < 6; i++) {
        while (announcing_next(&announcing, now_ms) != ANNOUNCING_PROBE)
            now_ms++;
        assert_true(announcing_heard(&announcing, other, false, now_ms + 1));
        assert_int_equal(announcing.state, ANNOUNCING_TAKEN);
        assert_memory_equal(announcing.mac, other, 6);
        assert_false(announcing_may_install(&announcing));
    }
    assert_int_equal(announcing.next_ms - now_ms - 1, 8000);
    run(&announcing, now_ms, now_ms + 8200, sent);
    assert_true(announcing_may_install(&announcing));
}

static void another_claim_of_what_is_held_has_the_right_asked_for(void **state)
{
    (void)state;
    struct announcing announcing = held_at(10000);
    unsigned sent[ANNOUNCING_STEPS] = { 0 };
    assert_false(announcing_heard(&announcing, other, true, 20000));
    assert_true(announcing_heard(&announcing, other, false, 20000));
    assert_false(announcing_may_install(&announcing));
    run(&announcing, 20000, 20100, sent);
    assert_int_equal(sent[ANNOUNCING_SAY], 0);
    announcing_confirmed(&announcing, 20100);
    assert_true(announcing_may_install(&announcing));
    announcing_installed(&announcing, 20100);
    run(&announcing, 20100, 20100, sent);
    assert_int_equal(sent[ANNOUNCING_SAY], 1);
    /* A second time within ten seconds, it is his until he goes. */
    assert_true(announcing_heard(&announcing, other, false, 25000));
    assert_int_equal(announcing.state, ANNOUNCING_TAKEN);
    announcing_stop(&announcing);
    announcing_confirmed(&announcing, 26000);
    assert_false(announcing_may_install(&announcing));
}

/* A host that was configured so says it once, and answers whoever asks. */
/* Whoever claims it each time that it is used costs ever less: up to eight seconds lie between. */
static void who_claims_it_again_and_again_is_given_way_to_for_longer(void **state)
{
    (void)state;
    struct announcing announcing = held_at(10000);
    unsigned sent[ANNOUNCING_STEPS] = { 0 }, given_up = 0;
    for (int64_t now_ms = 10000; now_ms < 70000; now_ms++) {
        (void)announcing_next(&announcing, now_ms);
        if (!announcing_may_install(&announcing))
            continue;
        announcing_installed(&announcing, now_ms);
        (void)announcing_heard(&announcing, other, false, now_ms);
        announcing_confirmed(&announcing, now_ms);
        given_up += announcing.state == ANNOUNCING_TAKEN;
    }
    assert_in_range(given_up, 7, 12);

    /* Left alone for long, it is as it was. */
    int64_t now_ms = run(&announcing, 70000, 90000, sent);
    announcing_installed(&announcing, now_ms);
    assert_true(announcing_heard(&announcing, other, false, now_ms + 11000));
    announcing_confirmed(&announcing, now_ms + 11000);
    announcing_installed(&announcing, now_ms + 11000);
    assert_true(announcing_heard(&announcing, other, false, now_ms + 12000));
    run(&announcing, now_ms + 12001, now_ms + 13150, sent);
    assert_true(announcing_may_install(&announcing));
}

static void who_has_it_as_well_is_asked_until_he_is_gone(void **state)
{
    (void)state;
    struct announcing announcing = held_at(10000);
    unsigned sent[ANNOUNCING_STEPS] = { 0 };
    assert_true(announcing_heard(&announcing, other, false, 20000));
    announcing_confirmed(&announcing, 20010);
    announcing_installed(&announcing, 20010);
    assert_true(announcing_is_rivalled(&announcing));
    for (int64_t now_ms = 20220; now_ms < 24400; now_ms += 220) {
        assert_true(announcing_due_ms(&announcing) <= now_ms);
        run(&announcing, now_ms - 210, now_ms, sent);
        assert_false(announcing_heard(&announcing, other, false, now_ms + 5));
        assert_true(announcing_is_rivalled(&announcing));
        assert_true(announcing_may_install(&announcing));
    }
    assert_int_equal(sent[ANNOUNCING_SEARCH], 19);
    run(&announcing, 24400, 25000, sent);
    assert_true(announcing_is_rivalled(&announcing));
    run(&announcing, 25000, 25180, sent); /* a second after he was heard last: 24185 */
    assert_false(announcing_is_rivalled(&announcing));
    assert_int_equal(sent[ANNOUNCING_SEARCH], 22);
}

/* Within ten seconds it is left to him, also if he says so before anybody asked. */
static void what_he_says_unasked_is_no_answer(void **state)
{
    (void)state;
    struct announcing announcing = held_at(10000);
    assert_true(announcing_heard(&announcing, other, false, 20000));
    announcing_confirmed(&announcing, 20010);
    announcing_installed(&announcing, 20010);
    assert_true(announcing_heard(&announcing, other, false, 20150));
    assert_int_equal(announcing.state, ANNOUNCING_TAKEN);
}

/* Whoever probes may not have heard it, nor others where he is: a segment was in two. */
static void who_asks_for_what_is_held_has_it_said_again(void **state)
{
    (void)state;
    struct announcing announcing = held_at(10000);
    unsigned sent[ANNOUNCING_STEPS] = { 0 };
    run(&announcing, 10000, 13500, sent);
    sent[ANNOUNCING_SAY] = 0;
    for (int64_t now_ms = 20000; now_ms < 21000; now_ms += 50) {
        assert_false(announcing_heard(&announcing, other, true, now_ms));
        run(&announcing, now_ms, now_ms, sent);
    }
    assert_int_equal(sent[ANNOUNCING_SAY], 4); /* four times a second */
    assert_true(announcing_may_install(&announcing));
}

static void a_holder_is_sought_until_he_is_heard(void **state)
{
    (void)state;
    struct announcing announcing;
    unsigned sent[ANNOUNCING_STEPS] = { 0 };
    announcing_stop(&announcing);
    announcing_seek(&announcing, 1000);
    run(&announcing, 1000, 3000, sent);
    assert_int_equal(sent[ANNOUNCING_SEARCH], 9);
    announcing_stop(&announcing); /* as whoever has no right does all the time */
    assert_false(announcing_may_install(&announcing));
    assert_false(announcing_heard(&announcing, other, true, 3000));
    run(&announcing, 3001, 3500, sent);
    assert_int_equal(sent[ANNOUNCING_SEARCH], 11);
    assert_false(announcing_heard(&announcing, other, false, 3600));
    run(&announcing, 3601, 60000, sent);
    assert_int_equal(sent[ANNOUNCING_SEARCH], 11);
    /* Nobody for twenty seconds: it is not on this segment. */
    announcing_seek(&announcing, 60000);
    run(&announcing, 60000, 200000, sent);
    assert_int_equal(sent[ANNOUNCING_SEARCH], 57);
    assert_int_equal(announcing.state, ANNOUNCING_IDLE);
    announcing_seek(&announcing, 200000);
    announcing_begin(&announcing, 200100);
    assert_int_equal(announcing.state, ANNOUNCING_PROBING);
    announcing_seek(&announcing, 200200);
    assert_int_equal(announcing.state, ANNOUNCING_PROBING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_probed_before_it_is_used),
        cmocka_unit_test(it_is_announced_several_times_and_then_each_minute),
        cmocka_unit_test(what_was_inherited_is_not_announced_at_once),
        cmocka_unit_test(what_a_stranger_has_is_never_used_and_taken_when_he_goes),
        cmocka_unit_test(another_claim_of_what_is_held_has_the_right_asked_for),
        cmocka_unit_test(who_has_it_as_well_is_asked_until_he_is_gone),
        cmocka_unit_test(who_claims_it_again_and_again_is_given_way_to_for_longer),
        cmocka_unit_test(what_he_says_unasked_is_no_answer),
        cmocka_unit_test(who_asks_for_what_is_held_has_it_said_again),
        cmocka_unit_test(a_holder_is_sought_until_he_is_heard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
