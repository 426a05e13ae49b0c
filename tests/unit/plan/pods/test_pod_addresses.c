// SPDX-License-Identifier: Apache-2.0
/*
 * Addresses of pods: which one comes next, when a pool wants a block and gives one back, and among
 * many random steps the same choices as a second, simpler account of who has what.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "cmocka_all.h"
#include "plan/pods/pod_addresses.h"
#include "plan/pods/pod_pools.h"

enum { REST_MS = 60000, START_MS = 1000000 };

struct fixture {
    struct pod_addresses table;
    pod_block_list blocks;
};

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    pod_addresses_init(&fx->table);
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;
    pod_addresses_done(&fx->table);
    vec_done(&fx->blocks);
    free(fx);
    return 0;
}

static struct prefix prefix(const char *text)
{
    struct prefix prefix = { 0 };
    if (text)
        assert_int_equal(prefix_parse(text, &prefix), 0);
    return prefix;
}

static void add_block(struct fixture *fx, const char *name, const char *pool, const char *v4,
                      const char *v6)
{
    struct pod_block block = { .ipv4 = prefix(v4), .ipv6 = prefix(v6) };
    strcpy(block.name, name);
    strcpy(block.pool, pool);
    assert_int_equal(vec_push(&fx->blocks, block), 0);
    assert_int_equal(pod_addresses_set_blocks(&fx->table, &fx->blocks, true, START_MS), 0);
}

static struct pod_interface pod_interface(const char *container, const char *pool)
{
    struct pod_interface pod_interface;
    assert_int_equal(pod_interface_name(container, "eth0", pool, &pod_interface), 0);
    return pod_interface;
}

/* Gives an address, and says which: "10.0.0.1 fd00::1", or "none". */
static const char *give(struct fixture *fx, const char *container, const char *pool, int64_t now_ms)
{
    static char buffer[2 * IP_STRLEN + 2];
    char v4[IP_STRLEN], v6[IP_STRLEN];
    struct pod_interface wanted = pod_interface(container, pool);
    if (!pod_addresses_choose(&fx->table, now_ms, REST_MS, &wanted))
        return "none";
    assert_int_equal(pod_addresses_put(&fx->table, &wanted), 0);
    snprintf(buffer, sizeof(buffer), "%s %s", ip_str(&wanted.v4, v4), ip_str(&wanted.v6, v6));
    return buffer;
}

static void take(struct fixture *fx, const char *container, int64_t now_ms)
{
    const struct pod_interface key = pod_interface(container, "p");
    assert_int_equal(pod_addresses_free(&fx->table, &key, now_ms), 1);
    assert_int_equal(pod_addresses_free(&fx->table, &key, now_ms), 0);
}

static void families_are_given_at_one_offset(void **state)
{
    struct fixture *fx = *state;
    add_block(fx, "p-0", "p", "10.0.0.0/30", "fd00::40/126");
    assert_string_equal(give(fx, "a", "p", START_MS), "10.0.0.0 fd00::40");
    assert_string_equal(give(fx, "b", "p", START_MS), "10.0.0.1 fd00::41");
    struct ip beside, v4;
    char buffer[IP_STRLEN];
    assert_int_equal(ip_parse("10.0.0.3", &v4), 0);
    assert_true(pod_address_beside(&fx->table, &v4, IP_V6, &beside));
    assert_string_equal(ip_str(&beside, buffer), "fd00::43");
}

static void a_freed_address_rests_unless_nothing_else_is_free(void **state)
{
    struct fixture *fx = *state;
    add_block(fx, "p-0", "p", "10.0.0.0/31", NULL);
    assert_string_equal(give(fx, "a", "p", START_MS), "10.0.0.0 -");
    take(fx, "a", START_MS);
    assert_string_equal(give(fx, "b", "p", START_MS), "10.0.0.1 -");
    assert_string_equal(give(fx, "c", "p", START_MS + 1), "10.0.0.0 -");
    assert_string_equal(give(fx, "d", "p", START_MS + 1), "none");
    take(fx, "b", START_MS + 2);
    take(fx, "c", START_MS + 3);
    struct pod_interface chosen = pod_interface("e", "p");
    assert_int_equal(pod_addresses_freed_ms(&fx->table, &chosen), 0);
    assert_true(pod_addresses_choose(&fx->table, START_MS + 4, REST_MS, &chosen));
    assert_int_equal(pod_addresses_freed_ms(&fx->table, &chosen), START_MS + 2);
    assert_string_equal(give(fx, "e", "p", START_MS + 4), "10.0.0.1 -");
}

