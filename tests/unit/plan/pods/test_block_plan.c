// SPDX-License-Identifier: Apache-2.0
/*
 * What the controller writes next about requests, pools and blocks: each rule of Coil's that is the
 * controller's is a test, named after it.
 */
#include "block_planning.h"

#define FOUR_BLOCKS "blockSizeBits: 4, subnets: [{ipv4: 10.2.0.0/26}]"

static void put_default(struct blocks *fx)
{
    tell_pool(fx, "default", HELD, FOUR_BLOCKS);
    tell_node(fx, "n1", "u1");
    tell_node(fx, "n2", "u2");
}

static void a_request_gets_the_lowest_free_block(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_block(fx, "default-0", 0, "10.2.0.0/28", OF("default", "n2"), HELD);
    tell_block(fx, "default-2", 2, "10.2.0.32/28", OF("default", "n2"), HELD);
    tell_request(fx, "r1", "default", "n1", "u1");
    tell_request(fx, "r2", "default", "n2", "u2");
    step(fx, "req-default-n1", "create default-1", BLOCK_MADE);
    step(fx, "req-default-n2", "create default-3", BLOCK_MADE);
    tell_block(fx, "default-1", 1, "10.2.0.16/28",
               OF("default", "n1") ", coil.cybozu.com/request: r1", HELD);
    assert_step(fx, "req-default-n1", "answer default-1");
}

/* 201 alone is no proof. Asked once more, an API that has it says so by its name. */
static void a_block_is_no_answer_before_it_is_seen(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_request(fx, "r1", "default", "n1", "u1");
    tell_request(fx, "r2", "default", "n2", "u2");
    step(fx, "req-default-n1", "create default-0", BLOCK_MADE);
    step(fx, "req-default-n1", "create default-0", BLOCK_MADE);
    step(fx, "req-default-n1", "create default-0", BLOCK_KNOWN); /* what failed proves nothing */
    step(fx, "req-default-n2", "create default-1", BLOCK_MADE);
    step(fx, "req-default-n1", "create default-0", BLOCK_TAKEN);
    assert_step(fx, "req-default-n1", "answer default-0");
    gone(fx, KIND_ADDRESS_POOL, "default");
    assert_step(fx, "req-default-n2", "wait no-pool");
}

static void an_answered_request_is_left_alone(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell(fx, "apiVersion: coil.cybozu.com/v2\nkind: BlockRequest\nmetadata: {name: a, uid: r1}\n"
             "spec: {nodeName: n1, poolName: default}\n"
             "status: {conditions: [{type: Complete, status: 'False'}]}\n");
    assert_step(fx, "a", "nothing");
    tell(fx, "apiVersion: coil.cybozu.com/v2\nkind: BlockRequest\nmetadata: {name: a, uid: r1, "
             "deletionTimestamp: '2026-11-24T00:00:00Z'}\n"
             "spec: {nodeName: n1, poolName: default}\n");
    assert_step(fx, "a", "nothing");
}

/* Killed between the block and the status: who comes next finds the block by the request's uid. */
static void a_block_that_was_made_for_the_request_is_its_answer(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_request(fx, "r1", "default", "n1", "u1");
    tell_block(fx, "default-3", 3, "10.2.0.48/28",
               OF("default", "n1") ", coil.cybozu.com/request: r1", HELD);
    assert_step(fx, "req-default-n1", "answer default-3");
    assert_int_equal(block_table_count(&fx->table, "default"), 1);
}

static void a_request_made_anew_under_the_name_is_another(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_request(fx, "r1", "default", "n1", "u1");
    step(fx, "req-default-n1", "create default-0", BLOCK_MADE);
    gone(fx, KIND_BLOCK_REQUEST, "req-default-n1");
    tell_request(fx, "r2", "default", "n1", "u1");
    step(fx, "req-default-n1", "create default-1", BLOCK_MADE);
}

