// SPDX-License-Identifier: Apache-2.0
/* Lists of nodes that claims share: what is in them, what two have in common, and who frees them.
 */
#include "plan/claims/contenders.h"

#include "cmocka_all.h"

static struct contenders *list_of(const char *const *names, size_t count, int64_t since_ms)
{
    struct contenders *list = contenders_new();
    assert_non_null(list);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(contenders_add(list, names[i], since_ms), 0);
    contenders_sort(list);
    return list;
}

static void names_are_found_in_any_order(void **state)
{
    (void)state;
    static const char *const names[] = { "c", "a", "b" }, *const same[] = { "b", "c", "a" };
    CLEANUP(contenders_dropp) struct contenders *first = list_of(names, 3, 5);
    CLEANUP(contenders_dropp) struct contenders *second = list_of(same, 3, 6);
    CLEANUP(contenders_dropp) struct contenders *fewer = list_of(names, 2, 5);
    assert_int_equal(contenders_find(first, "a")->since_ms, 5);
    assert_null(contenders_find(first, "d"));
    assert_null(contenders_find(fewer, "b"));
    assert_true(contenders_same_nodes(first, second));
    assert_false(contenders_equal(first, second));
    assert_false(contenders_same_nodes(first, fewer));
    assert_true(contenders_equal(first, first));
}

static void what_two_have_in_common_is_one_of_them_where_it_can_be(void **state)
{
    (void)state;
    static const char *const abc[] = { "a", "b", "c" }, *const bcd[] = { "b", "c", "d" };
    CLEANUP(contenders_dropp) struct contenders *all = list_of(abc, 3, 0);
    CLEANUP(contenders_dropp) struct contenders *few = list_of(abc, 2, 0);
    CLEANUP(contenders_dropp) struct contenders *other = list_of(bcd, 3, 0);
    CLEANUP(contenders_dropp) struct contenders *one = NULL, *two = NULL, *three = NULL;
    assert_int_equal(contenders_both(few, all, &one), 0);
    assert_int_equal(contenders_both(all, few, &two), 0);
    assert_ptr_equal(one, few);
    assert_ptr_equal(two, few);
    assert_int_equal(few->owners, 3);
    assert_int_equal(contenders_both(all, other, &three), 0);
    assert_int_equal(three->nodes.count, 2);
    assert_non_null(contenders_find(three, "b"));
    assert_null(contenders_find(three, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_in_any_order),
        cmocka_unit_test(what_two_have_in_common_is_one_of_them_where_it_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
