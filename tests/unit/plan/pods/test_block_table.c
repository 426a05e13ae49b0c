// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks that are taken: overlaps, what is asked for, and that among random changes a free block is
 * always the lowest that nobody has, by a second and simpler reading. Survives the failure of each
 * allocation.
 */
#include "block_planning.h"

#include "failing_heap.h"

enum { ROUNDS = 3000, INDEXES = 24, POOLS = 3 };

static const struct address_pool *pool_of(struct blocks *fx, const char *name)
{
    return to_address_pool(store_get(fx->store, KIND_ADDRESS_POOL, "", name));
}

/* The index that is free, or what the search ends with: -1, exhausted; -2, overlapped; -3, some are
 * lost. */
static int free_index(struct blocks *fx, const char *pool)
{
    struct pool_block block;
    switch (block_table_free(&fx->table, pool_of(fx, pool), &block)) {
    case BLOCK_FOUND:
        return (int)block.index;
    case BLOCK_EXHAUSTED:
        return -1;
    case BLOCK_AWAITED:
        return -3;
    default:
        return -2;
    }
}

static void the_lowest_index_that_no_block_of_the_pool_has_is_free(void **state)
{
    struct blocks *fx = *state;
    tell_pool(fx, "a", HELD, "blockSizeBits: 5, subnets: [{ipv4: 10.2.0.0/25}]");
    assert_int_equal(free_index(fx, "a"), 0);
    tell_block(fx, "a-0", 0, "10.2.0.0/27", OF("a", "n1"), "");
    tell_block(fx, "odd", 1, "10.2.0.32/27", OF("a", "n1"), ""); /* its name does not count */
    tell_block(fx, "a-0-v1", 0, "10.9.0.0/27", OF("a", "n1"), "");
    tell_block(fx, "a-3", 3, "10.2.0.96/27", OF("a", "n2"), "");
    assert_int_equal(free_index(fx, "a"), 2);
    assert_int_equal(block_table_count(&fx->table, "a"), 4);
    gone(fx, KIND_ADDRESS_BLOCK, "a-0-v1");
    assert_int_equal(free_index(fx, "a"), 2);
    gone(fx, KIND_ADDRESS_BLOCK, "a-0");
    assert_int_equal(free_index(fx, "a"), 0);
}

static void no_block_overlaps_another_ones_whatever_the_pool(void **state)
{
    struct blocks *fx = *state;
    tell_pool(fx, "a", HELD, "blockSizeBits: 4, subnets: [{ipv4: 10.2.0.0/24}]");
    tell_pool(fx, "b", HELD, "blockSizeBits: 4, subnets: [{ipv6: 'fd02::/120'}]");
    tell_block(fx, "x-0", 0, "10.2.0.0/26", OF("x", "n1"), "");   /* wider */
    tell_block(fx, "x-1", 1, "10.2.0.68/32", OF("x", "n1"), "");  /* within */
    tell_block(fx, "x-2", 2, "10.2.0.80/28", OF("x", "n1"), "");  /* the same */
    tell_block(fx, "x-3", 3, "fd02::1:0/112", OF("x", "n1"), ""); /* beside */
    assert_int_equal(free_index(fx, "a"), 6);
    assert_int_equal(free_index(fx, "b"), 0);
    tell_block(fx, "x-4", 4, "fd00::/8", OF("x", "n1"), "");
    assert_int_equal(free_index(fx, "b"), -1);
}

/* A pool of millions of blocks within a block of somebody else's: the search ends. */
static void a_search_among_overlaps_is_bounded(void **state)
{
    struct blocks *fx = *state;
    tell_pool(fx, "a", HELD, "blockSizeBits: 0, subnets: [{ipv6: 'fd02::/64'}]");
    tell_block(fx, "x-0", 0, "fd00::/8", OF("x", "n1"), "");
    assert_int_equal(free_index(fx, "a"), -2);
}