static void without_a_free_block_the_request_fails(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    for (uint32_t i = 0; i < 4; i++) {
        char name[32], prefix[32];
        snprintf(name, sizeof(name), "default-%u", i);
        snprintf(prefix, sizeof(prefix), "10.2.0.%u/28", 16 * i);
        tell_block(fx, name, i, prefix, OF("default", "n2"), HELD);
    }
    tell_request(fx, "r1", "default", "n1", "u1");
    assert_step(fx, "req-default-n1", "answer -");
    gone(fx, KIND_ADDRESS_BLOCK, "default-2");
    assert_step(fx, "req-default-n1", "create default-2");
}

static void a_deleted_pool_is_out_of_blocks(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_pool(fx, "default", HELD ", deletionTimestamp: '2026-11-24T00:00:00Z'", FOUR_BLOCKS);
    tell_request(fx, "r1", "default", "n1", "u1");
    assert_step(fx, "req-default-n1", "answer -");
}

static void an_unknown_pool_leaves_the_request_without_a_condition(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_request(fx, "r1", "other", "n1", "u1");
    assert_step(fx, "req-other-n1", "wait no-pool");
    tell_pool(fx, "other", HELD, "subnets: [{ipv6: 'fd02::/112'}]");
    assert_step(fx, "req-other-n1", "create other-0");
}

/* Coil's controller tries the taken name for ever, until the pool is edited. */
static void a_taken_name_is_passed_over_once_it_is_known_whose_it_is(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_request(fx, "r1", "default", "n1", "u1");
    step(fx, "req-default-n1", "create default-0", BLOCK_TAKEN);
    assert_step(fx, "req-default-n1", "wait name-taken");
    tell_block(fx, "default-0", 0, "10.2.0.0/28", OF("default", "n2"), HELD);
    assert_step(fx, "req-default-n1", "create default-1");
}

static void a_taken_name_may_be_of_the_request_itself(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_request(fx, "r1", "default", "n1", "u1");
    step(fx, "req-default-n1", "create default-0", BLOCK_TAKEN);
    tell_block(fx, "default-0", 0, "10.2.0.0/28",
               OF("default", "n1") ", coil.cybozu.com/request: r1", HELD);
    assert_step(fx, "req-default-n1", "answer default-0");
}

/* A block without labels: nobody's by the rules, and its name is taken all the same. */
static void a_taken_name_of_which_nothing_is_heard_is_passed_over(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_request(fx, "r1", "default", "n1", "u1");
    step(fx, "req-default-n1", "create default-0", BLOCK_TAKEN);
    fx->now_ms += BLOCK_TELLING_MS - 1;
    assert_step(fx, "req-default-n1", "wait name-taken");
    fx->now_ms += 1;
    step(fx, "req-default-n1", "create default-1", BLOCK_MADE);
    assert_step(fx, "req-default-n1", "create default-1");
}

static void a_write_that_failed_leaves_the_index_free(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_request(fx, "r1", "default", "n1", "u1");
    tell_request(fx, "r2", "default", "n2", "u2");
    step(fx, "req-default-n1", "create default-0", BLOCK_KNOWN);
    step(fx, "req-default-n2", "create default-0", BLOCK_MADE);
    step(fx, "req-default-n1", "create default-1", BLOCK_MADE);
}

static void no_block_for_a_node_that_is_not_there(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_request(fx, "r1", "default", "n3", "u3");
    assert_step(fx, "req-default-n3", "wait no-node");
    tell_node(fx, "n3", "u4");
    assert_step(fx, "req-default-n3", "wait other-node");
    tell_node(fx, "n3", "u3");
    assert_step(fx, "req-default-n3", "create default-0");
}

static void a_name_that_no_label_can_hold_gets_no_block(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
#define LONG "a123456789-123456789-123456789-123456789-123456789-123456789-123"
    tell_node(fx, LONG, "u3");
    tell_request(fx, "r1", "default", LONG, "u3");
    assert_step(fx, "req-default-" LONG, "wait name-too-long");
}

