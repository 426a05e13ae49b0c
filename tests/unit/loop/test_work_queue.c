// SPDX-License-Identifier: Apache-2.0
/* A queue of keys: once each, never twice at once, later after failures, within its limits. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "loop/token_bucket.h"
#include "loop/work_queue.h"

#include "cmocka_all.h"
#include "run_until.h"

struct fixture {
    sd_event *event;
    struct work_queue *queue;
    struct text heard;     /* the keys whose turn came, each with a blank behind it */
    struct work *held[64]; /* those that were not finished on the spot */
    size_t holding;
    bool hold;
    unsigned failures; /* that are still to come */
    unsigned skips;
};

static void on_run(void *context, struct work *work)
{
    struct fixture *fx = context;
    text_addf(&fx->heard, "%s ", work_key(work));
    if (fx->hold) {
        fx->held[fx->holding++] = work;
    } else if (fx->failures > 0) {
        fx->failures--;
        work_retry(work, 0);
    } else if (fx->skips > 0) {
        fx->skips--;
        work_skip(work);
    } else {
        work_done(work);
    }
}

static const struct work_limits limits = {
    .keys = 64, .parallel = 64, .initial_ms = 1, .max_ms = 4
};

static void use(struct fixture *fx, const struct work_limits *chosen)
{
    assert_int_equal(work_queue_new(fx->event, chosen, on_run, fx, &fx->queue), 0);
}

static void add(struct fixture *fx, const char *key)
{
    assert_int_equal(work_queue_add(fx->queue, key), 0);
}

/* Lets everything run that can run now. */
static void settle(struct fixture *fx)
{
    while (sd_event_run(fx->event, 0) > 0)
        ;
}

static int setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    assert_true(sd_event_new(&fx->event) >= 0);
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    work_queue_free(fx->queue);
    text_done(&fx->heard);
    sd_event_unref(fx->event);
    free(fx);
    return 0;
}

static void keys_run_once_in_the_order_in_which_they_came(void **state)
{
    struct fixture *fx = *state;
    use(fx, &limits);
    add(fx, "c");
    add(fx, "a");
    add(fx, "c");
    add(fx, "b");
    assert_int_equal(work_queue_count(fx->queue), 3);
    run_until(fx, work_queue_count(fx->queue) == 0);
    assert_string_equal(text_str(&fx->heard), "c a b ");
}

static void a_key_never_runs_twice_at_once(void **state)
{
    struct fixture *fx = *state;
    use(fx, &limits);
    fx->hold = true;
    add(fx, "a");
    run_until(fx, fx->holding == 1);
    add(fx, "a");
    add(fx, "a");
    settle(fx);
    assert_int_equal(fx->holding, 1);
    work_done(fx->held[0]);
    run_until(fx, fx->holding == 2);
    work_done(fx->held[1]);
    settle(fx);
    assert_int_equal(work_queue_count(fx->queue), 0);
    assert_string_equal(text_str(&fx->heard), "a a ");
}

static void what_fails_comes_again(void **state)
{
    struct fixture *fx = *state;
    use(fx, &limits);
    fx->failures = 5;
    add(fx, "a");
    run_until(fx, work_queue_count(fx->queue) == 0);
    assert_string_equal(text_str(&fx->heard), "a a a a a a ");
}

/* By as much as a key's own failures ask for; another key does not wait for it. */
static void a_key_waits_longer_each_time(void **state)
{
    struct fixture *fx = *state;
    const struct work_limits slow = {
        .keys = 2, .parallel = 1, .initial_ms = 100000, .max_ms = 100000000
    };
    use(fx, &slow);
    fx->hold = true;
    int64_t least_ms = 100000 * 8 / 10;
    add(fx, "a");
    for (int i = 0; i < 8; i++, least_ms *= 2) {
        run_until(fx, fx->holding == 1);
        work_retry(fx->held[--fx->holding], 0);
        int64_t wait_ms = work_wait_ms(fx->held[0]);
        assert_true(wait_ms > least_ms - 60000 && wait_ms <= least_ms * 3 / 2);
        settle(fx);
        assert_int_equal(fx->holding, 0);
        add(fx, "a"); /* what is added comes at once */
    }
    add(fx, "b");
    run_until(fx, fx->holding == 1);
}

static void who_asks_to_be_left_alone_is(void **state)
{
    struct fixture *fx = *state;
    use(fx, &limits);
    fx->hold = true;
    add(fx, "a");
    run_until(fx, fx->holding == 1);
    work_retry(fx->held[0], 3600 * SECOND_MS);
    add(fx, "a");
    settle(fx);
    assert_int_equal(fx->holding, 1);
    assert_true(work_wait_ms(fx->held[0]) > 3000 * SECOND_MS);
    assert_false(work_is_running(fx->held[0]));
}

