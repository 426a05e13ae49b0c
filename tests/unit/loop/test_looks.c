// SPDX-License-Identifier: Apache-2.0
/*
 * The looks: each in its time, spread over the grid, few in one turn, seldom where they cost much,
 * none of an owner that has dropped its own. Clocks are the test's own, except where the loop is.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "cmocka_all.h"
#include "loop/looks.h"

static int64_t mono_ms, thread_us;
static bool real; /* the monotonic clock */

int64_t __real_clock_mono_ms(void);
int64_t __wrap_clock_mono_ms(void);
int64_t __wrap_clock_mono_ms(void)
{
    return real ? __real_clock_mono_ms() : mono_ms;
}

int64_t __wrap_clock_thread_us(void);
int64_t __wrap_clock_thread_us(void)
{
    return thread_us;
}

struct owner {
    unsigned looked, moved;
    int64_t at_ms[64];
    int64_t cost_us;
    bool moves;
};

static bool look(void *context, int64_t now_ms)
{
    struct owner *owner = context;
    owner->at_ms[owner->looked++ % ARRAY_SIZE(owner->at_ms)] = now_ms;
    thread_us += owner->cost_us;
    return owner->moves;
}

static void moved(void *context)
{
    ((struct owner *)context)->moved++;
}

static const struct look often[] = { { "often", 400, look, moved } },
                         seldom[] = { { "seldom", 5000, look, NULL } },
                         half[] = { { "half", 500, look, NULL } };

static int setup(void **state)
{
    mono_ms = 70123;
    thread_us = 0;
    real = false;
    return looks_new(NULL, (struct looks **)state);
}

static int teardown(void **state)
{
    looks_free(*state);
    return 0;
}

/* Lets time go by, turn after turn. */
static void pass_time(struct looks *looks, int64_t until_ms)
{
    for (int64_t next_ms = looks_turn(looks, mono_ms); next_ms <= until_ms;
         next_ms = looks_turn(looks, mono_ms)) {
        mono_ms = MAX(mono_ms, next_ms);
    }
    mono_ms = until_ms;
}

static void without_rows_there_is_nothing_to_do(void **state)
{
    struct looks *looks = *state;
    assert_int_equal(looks_turn(looks, mono_ms), INT64_MAX);
    assert_int_equal(looks_add(looks, often, 0, NULL), 0);
    assert_int_equal(looks_turn(looks, mono_ms), INT64_MAX);
    assert_int_equal(looks_add(NULL, often, 1, NULL), 0);
    looks_drop(NULL, NULL);
    looks_free(NULL);
}

static void each_is_looked_at_in_its_time(void **state)
{
    struct owner fast = { 0 }, slow = { 0 };
    int64_t begin_ms = mono_ms;
    assert_int_equal(looks_add(*state, often, 1, &fast), 0);
    assert_int_equal(looks_add(*state, seldom, 1, &slow), 0);
    pass_time(*state, begin_ms + 20000);
    assert_int_equal(fast.looked, 50);
    assert_int_equal(slow.looked, 4);
    assert_true(fast.at_ms[0] > begin_ms && fast.at_ms[0] <= begin_ms + 400);
    assert_true(slow.at_ms[0] > begin_ms && slow.at_ms[0] <= begin_ms + 5000);
    for (unsigned i = 1; i < 50; i++)
        assert_int_equal(fast.at_ms[i] - fast.at_ms[i - 1], 400);
    assert_int_equal(fast.moved, 0);
}

static void whoever_is_to_know_is_woken(void **state)
{
    struct owner owner = { .moves = true }, alone = { .moves = true };
    assert_int_equal(looks_add(*state, often, 1, &owner), 0);
    assert_int_equal(looks_add(*state, half, 1, &alone), 0);
    pass_time(*state, mono_ms + 2000);
    assert_int_equal(owner.moved, owner.looked);
    assert_int_equal(alone.moved, 0);
}