static void what_was_asked_for_is_forgotten_with_leadership(void **state)
{
    struct blocks *fx = *state;
    tell_pool(fx, "a", HELD, "subnets: [{ipv4: 10.2.0.0/25}]");
    tell_node(fx, "n1", "u1");
    tell_request(fx, "r1", "a", "n1", "u1");
    step(fx, "req-a-n1", "create a-0", BLOCK_MADE);
    assert_int_equal(free_index(fx, "a"), 1);
    block_table_forget(&fx->table, NOW + BLOCK_FORGOTTEN_MS - 1);
    assert_int_equal(free_index(fx, "a"), 1);
    block_table_forget(&fx->table, NOW + BLOCK_FORGOTTEN_MS);
    assert_int_equal(free_index(fx, "a"), 0);

    step(fx, "req-a-n1", "create a-0", BLOCK_MADE);
    tell_block(fx, "a-0", 0, "10.2.0.0/27", OF("a", "n1") ", coil.cybozu.com/request: r1", "");
    block_table_forget_asked(&fx->table);
    assert_int_equal(free_index(fx, "a"), 1);
}

static void lose(struct blocks *fx, const char *name, int64_t now_ms)
{
    const struct object *object = store_get(fx->store, KIND_ADDRESS_BLOCK, "", name);
    assert_int_equal(block_table_lose(&fx->table, to_address_block(object), now_ms), 0);
}

/* What etcd's restore has taken is nobody's for a while, and then free; or its node's again, who
 * has put it back. A request that is there again gets another. */
static void what_was_lost_waits_for_its_node(void **state)
{
    struct blocks *fx = *state;
    tell_pool(fx, "a", HELD, "blockSizeBits: 5, subnets: [{ipv4: 10.2.0.0/26}]");
    tell_node(fx, "n1", "u1");
    tell_block(fx, "a-0", 0, "10.2.0.0/27", OF("a", "n1") ", coil.cybozu.com/request: r1", "");
    tell_block(fx, "a-1", 1, "10.2.0.32/27", OF("a", "n1"), "");
    assert_int_equal(free_index(fx, "a"), -1);
    lose(fx, "a-0", NOW);
    lose(fx, "a-1", NOW + 5);
    assert_int_equal(free_index(fx, "a"), -3);
    tell_request(fx, "r1", "a", "n1", "u1");
    assert_step(fx, "req-a-n1", "wait lost");
    tell_block(fx, "a-0", 0, "10.2.0.0/27", OF("a", "n1"), "");
    block_table_forget_asked(&fx->table);
    assert_true(block_table_forget(&fx->table, NOW + BLOCK_LOST_MS) == NOW + 5 + BLOCK_LOST_MS);
    assert_int_equal(free_index(fx, "a"), -3);
    assert_true(block_table_forget(&fx->table, NOW + 5 + BLOCK_LOST_MS) == INT64_MAX);
    assert_int_equal(free_index(fx, "a"), 1);
}

/* After a restore that nobody here has seen: no block is given for a while, but who has one, or can
 * have none, is answered. */
static void what_may_be_lost_waits_for_all_nodes(void **state)
{
    struct blocks *fx = *state;
    tell_pool(fx, "a", HELD, "blockSizeBits: 5, subnets: [{ipv4: 10.2.0.0/26}]");
    tell_node(fx, "n1", "u1");
    tell_request(fx, "r1", "a", "n1", "u1");
    fx->table.held_ms = NOW + 1;
    assert_step(fx, "req-a-n1", "wait held");
    assert_true(block_table_forget(&fx->table, NOW) == NOW + 1);
    tell_block(fx, "a-0", 0, "10.2.0.0/27", OF("a", "n1") ", coil.cybozu.com/request: r1", "");
    assert_step(fx, "req-a-n1", "answer a-0");
    assert_true(block_table_forget(&fx->table, NOW + 1) == INT64_MAX);
    tell_request(fx, "r2", "a", "n1", "u1");
    fx->table.held_ms = NOW;
    assert_step(fx, "req-a-n1", "create a-1");
}

/* What the source has told of is true, whatever a late answer says. */
static void an_answer_after_the_source_changes_nothing(void **state)
{
    struct blocks *fx = *state;
    tell_pool(fx, "a", HELD, "subnets: [{ipv4: 10.2.0.0/25}]");
    tell_node(fx, "n1", "u1");
    tell_request(fx, "r1", "a", "n1", "u1");
    assert_step(fx, "req-a-n1", "create a-0");
    tell_block(fx, "a-0", 0, "10.2.0.0/27", OF("a", "n1") ", coil.cybozu.com/request: r1", "");
    block_settle(&fx->table, "r1", BLOCK_KNOWN, NOW);
    block_settle(&fx->table, "r1", BLOCK_TAKEN, NOW);
    assert_int_equal(block_of_request(&fx->table, "r1", NOW)->state, BLOCK_KNOWN);
}