static void what_is_reserved_in_use_or_of_another_pool_is_not_given(void **state)
{
    struct fixture *fx = *state;
    AUTOVEC ip_list unowned = { 0 };
    struct ip address;
    add_block(fx, "p-0", "p", "10.0.0.0/31", "fd00::/127");
    add_block(fx, "p-1", "p", "10.0.0.2/31", NULL);
    add_block(fx, "q-0", "q", "10.0.0.4/31", NULL);
    fx->blocks.items[1].reserved = true;
    assert_int_equal(pod_addresses_set_blocks(&fx->table, &fx->blocks, true, START_MS), 0);
    assert_int_equal(ip_parse("fd00::", &address), 0);
    assert_int_equal(vec_push(&unowned, address), 0);
    assert_int_equal(pod_addresses_set_unowned(&fx->table, &unowned), 0);
    assert_string_equal(give(fx, "a", "p", START_MS), "10.0.0.1 fd00::1");
    assert_string_equal(give(fx, "b", "p", START_MS), "none");
}

/* What a pool says of itself, and whether it asks. */
static void assert_pool(struct fixture *fx, uint32_t used, uint32_t left, bool wants)
{
    AUTOVEC pod_pool_list pools = { 0 };
    assert_int_equal(plan_pod_pools(&fx->table, &pools), 0);
    const struct pod_pool pool = pod_pool_named(&pools, "p");
    assert_int_equal(pool.used, used);
    assert_int_equal(pool.free, left);
    assert_int_equal(pod_pool_wants(&pool, false), wants);
}

static void a_pool_asks_before_it_is_full(void **state)
{
    struct fixture *fx = *state;
    const struct pod_pool none = pod_pool_named(&(const pod_pool_list){ 0 }, "p");
    assert_false(pod_pool_wants(&none, false));
    assert_true(pod_pool_wants(&none, true));
    add_block(fx, "p-0", "p", "10.0.0.0/29", NULL);
    static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
    assert_pool(fx, 0, 8, false);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_string_not_equal(give(fx, names[i], "p", START_MS), "none");
    assert_pool(fx, 6, 2, false);
    assert_string_not_equal(give(fx, "g", "p", START_MS), "none");
    assert_pool(fx, 7, 1, true);
}

static void scarce_addresses_are_asked_for_by_pods_alone(void **state)
{
    struct fixture *fx = *state;
    add_block(fx, "p-0", "p", "198.51.100.1/32", NULL);
    assert_string_equal(give(fx, "a", "p", START_MS), "198.51.100.1 -");
    assert_pool(fx, 1, 0, false);
}

/* Which blocks go back, by name; when the next may. */
static void assert_surplus(struct fixture *fx, int64_t now_ms, const char *expected,
                           int64_t expected_next_ms)
{
    AUTOVEC pod_block_refs blocks = { 0 };
    char names[200] = "";
    int64_t next_ms = 0;
    assert_int_equal(plan_pod_surplus(&fx->table, now_ms, REST_MS, &blocks, &next_ms), 0);
    vec_each(const struct pod_block *, block, &blocks) {
        strcat(names, (*block)->name);
        strcat(names, " ");
    }
    assert_string_equal(names, expected);
    assert_int_equal(next_ms, expected_next_ms);
}

static void empty_blocks_go_back_after_a_while_but_the_last(void **state)
{
    struct fixture *fx = *state;
    add_block(fx, "p-0", "p", "10.0.0.0/29", NULL);
    add_block(fx, "p-1", "p", "10.0.0.8/29", NULL);
    add_block(fx, "p-2", "p", "10.0.0.16/29", NULL);
    add_block(fx, "s-0", "s", "198.51.100.1/32", NULL);
    assert_surplus(fx, START_MS + REST_MS - 1, "", START_MS + REST_MS);
    assert_surplus(fx, START_MS + REST_MS, "p-0 p-1 s-0 ", INT64_MAX);
    assert_string_equal(give(fx, "a", "p", START_MS), "10.0.0.0 -");
    take(fx, "a", START_MS + 10);
    assert_surplus(fx, START_MS + REST_MS, "p-1 p-2 s-0 ", START_MS + REST_MS + 10);
    assert_string_equal(give(fx, "a", "p", START_MS + 20), "10.0.0.1 -");
    assert_surplus(fx, START_MS + REST_MS, "p-1 p-2 s-0 ", INT64_MAX);
}

/* ---- The other account ---- */

enum { MODEL_BLOCKS = 4, MODEL_SIZE = 8, MODEL_TENANTS = 24, STEPS = 20000 };

static const struct {
    const char *name, *pool, *v4, *v6;
    int size;
} model_blocks[MODEL_BLOCKS] = {
    { "p-0", "p", "10.0.0.0/29", "fd00::/125", 8 },
    { "p-1", "p", "10.0.0.8/30", "fd00::8/126", 4 },
    { "q-0", "q", NULL, "fd00:1::/126", 4 },
    { "q-1", "q", "10.9.0.0/31", NULL, 2 },
};

