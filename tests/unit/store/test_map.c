// SPDX-License-Identifier: Apache-2.0
/* The hash map: look-ups stay right through any sequence of changes, with hashes that collide. */
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "cmocka_all.h"
#include "store/map.h"

struct number {
    struct map_node node;
    int value;
    bool in;
};

static bool is_number(const struct map_node *node, const void *key)
{
    return CONTAINER_OF(node, const struct number, node)->value == *(const int *)key;
}

/* Every number is found if and only if it is in, and a walk meets each once. */
static void check(const struct map *map, struct number *numbers, int count)
{
    size_t in = 0, met = 0, cursor = 0;
    for (int i = 0; i < count; i++) {
        struct map_node *found = map_find(map, numbers[i].node.hash, is_number, &i);
        assert_ptr_equal(found, numbers[i].in ? &numbers[i].node : NULL);
        in += numbers[i].in;
    }
    for (struct map_node *node; (node = map_next(map, &cursor)); met++)
        assert_true(CONTAINER_OF(node, struct number, node)->in);
    assert_int_equal(met, in);
    assert_int_equal(map->count, in);
}

static void random_changes(uint32_t hashes)
{
    enum { NUMBERS = 200, ROUNDS = 4000 };
    static struct number numbers[NUMBERS];
    struct map map = { 0 };
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = (struct number){ .node.hash = (uint32_t)rand() % hashes, .value = i };
    for (int round = 0; round < ROUNDS; round++) {
        /* Phases of growth and of decline, so that the table is resized both ways. */
        bool add = rand() % 4 < (round / 500 % 2 ? 1 : 3);
        struct number *number = &numbers[rand() % NUMBERS];
        if (add && !number->in) {
            assert_int_equal(map_reserve(&map), 0);
            map_add(&map, &number->node);
            number->in = true;
        } else if (!add && number->in) {
            map_remove(&map, &number->node);
            number->in = false;
        }
        if (round % 16 == 0)
            check(&map, numbers, NUMBERS);
    }
    check(&map, numbers, NUMBERS);
    map_done(&map);
    memset(numbers, 0, sizeof(numbers));
}

static void spread_hashes(void **state)
{
    (void)state;
    srand(1);
    random_changes(UINT32_C(1) << 30);
}

static void colliding_hashes(void **state)
{
    (void)state;
    srand(2);
    random_changes(7);
    random_changes(1);
}

static void runs_that_wrap_around(void **state)
{
    (void)state;
    /* A capacity of 16: hashes 14 and 15 make a run over the table's end. */
    struct number numbers[8];
    struct map map = { 0 };
    for (int i = 0; i < 8; i++) {
        numbers[i] = (struct number){ .node.hash = i < 4 ? 14u + (unsigned)i % 2 : (unsigned)i % 2,
                                      .value = i,
                                      .in = true };
        assert_int_equal(map_reserve(&map), 0);
        map_add(&map, &numbers[i].node);
    }
    assert_int_equal(map.capacity, 16);
    for (int i = 0; i < 8; i++) {
        check(&map, numbers, 8);
        map_remove(&map, &numbers[i].node);
        numbers[i].in = false;
    }
    check(&map, numbers, 8);
    map_done(&map);
}

static void an_empty_map_finds_nothing(void **state)
{
    (void)state;
    struct map map = { 0 };
    size_t cursor = 0;
    int key = 1;
    assert_null(map_find(&map, 1, is_number, &key));
    assert_null(map_next(&map, &cursor));
    map_done(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spread_hashes),
        cmocka_unit_test(colliding_hashes),
        cmocka_unit_test(runs_that_wrap_around),
        cmocka_unit_test(an_empty_map_finds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
