// SPDX-License-Identifier: Apache-2.0
/* A pool's request, step by step: nothing is asked for twice, and nothing is left behind. */
#include "plan/pods/block_ask.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#include "cmocka_all.h"

#define NODE "node1"

static struct block_ask wanting(void)
{
    struct block_ask ask = { .wanted = true };
    snprintf(ask.pool, sizeof(ask.pool), "default");
    return ask;
}

static struct block_request request(const char *uid)
{
    return (struct block_request){
        .object = { .name = "req-default-node1", .uid = uid },
        .node = NODE,
        .pool = "default",
        .block = "",
        .reason = "",
    };
}

static struct block_request given(const char *uid)
{
    struct block_request it = request(uid);
    it.answered = it.complete = true;
    it.block = "default-0";
    return it;
}

static struct block_request refused(const char *uid)
{
    struct block_request it = request(uid);
    it.answered = it.complete = it.failed = true;
    it.reason = "out of blocks";
    return it;
}

static void one_request_is_one_block(void **state)
{
    struct block_ask ask = wanting();
    const struct block_request before = request("u1"), after = given("u1");
    (void)state;
    assert_int_equal(block_ask_step(&ask, 0), ASK_CREATE);
    block_ask_made(&ask, "u1", 0);
    assert_int_equal(block_ask_step(&ask, 0), ASK_NOTHING);
    assert_int_equal(block_ask_next_ms(&ask), SECOND_MS);

    block_ask_arrived(&ask, 200); /* before the answer */
    assert_int_equal(block_ask_step(&ask, 200), ASK_READ);
    block_ask_seen(&ask, &before, NODE, 210);
    assert_int_equal(block_ask_step(&ask, 210), ASK_NOTHING);
    assert_int_equal(block_ask_next_ms(&ask), 260);
    block_ask_seen(&ask, &after, NODE, 260);
    assert_int_equal(block_ask_step(&ask, 260), ASK_DELETE);

    block_ask_ended(&ask);
    assert_int_equal(block_ask_step(&ask, 260), ASK_CREATE);
    ask.wanted = false;
    assert_int_equal(block_ask_step(&ask, 260), ASK_NOTHING);
    assert_true(block_ask_next_ms(&ask) == INT64_MAX);
}

static void a_controller_that_is_away_is_asked_ever_more_seldom(void **state)
{
    struct block_ask ask = wanting();
    const struct block_request none = request("u1");
    int64_t now_ms = 0;
    unsigned reads = 0;
    (void)state;
    block_ask_made(&ask, "u1", 0);
    while (now_ms < 60 * MINUTE_MS) {
        now_ms = block_ask_next_ms(&ask);
        assert_int_equal(block_ask_step(&ask, now_ms), ASK_READ);
        block_ask_seen(&ask, &none, NODE, now_ms);
        reads++;
    }
    assert_true(reads < 70);
    block_ask_arrived(&ask, now_ms);
    assert_int_equal(block_ask_step(&ask, now_ms), ASK_READ);
}

static void an_answer_waits_for_its_block_but_not_for_ever(void **state)
{
    struct block_ask ask = wanting();
    const struct block_request answer = given("u1");
    (void)state;
    block_ask_made(&ask, "u1", 0);
    block_ask_seen(&ask, &answer, NODE, SECOND_MS);
    assert_int_equal(block_ask_step(&ask, SECOND_MS), ASK_NOTHING);
    block_ask_seen(&ask, &answer, NODE, 12 * SECOND_MS);
    assert_int_equal(block_ask_step(&ask, 12 * SECOND_MS), ASK_DELETE);
}

static void a_pool_without_blocks_is_asked_again_later(void **state)
{
    struct block_ask ask = wanting();
    const struct block_request answer = refused("u1");
    int64_t now_ms = 0, before_ms = 0;
    (void)state;
    for (int i = 0; i < 10; i++) {
        block_ask_made(&ask, "u1", now_ms);
        block_ask_seen(&ask, &answer, NODE, now_ms);
        assert_true(ask.exhausted);
        assert_int_equal(block_ask_step(&ask, now_ms), ASK_DELETE);
        block_ask_ended(&ask);
        assert_int_equal(block_ask_step(&ask, now_ms), ASK_NOTHING);
        before_ms = now_ms;
        now_ms = block_ask_next_ms(&ask);
        assert_true(now_ms - before_ms >= 2 * SECOND_MS && now_ms - before_ms <= MINUTE_MS);
    }
    assert_int_equal(now_ms - before_ms, MINUTE_MS);
    block_ask_hope(&ask, before_ms + 1);
    assert_int_equal(block_ask_step(&ask, before_ms + 1), ASK_CREATE);
    block_ask_made(&ask, "u2", before_ms + 1);
    block_ask_arrived(&ask, before_ms + 2);
    assert_false(ask.exhausted);
}

static void a_request_of_an_agent_before_is_gone_on_with(void **state)
{
    struct block_ask ask = wanting();
    const struct block_request old = request("u0"), other = request("u9");
    (void)state;
    block_ask_taken(&ask, 5);
    assert_int_equal(block_ask_step(&ask, 5), ASK_READ);
    block_ask_seen(&ask, &old, NODE, 6);
    assert_string_equal(ask.uid, "u0");
    block_ask_arrived(&ask, 7);
    block_ask_seen(&ask, &other, NODE, 8); /* made anew by somebody: another block will come */
    assert_string_equal(ask.uid, "u9");
    assert_false(ask.arrived);
    block_ask_seen(&ask, NULL, NODE, 9);
    assert_int_equal(block_ask_step(&ask, 9), ASK_CREATE);
}

static void a_request_of_others_under_the_name_is_left_alone(void **state)
{
    struct block_ask ask = wanting();
    struct block_request foreign = given("u1");
    (void)state;
    foreign.node = "default-node1";
    block_ask_taken(&ask, 0);
    block_ask_seen(&ask, &foreign, NODE, 0);
    assert_true(ask.foreign);
    assert_int_equal(block_ask_step(&ask, 0), ASK_NOTHING);
    assert_int_equal(block_ask_step(&ask, block_ask_next_ms(&ask)), ASK_READ);
    block_ask_seen(&ask, NULL, NODE, SECOND_MS);
    assert_false(ask.foreign);
    assert_int_equal(block_ask_step(&ask, SECOND_MS), ASK_CREATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_request_is_one_block),
        cmocka_unit_test(a_controller_that_is_away_is_asked_ever_more_seldom),
        cmocka_unit_test(an_answer_waits_for_its_block_but_not_for_ever),
        cmocka_unit_test(a_pool_without_blocks_is_asked_again_later),
        cmocka_unit_test(a_request_of_an_agent_before_is_gone_on_with),
        cmocka_unit_test(a_request_of_others_under_the_name_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