static void only_some_run_at_once(void **state)
{
    struct fixture *fx = *state;
    const struct work_limits narrow = { .keys = 4, .parallel = 2, .initial_ms = 1, .max_ms = 1 };
    use(fx, &narrow);
    fx->hold = true;
    for (int i = 0; i < 4; i++)
        add(fx, (const char[]){ (char)('a' + i), '\0' });
    assert_int_equal(work_queue_add(fx->queue, "e"), -ENOBUFS);
    add(fx, "d"); /* is in it */
    settle(fx);
    assert_string_equal(text_str(&fx->heard), "a b ");
    assert_int_equal(work_queue_running(fx->queue), 2);
    work_done(fx->held[1]);
    settle(fx);
    assert_string_equal(text_str(&fx->heard), "a b c ");
}

static void the_bucket_is_over_all(void **state)
{
    struct fixture *fx = *state;
    const struct work_limits rare = { .keys = 64, .parallel = 64, .per_second = 1, .burst = 3 };
    use(fx, &rare);
    fx->skips = 5;
    for (int i = 0; i < 12; i++)
        add(fx, (const char[]){ (char)('a' + i), '\0' });
    settle(fx); /* five that had nothing to do, then three; a fourth where this was slow */
    size_t ran = fx->heard.length / 2;
    assert_in_range(ran, 8, 11);
}

static void each_key_is_told(void *context, const struct work *work)
{
    text_addf(context, "%s%s ", work_key(work), work_is_running(work) ? "!" : "");
}

static void all_keys_are_told(void **state)
{
    struct fixture *fx = *state;
    const struct work_limits narrow = { .keys = 4, .parallel = 1, .initial_ms = 1, .max_ms = 1 };
    AUTOTEXT struct text told = { 0 };
    use(fx, &narrow);
    fx->hold = true;
    add(fx, "c");
    add(fx, "a");
    settle(fx);
    int mark;
    work_set_data(fx->held[0], &mark);
    assert_ptr_equal(work_data(fx->held[0]), &mark);
    work_queue_each(fx->queue, each_key_is_told, &told);
    assert_string_equal(text_str(&told), "a c! ");
}

/* Thousands of keys that fail and come at random moments: each ends, none runs twice at once. */
static void many_keys_come_to_their_end(void **state)
{
    struct fixture *fx = *state;
    const struct work_limits many = { .keys = 5000, .parallel = 3, .initial_ms = 1, .max_ms = 8 };
    use(fx, &many);
    fx->failures = 3000;
    for (int i = 0; i < 5000; i++) {
        AUTOFREE char *key = text_format("key %d", i * 7919 % 5000);
        add(fx, key);
        if (i % 50 == 0)
            (void)sd_event_run(fx->event, 0);
    }
    run_until(fx, work_queue_count(fx->queue) == 0);
    assert_int_equal(fx->failures, 0);
    assert_int_equal(work_queue_running(fx->queue), 0);
}

static void a_bucket_gives_its_burst_then_its_rate(void **state)
{
    (void)state;
    struct token_bucket bucket = { .per_second = 20, .burst = 3 };
    for (int i = 0; i < 3; i++)
        assert_true(token_bucket_take(&bucket, 1000));
    assert_false(token_bucket_take(&bucket, 1000));
    assert_int_equal(token_bucket_wait(&bucket, 1000), 50);
    assert_false(token_bucket_take(&bucket, 1049));
    assert_true(token_bucket_take(&bucket, 1050));
    token_bucket_return(&bucket);
    assert_true(token_bucket_take(&bucket, 1050));
    /* After any rest it has its burst and no more. */
    for (int i = 0; i < 3; i++)
        assert_true(token_bucket_take(&bucket, 1000000));
    assert_false(token_bucket_take(&bucket, 1000000));
    struct token_bucket open = { .burst = 1 };
    for (int i = 0; i < 100; i++)
        assert_true(token_bucket_take(&open, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(keys_run_once_in_the_order_in_which_they_came),
        TEST(a_key_never_runs_twice_at_once),
        TEST(what_fails_comes_again),
        TEST(a_key_waits_longer_each_time),
        TEST(who_asks_to_be_left_alone_is),
        TEST(only_some_run_at_once),
        TEST(the_bucket_is_over_all),
        TEST(all_keys_are_told),
        TEST(many_keys_come_to_their_end),
        cmocka_unit_test(a_bucket_gives_its_burst_then_its_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
