// SPDX-License-Identifier: Apache-2.0
/* When a node that is cut off from the store asks, and which answer says that a segment is whole.
 */
#include "plan/claims/scouting.h"

#include "cmocka_all.h"

/* How many questions there are from one time to another, in steps of 10 ms. */
static unsigned asked(struct scouting *scouting, int64_t from_ms, int64_t until_ms)
{
    unsigned count = 0;
    for (int64_t now_ms = from_ms; now_ms < until_ms; now_ms += 10)
        count += scouting_next(scouting, true, now_ms);
    return count;
}

static void who_is_not_answered_asks_more_often(void **state)
{
    (void)state;
    struct scouting scouting = { 0 };
    assert_true(scouting_due_ms(&scouting) == INT64_MAX);
    assert_false(scouting_next(&scouting, false, 500));
    assert_true(scouting_due_ms(&scouting) == INT64_MAX);
    scouting = (struct scouting){ 0 };
    assert_true(scouting_next(&scouting, true, 1000));
    assert_true(scouting_due_ms(&scouting) == 2000);
    assert_int_equal(asked(&scouting, 1010, 2000), 0);
    assert_int_equal(asked(&scouting, 2000, 3000), 4);
    assert_false(scouting_next(&scouting, false, 3000)); /* the store is there */
    assert_true(scouting_due_ms(&scouting) == INT64_MAX);
}

static void an_answer_after_silence_says_that_it_is_whole(void **state)
{
    (void)state;
    struct scouting scouting = { 0 };
    /* The store alone is away: each question is answered. */
    for (int64_t now_ms = 1000; now_ms < 10000; now_ms += 1000) {
        assert_int_equal(asked(&scouting, now_ms, now_ms + 1000), 1);
        assert_false(scouting_heard(&scouting));
    }
    assert_int_equal(asked(&scouting, 10000, 12000), 5);
    assert_true(scouting_heard(&scouting));
    assert_false(scouting_heard(&scouting)); /* once */
}

static void one_word_that_was_lost_says_nothing(void **state)
{
    (void)state;
    struct scouting scouting = { 0 };
    assert_int_equal(asked(&scouting, 1000, 2010), 2);
    assert_false(scouting_heard(&scouting));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_not_answered_asks_more_often),
        cmocka_unit_test(an_answer_after_silence_says_that_it_is_whole),
        cmocka_unit_test(one_word_that_was_lost_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