static void what_is_news_is_looked_at_earlier(void **state)
{
    struct owner slow = { 0 }, other = { 0 };
    const int64_t begin_ms = mono_ms;
    looks_hurry(NULL, &slow, "seldom");
    assert_int_equal(looks_add(*state, seldom, 1, &slow), 0);
    assert_int_equal(looks_add(*state, seldom, 1, &other), 0);
    pass_time(*state, begin_ms + 2050);
    assert_int_equal(slow.looked, 1);
    looks_hurry(*state, &slow, "other");
    looks_hurry(*state, &slow, "seldom");
    pass_time(*state, begin_ms + 2150);
    assert_int_equal(slow.looked, 2);
    assert_int_equal(slow.at_ms[1], begin_ms + 2100); /* on the grid */
    assert_int_equal(other.looked, 1);
    pass_time(*state, begin_ms + 7050);
    assert_int_equal(slow.looked, 2); /* the period has begun anew */
    pass_time(*state, begin_ms + 7150);
    assert_int_equal(slow.looked, 3);
}

/* A hundred times a second for ten seconds. */
static void news_without_end_are_looked_at_now_and_then(void **state)
{
    struct owner cheap = { 0 }, dear = { .cost_us = 100000 };
    assert_int_equal(looks_add(*state, seldom, 1, &cheap), 0);
    assert_int_equal(looks_add(*state, half, 1, &dear), 0);
    for (int64_t end_ms = mono_ms + 10000; mono_ms < end_ms;) {
        looks_hurry(*state, &cheap, "seldom");
        looks_hurry(*state, &dear, "half");
        pass_time(*state, mono_ms + 10);
    }
    assert_in_range(cheap.looked, 30, 34); /* LOOKS_HURRY_MS */
    assert_in_range(dear.looked, 9, 11);   /* a tenth of a processor */
}

struct pair {
    struct looks *looks;
    struct owner second;
    int64_t first_ms;
};

static bool look_first(void *context, int64_t now_ms)
{
    struct pair *pair = context;
    pair->first_ms = now_ms;
    looks_hurry(pair->looks, &pair->second, "seldom");
    return false;
}

/* Who finds something has another one look in the same turn, late as it may be. */
static void one_look_hurries_another(void **state)
{
    static const struct look first[] = { { "first", 400, look_first, NULL } };
    struct pair pair = { .looks = *state };
    assert_int_equal(looks_add(*state, first, 1, &pair), 0);
    assert_int_equal(looks_add(*state, seldom, 1, &pair.second), 0);
    mono_ms += 457;
    (void)looks_turn(*state, mono_ms);
    assert_int_equal(pair.second.looked, 1);
    assert_int_equal(pair.second.at_ms[0], pair.first_ms);
}

/* Whatever their number, the times are those of the grid; and rows of one period share none until
 * there are more than it has places. */
static void rows_are_spread_over_the_grid(void **state)
{
    static const struct look table[] = { { "a", 400, look, NULL },
                                         { "b", 400, look, NULL },
                                         { "c", 400, look, NULL },
                                         { "d", 400, look, NULL } };
    struct owner owners[ARRAY_SIZE(table)] = { 0 };
    unsigned turns = 0;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        assert_int_equal(looks_add(*state, &table[i], 1, &owners[i]), 0);
    const int64_t begin_ms = mono_ms;
    for (int64_t next_ms = looks_turn(*state, mono_ms); next_ms <= begin_ms + 4000; turns++) {
        assert_int_equal((next_ms - begin_ms) % LOOKS_GRID_MS, 0);
        assert_true(next_ms > mono_ms);
        mono_ms = next_ms;
        next_ms = looks_turn(*state, mono_ms);
    }
    assert_int_equal(turns, 40);
    for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
        for (size_t k = 0; k < i; k++)
            assert_true(owners[i].at_ms[0] != owners[k].at_ms[0]);
}

/* Added in the middle of a step, all the same. */
static void the_grid_is_one_for_all(void **state)
{
    struct owner first = { 0 }, late = { 0 };
    assert_int_equal(looks_add(*state, often, 1, &first), 0);
    pass_time(*state, mono_ms + 1037);
    assert_int_equal(looks_add(*state, half, 1, &late), 0);
    pass_time(*state, mono_ms + 1000);
    assert_int_equal((late.at_ms[0] - first.at_ms[0]) % LOOKS_GRID_MS, 0);
}

