// SPDX-License-Identifier: Apache-2.0
/* When a node that is cut off from the store asks, and which answer says that a segment is whole.
 */
#include "plan/claims/address_probe.h"

#include "cmocka_all.h"

/* How many questions there are from one time to another, in steps of 10 ms. */
static unsigned asked(struct address_probe *address_probe, int64_t from_ms, int64_t until_ms)
{
    unsigned count = 0;
    for (int64_t now_ms = from_ms; now_ms < until_ms; now_ms += 10)
        count += address_probe_next(address_probe, true, now_ms);
    return count;
}

static void who_is_not_answered_asks_more_often(void **state)
{
    (void)state;
    struct address_probe address_probe = { 0 };
    assert_true(address_probe_due_ms(&address_probe) == INT64_MAX);
    assert_false(address_probe_next(&address_probe, false, 500));
    assert_true(address_probe_due_ms(&address_probe) == INT64_MAX);
    address_probe = (struct address_probe){ 0 };
    assert_true(address_probe_next(&address_probe, true, 1000));
    assert_true(address_probe_due_ms(&address_probe) == 2000);
    assert_int_equal(asked(&address_probe, 1010, 2000), 0);
    assert_int_equal(asked(&address_probe, 2000, 3000), 4);
    assert_false(address_probe_next(&address_probe, false, 3000)); /* the store is there */
    assert_true(address_probe_due_ms(&address_probe) == INT64_MAX);
}

static void an_answer_after_silence_says_that_it_is_whole(void **state)
{
    (void)state;
    struct address_probe address_probe = { 0 };
    /* The store alone is away: each question is answered. */
    for (int64_t now_ms = 1000; now_ms < 10000; now_ms += 1000) {
        assert_int_equal(asked(&address_probe, now_ms, now_ms + 1000), 1);
        assert_false(address_probe_heard(&address_probe));
    }
    assert_int_equal(asked(&address_probe, 10000, 12000), 5);
    assert_true(address_probe_heard(&address_probe));
    assert_false(address_probe_heard(&address_probe)); /* once */
}

static void one_word_that_was_lost_says_nothing(void **state)
{
    (void)state;
    struct address_probe address_probe = { 0 };
    assert_int_equal(asked(&address_probe, 1000, 2010), 2);
    assert_false(address_probe_heard(&address_probe));
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