struct model {
    int holder[MODEL_BLOCKS][MODEL_SIZE]; /* -1: free */
    int64_t freed_ms[MODEL_BLOCKS][MODEL_SIZE];
    struct {
        int block, offset; /* block -1: none */
    } pod_interfaces[MODEL_TENANTS];
};

static int model_used(const struct model *model, int block)
{
    int used = 0;
    for (int i = 0; i < model_blocks[block].size; i++)
        used += model->holder[block][i] >= 0;
    return used;
}

/* The first in order of: rested, fuller block (rested ones alone), longer free. */
static bool model_choose(const struct model *model, const char *pool, int64_t now_ms,
                         int *ret_block, int *ret_offset)
{
    int64_t best[3] = { INT64_MAX, 0, 0 };
    for (int b = 0; b < MODEL_BLOCKS; b++) {
        for (int i = 0; i < model_blocks[b].size; i++) {
            if (strcmp(model_blocks[b].pool, pool) != 0 || model->holder[b][i] >= 0)
                continue;
            bool rested = model->freed_ms[b][i] <= now_ms - REST_MS;
            const int64_t key[3] = { !rested, rested ? -model_used(model, b) : 0,
                                     model->freed_ms[b][i] };
            bool less = key[0] != best[0]   ? key[0] < best[0]
                        : key[1] != best[1] ? key[1] < best[1]
                                            : key[2] < best[2];
            if (!less)
                continue;
            memcpy(best, key, sizeof(best));
            *ret_block = b;
            *ret_offset = i;
        }
    }
    return best[0] != INT64_MAX;
}

static struct ip model_ip(const char *text, int offset)
{
    struct prefix at = prefix(text);
    if (at.ip.family != IP_NONE)
        at.ip.bytes[ip_size(&at.ip) - 1] += (uint8_t)offset;
    return at.ip;
}

static void step_give(struct fixture *fx, struct model *model, int who, const char *pool,
                      int64_t now_ms)
{
    char name[16];
    int block, offset;
    snprintf(name, sizeof(name), "c%d", who);
    struct pod_interface wanted = pod_interface(name, pool);
    bool there = model_choose(model, pool, now_ms, &block, &offset);
    assert_int_equal(pod_addresses_choose(&fx->table, now_ms, REST_MS, &wanted), there);
    if (!there)
        return;
    const struct ip v4 = model_ip(model_blocks[block].v4, offset);
    const struct ip v6 = model_ip(model_blocks[block].v6, offset);
    assert_true(ip_equal(&wanted.v4, &v4));
    assert_true(ip_equal(&wanted.v6, &v6));
    assert_int_equal(pod_addresses_put(&fx->table, &wanted), 0);
    model->holder[block][offset] = who;
    model->pod_interfaces[who].block = block;
    model->pod_interfaces[who].offset = offset;
}

static void step_free(struct fixture *fx, struct model *model, int who, int64_t now_ms)
{
    char name[16];
    int block = model->pod_interfaces[who].block, offset = model->pod_interfaces[who].offset;
    snprintf(name, sizeof(name), "c%d", who);
    take(fx, name, now_ms);
    model->holder[block][offset] = -1;
    model->freed_ms[block][offset] = now_ms;
    model->pod_interfaces[who].block = -1;
}

static void many_random_steps_agree_with_a_simple_account(void **state)
{
    struct fixture *fx = *state;
    struct model model;
    int64_t now_ms = START_MS;
    memset(&model, 0, sizeof(model));
    memset(model.holder, 0xff, sizeof(model.holder));
    memset(model.pod_interfaces, 0xff, sizeof(model.pod_interfaces));
    for (int b = 0; b < MODEL_BLOCKS; b++)
        add_block(fx, model_blocks[b].name, model_blocks[b].pool, model_blocks[b].v4,
                  model_blocks[b].v6);
    srand(16);
    for (int step = 0; step < STEPS; step++) {
        int who = rand() % MODEL_TENANTS;
        now_ms += rand() % 5000;
        if (model.pod_interfaces[who].block >= 0)
            step_free(fx, &model, who, now_ms);
        else
            step_give(fx, &model, who, rand() % 3 ? "p" : "q", now_ms);
        for (int b = 0; b < MODEL_BLOCKS; b++)
            assert_int_equal(
                pod_block_used(&fx->table, pod_block_named(&fx->table, model_blocks[b].name)),
                model_used(&model, b));
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(families_are_given_at_one_offset),
        CASE(a_freed_address_rests_unless_nothing_else_is_free),
        CASE(what_is_reserved_in_use_or_of_another_pool_is_not_given),
        CASE(a_pool_asks_before_it_is_full),
        CASE(scarce_addresses_are_asked_for_by_pods_alone),
        CASE(empty_blocks_go_back_after_a_while_but_the_last),
        CASE(many_random_steps_agree_with_a_simple_account),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