static void blocks_are_given_of_pools_that_are_held(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_pool(fx, "default", "finalizers: [other]", FOUR_BLOCKS);
    tell_request(fx, "r1", "default", "n1", "u1");
    assert_step(fx, "req-default-n1", "wait pool-not-held");
}

static const struct address_pool *pool_of(struct blocks *fx, const char *name)
{
    return to_address_pool(store_get(fx->store, KIND_ADDRESS_POOL, "", name));
}

static void a_pool_is_held_from_first_sight_to_its_last_block(void **state)
{
    struct blocks *fx = *state;
    tell_pool(fx, "a", "labels: {a: b}", FOUR_BLOCKS);
    assert_int_equal(plan_pool_hold(&fx->table, pool_of(fx, "a")), HOLD_ADD);
    tell_pool(fx, "a", HELD, FOUR_BLOCKS);
    assert_int_equal(plan_pool_hold(&fx->table, pool_of(fx, "a")), HOLD_NOTHING);
    tell_block(fx, "a-0", 0, "10.2.0.0/28", OF("a", "n1"), HELD);
    tell_pool(fx, "a", HELD ", deletionTimestamp: '2026-11-24T00:00:00Z'", FOUR_BLOCKS);
    assert_int_equal(plan_pool_hold(&fx->table, pool_of(fx, "a")), HOLD_NOTHING);
    gone(fx, KIND_ADDRESS_BLOCK, "a-0");
    assert_int_equal(plan_pool_hold(&fx->table, pool_of(fx, "a")), HOLD_RELEASE);
    tell_pool(fx, "a", "deletionTimestamp: '2026-11-24T00:00:00Z'", FOUR_BLOCKS);
    assert_int_equal(plan_pool_hold(&fx->table, pool_of(fx, "a")), HOLD_NOTHING);
}

/* A block that was asked for counts, or the pool could go while it is made. */
static void a_pool_is_held_while_a_block_of_it_is_made(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_request(fx, "r1", "default", "n1", "u1");
    assert_step(fx, "req-default-n1", "create default-0");
    tell_pool(fx, "default", HELD ", deletionTimestamp: '2026-11-24T00:00:00Z'", FOUR_BLOCKS);
    assert_int_equal(plan_pool_hold(&fx->table, pool_of(fx, "default")), HOLD_NOTHING);
    block_settle(&fx->table, "r1", BLOCK_KNOWN, NOW);
    assert_int_equal(plan_pool_hold(&fx->table, pool_of(fx, "default")), HOLD_RELEASE);
}

static void assert_hold(struct blocks *fx, const char *block, enum hold_step expected)
{
    const struct object *object = store_get(fx->store, KIND_ADDRESS_BLOCK, "", block);
    assert_int_equal(plan_block_hold(fx->store, &fx->table, to_address_block(object), fx->now_ms),
                     expected);
}

static void the_blocks_of_a_node_that_went_are_released_and_deleted(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_block(fx, "default-0", 0, "10.2.0.0/28", OF("default", "n1"), HELD);
    tell_block(fx, "default-1", 1, "10.2.0.16/28", OF("default", "n2"), HELD);
    assert_hold(fx, "default-0", HOLD_NOTHING);
    gone(fx, KIND_NODE, "n1");
    assert_hold(fx, "default-0", HOLD_RELEASE);
    assert_hold(fx, "default-1", HOLD_NOTHING);
    tell_block(fx, "default-0", 0, "10.2.0.0/28", OF("default", "n1"), "finalizers: [other]");
    assert_hold(fx, "default-0", HOLD_DELETE);
    tell_block(fx, "default-0", 0, "10.2.0.0/28", OF("default", "n1"),
               "finalizers: [other], deletionTimestamp: '2026-11-24T00:00:00Z'");
    assert_hold(fx, "default-0", HOLD_NOTHING);
}

