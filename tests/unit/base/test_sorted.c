// SPDX-License-Identifier: Apache-2.0
/* Sorted arrays against a plain model: random batches of puts and removals. */
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "cmocka_all.h"

struct entry {
    int key, value;
};

static int entry_cmp(const void *a, const void *b)
{
    return CMP(((const struct entry *)a)->key, ((const struct entry *)b)->key);
}

static void batch_keeps_the_last_of_equals(void **state)
{
    (void)state;
    struct sorted table = SORTED(struct entry, entry_cmp);
    struct entry a = { 1, 10 }, b = { 2, 20 }, c = { 1, 11 };
    struct sorted_change changes[] = { { &a, false }, { &b, false }, { &a, true }, { &c, false } };
    assert_int_equal(sorted_merge(&table, changes, ARRAY_SIZE(changes)), 0);
    assert_int_equal(table.count, 2);
    assert_int_equal(((struct entry *)sorted_find(&table, &a))->value, 11);
    sorted_done(&table);
}

static void random_batches_equal_the_model(void **state)
{
    (void)state;
    enum { KEYS = 64, ROUNDS = 3000 };
    struct sorted table = SORTED(struct entry, entry_cmp);
    int model[KEYS]; /* 0: absent */
    memset(model, 0, sizeof(model));
    srand(7);

    for (int round = 1; round <= ROUNDS; round++) {
        struct entry entries[40];
        struct sorted_change changes[40];
        size_t count = (size_t)rand() % ARRAY_SIZE(entries);
        for (size_t i = 0; i < count; i++) {
            entries[i] = (struct entry){ rand() % KEYS, round * 100 + (int)i };
            changes[i] = (struct sorted_change){ &entries[i], rand() % 3 == 0 };
            model[entries[i].key] = changes[i].remove ? 0 : entries[i].value;
        }
        assert_int_equal(sorted_merge(&table, changes, count), 0);

        size_t at = 0;
        for (int key = 0; key < KEYS; key++) {
            struct entry *found = sorted_find(&table, &(struct entry){ key, 0 });
            assert_int_equal(found != NULL, model[key] != 0);
            if (!found)
                continue;
            assert_int_equal(found->value, model[key]);
            assert_ptr_equal(found, sorted_at(&table, at++));
        }
        assert_int_equal(at, table.count);
    }
    sorted_done(&table);
}

static void removal_and_bounds(void **state)
{
    (void)state;
    struct sorted table = SORTED(struct entry, entry_cmp);
    for (int key = 9; key >= 1; key -= 2)
        assert_int_equal(sorted_put(&table, &(struct entry){ key, key }), 0);
    assert_int_equal(sorted_lower_bound(&table, &(struct entry){ 4, 0 }), 2);
    assert_int_equal(sorted_lower_bound(&table, &(struct entry){ 10, 0 }), 5);
    sorted_remove(&table, &(struct entry){ 5, 0 });
    sorted_remove(&table, &(struct entry){ 6, 0 });
    assert_null(sorted_find(&table, &(struct entry){ 5, 0 }));
    assert_int_equal(table.count, 4);
    sorted_done(&table);
}

static void an_array_is_searched_and_united(void **state)
{
    (void)state;
    VEC(struct entry) list = { 0 };
    assert_null(vec_find(&list, (&(struct entry){ 1, 0 }), entry_cmp));
    vec_drop_equal(&list, entry_cmp);
    assert_int_equal(list.count, 0);

    static const struct entry entries[] = { { 1, 10 }, { 1, 11 }, { 2, 20 },
                                            { 4, 40 }, { 4, 41 }, { 4, 42 } };
    for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
        assert_int_equal(vec_push(&list, entries[i]), 0);
    vec_drop_equal(&list, entry_cmp);
    assert_int_equal(list.count, 3);
    for (int key = 0; key < 6; key++) {
        struct entry wanted = { key, 0 };
        const struct entry *found = vec_find(&list, &wanted, entry_cmp);
        assert_int_equal(found ? found->value : 0, key == 1 || key == 2 || key == 4 ? key * 10 : 0);
    }
    vec_done(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_keeps_the_last_of_equals),
        cmocka_unit_test(random_batches_equal_the_model),
        cmocka_unit_test(removal_and_bounds),
        cmocka_unit_test(an_array_is_searched_and_united),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