/* ---- A second reading ---- */

static const char *const specs[POOLS] = {
    "blockSizeBits: 4, subnets: [{ipv4: 10.2.0.0/25}, {ipv4: 10.3.0.0/25}]",
    "blockSizeBits: 3, subnets: [{ipv4: 10.2.0.64/26}, {ipv4: 10.4.0.0/27}]", /* overlaps */
    "blockSizeBits: 5, subnets: [{ipv4: 10.5.0.0/24}]",
};

static bool is_taken(struct blocks *fx, const char *pool, const struct pool_block *block)
{
    const struct object *object;
    for (size_t cursor = 0; (object = store_next(fx->store, KIND_ADDRESS_BLOCK, &cursor));) {
        const struct address_block *other = to_address_block(object);
        if (strcmp(other->pool, pool) == 0 && other->index == block->index)
            return true;
        if (prefix_contains(&other->ipv4, &block->ipv4.ip) ||
            prefix_contains(&block->ipv4, &other->ipv4.ip))
            return true;
    }
    return false;
}

static int free_by_reading(struct blocks *fx, const char *pool)
{
    struct pool_block block;
    for (uint32_t index = 0; pool_block_at(pool_of(fx, pool), index, &block); index++) {
        if (!is_taken(fx, pool, &block))
            return (int)index;
    }
    return -1;
}

static void random_changes_leave_the_lowest_free(void **state)
{
    struct blocks *fx = *state;
    unsigned seed = 7;
    char pool[8], name[32], prefix[PREFIX_STRLEN];
    for (int i = 0; i < POOLS; i++) {
        snprintf(pool, sizeof(pool), "p%d", i);
        tell_pool(fx, pool, HELD, specs[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        struct pool_block block;
        snprintf(pool, sizeof(pool), "p%d", rand_r(&seed) % POOLS);
        uint32_t index = (uint32_t)rand_r(&seed) % INDEXES;
        snprintf(name, sizeof(name), "%s-%u", pool, index);
        if (!pool_block_at(pool_of(fx, pool), index, &block))
            continue;
        if (store_get(fx->store, KIND_ADDRESS_BLOCK, "", name)) {
            gone(fx, KIND_ADDRESS_BLOCK, name);
        } else {
            AUTOFREE char *labels = text_format(OF("%s", "n%d"), pool, rand_r(&seed) % 3);
            tell_block(fx, name, index, prefix_str(&block.ipv4, prefix), labels, "");
        }
        assert_int_equal(free_index(fx, pool), free_by_reading(fx, pool));
    }
    size_t count = store_count(fx->store, KIND_ADDRESS_BLOCK);
    for (size_t i = 0; i < ARRAY_SIZE(fx->table.orders); i++)
        assert_int_equal(fx->table.orders[i].count, count);
}

static void lack_of_memory_leaves_no_half_a_block(void **state)
{
    struct blocks *fx = *state;
    tell_pool(fx, "a", HELD, "subnets: [{ipv4: 10.2.0.0/25}]");
    tell_node(fx, "n1", "u1");
    tell_request(fx, "r1", "a", "n1", "u1");
    for (int n = 0;; n++) {
        struct request_step step;
        int r = with_heap(
            n, plan_request(fx->store, &fx->table, request_of(fx, "req-a-n1"), NOW, &step));
        for (size_t i = 0; i < ARRAY_SIZE(fx->table.orders); i++)
            assert_int_equal(fx->table.orders[i].count, r == 0);
        assert_int_equal(r, heap_missed ? -ENOMEM : 0);
        if (r == 0)
            break;
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, blocks_begin, blocks_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_lowest_index_that_no_block_of_the_pool_has_is_free),
        TEST(no_block_overlaps_another_ones_whatever_the_pool),
        TEST(a_search_among_overlaps_is_bounded),
        TEST(what_was_asked_for_is_forgotten_with_leadership),
        TEST(what_was_lost_waits_for_its_node),
        TEST(what_may_be_lost_waits_for_all_nodes),
        TEST(an_answer_after_the_source_changes_nothing),
        TEST(random_changes_leave_the_lowest_free),
        TEST(lack_of_memory_leaves_no_half_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