static void a_node_is_its_uid_and_not_its_name_alone(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_block(fx, "default-0", 0, "10.2.0.0/28",
               OF("default", "n1") ", fingerpost.io/node-uid: u1", HELD);
    tell_block(fx, "default-1", 1, "10.2.0.16/28", OF("default", "n1"), HELD);
    tell_node(fx, "n1", "u9"); /* deleted and made anew, in one change */
    assert_hold(fx, "default-0", HOLD_RELEASE);
    assert_hold(fx, "default-1", HOLD_NOTHING);
}

/* The watch of blocks may be ahead of that of Nodes. */
static void a_block_whose_node_was_never_there_waits(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_block(fx, "default-0", 0, "10.2.0.0/28", OF("default", "n3"), HELD);
    fx->now_ms += BLOCK_LONE_MS - 1;
    tell_block(fx, "default-0", 0, "10.2.0.0/28", OF("default", "n3"),
               "finalizers: [coil.cybozu.com, other]");
    assert_hold(fx, "default-0", HOLD_NOTHING);
    fx->now_ms += 1;
    assert_hold(fx, "default-0", HOLD_RELEASE);
    tell_node(fx, "n3", "u3");
    assert_hold(fx, "default-0", HOLD_NOTHING);
}

static void reserved_blocks_are_neither_given_nor_freed(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_block(fx, "default-0-v1", 0, "10.2.0.0/28",
               OF("default", "n1") ", coil.cybozu.com/reserved: 'true'", "");
    tell_request(fx, "r1", "default", "n1", "u1");
    assert_step(fx, "req-default-n1", "create default-1");
    gone(fx, KIND_NODE, "n1");
    assert_hold(fx, "default-0-v1", HOLD_NOTHING);
}

static void a_block_of_no_node_is_left_alone(void **state)
{
    struct blocks *fx = *state;
    put_default(fx);
    tell_block(fx, "default-0", 0, "10.2.0.0/28", OF_POOL("default"), "");
    fx->now_ms += BLOCK_LONE_MS;
    assert_hold(fx, "default-0", HOLD_NOTHING);
}

static void every_reason_has_its_words(void **state)
{
    (void)state;
    for (enum request_wait i = 0; i < WAIT_REASONS; i++) {
        assert_true(strlen(request_wait_text(i)) > 3);
    }
    assert_null(request_wait_remedy(WAIT_TAKEN));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, blocks_begin, blocks_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_gets_the_lowest_free_block),
        TEST(a_block_is_no_answer_before_it_is_seen),
        TEST(an_answered_request_is_left_alone),
        TEST(a_block_that_was_made_for_the_request_is_its_answer),
        TEST(a_request_made_anew_under_the_name_is_another),
        TEST(without_a_free_block_the_request_fails),
        TEST(a_deleted_pool_is_out_of_blocks),
        TEST(an_unknown_pool_leaves_the_request_without_a_condition),
        TEST(a_taken_name_is_passed_over_once_it_is_known_whose_it_is),
        TEST(a_taken_name_may_be_of_the_request_itself),
        TEST(a_taken_name_of_which_nothing_is_heard_is_passed_over),
        TEST(a_write_that_failed_leaves_the_index_free),
        TEST(no_block_for_a_node_that_is_not_there),
        TEST(a_name_that_no_label_can_hold_gets_no_block),
        TEST(blocks_are_given_of_pools_that_are_held),
        TEST(a_pool_is_held_from_first_sight_to_its_last_block),
        TEST(a_pool_is_held_while_a_block_of_it_is_made),
        TEST(the_blocks_of_a_node_that_went_are_released_and_deleted),
        TEST(a_node_is_its_uid_and_not_its_name_alone),
        TEST(a_block_whose_node_was_never_there_waits),
        TEST(reserved_blocks_are_neither_given_nor_freed),
        TEST(a_block_of_no_node_is_left_alone),
        TEST(every_reason_has_its_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