/* The rest comes in the next turn, which is due at once. */
static void a_turn_is_short(void **state)
{
    struct owner owners[4] = { 0 };
    int64_t now_ms = mono_ms + 10000;
    for (size_t i = 0; i < ARRAY_SIZE(owners); i++) {
        owners[i].cost_us = LOOKS_TURN_US * 2 / 3;
        assert_int_equal(looks_add(*state, often, 1, &owners[i]), 0);
    }
    assert_true(looks_turn(*state, now_ms) <= now_ms);
    assert_int_equal(owners[0].looked + owners[1].looked + owners[2].looked + owners[3].looked, 2);
    assert_true(looks_turn(*state, now_ms) > now_ms);
    for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
        assert_int_equal(owners[i].looked, 1);
}

/* A tenth of a processor at most; and at a time that it would have had anyway. */
static void what_costs_much_comes_less_often(void **state)
{
    struct owner dear = { .cost_us = 90000 }, cheap = { .cost_us = 100 };
    assert_int_equal(looks_add(*state, often, 1, &dear), 0);
    assert_int_equal(looks_add(*state, often, 1, &cheap), 0);
    pass_time(*state, mono_ms + 12000);
    assert_int_equal(dear.looked, 10);
    assert_int_equal(dear.at_ms[1] - dear.at_ms[0], 1200);
    assert_int_equal(cheap.looked, 30);
}

/* After a suspend nothing is made up for, and the places are the same. */
static void what_was_missed_is_not_made_up_for(void **state)
{
    struct owner owner = { 0 };
    assert_int_equal(looks_add(*state, often, 1, &owner), 0);
    pass_time(*state, mono_ms + 400);
    mono_ms += 3600 * SECOND_MS + 333;
    int64_t next_ms = looks_turn(*state, mono_ms);
    assert_int_equal(owner.looked, 2);
    assert_true(next_ms > mono_ms && next_ms <= mono_ms + 400);
    assert_int_equal((next_ms - owner.at_ms[0]) % 400, 0);
}

static void what_was_dropped_is_looked_at_no_more(void **state)
{
    struct owner gone = { 0 }, stays = { 0 };
    assert_int_equal(looks_add(*state, often, 1, &gone), 0);
    assert_int_equal(looks_add(*state, half, 1, &stays), 0);
    assert_int_equal(looks_add(*state, half, 1, &gone), 0);
    pass_time(*state, mono_ms + 1000);
    const unsigned looked = gone.looked, others = stays.looked;
    looks_drop(*state, &gone);
    pass_time(*state, mono_ms + 1000);
    assert_int_equal(gone.looked, looked);
    assert_int_equal(stays.looked, others + 2);
    looks_drop(*state, &stays);
    assert_int_equal(looks_turn(*state, mono_ms), INT64_MAX);
}

static void the_loop_looks(void **state)
{
    CLEANUP(looks_freep) struct looks *looks = NULL;
    struct owner owner = { 0 };
    sd_event *event;
    (void)state;
    real = true;
    assert_int_equal(sd_event_new(&event), 0);
    assert_int_equal(looks_new(event, &looks), 0);
    assert_int_equal(looks_add(looks, often, 1, &owner), 0);
    while (owner.looked < 2)
        assert_true(sd_event_run(event, 10000000) > 0);
    assert_true(owner.at_ms[1] - owner.at_ms[0] >= LOOKS_GRID_MS);
    looks_drop(looks, &owner);
    looks_free(TAKE_PTR(looks));
    sd_event_unref(event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_rows_there_is_nothing_to_do, setup, teardown),
        cmocka_unit_test_setup_teardown(each_is_looked_at_in_its_time, setup, teardown),
        cmocka_unit_test_setup_teardown(whoever_is_to_know_is_woken, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_news_is_looked_at_earlier, setup, teardown),
        cmocka_unit_test_setup_teardown(news_without_end_are_looked_at_now_and_then, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_look_hurries_another, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_are_spread_over_the_grid, setup, teardown),
        cmocka_unit_test_setup_teardown(the_grid_is_one_for_all, setup, teardown),
        cmocka_unit_test_setup_teardown(a_turn_is_short, setup, teardown),
        cmocka_unit_test_setup_teardown(what_costs_much_comes_less_often, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_missed_is_not_made_up_for, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_dropped_is_looked_at_no_more, setup, teardown),
        cmocka_unit_test_setup_teardown(the_loop_looks, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
