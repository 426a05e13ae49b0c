// SPDX-License-Identifier: Apache-2.0
/* The language of the catalogue's templates, and raising a fault with them. */
#include <string.h>

#include "base/fault.h"
#include "base/macro.h"
#include "cmocka_all.h"
#include "faults/raise.h"
#include "faults/render.h"

/* A table of one row, of this test. */
struct fault_sample {
    _Alignas(8) int64_t count;
    _Alignas(8) const char *peer;
    _Alignas(8) const char *list;
};

static const struct fault_type fault_type_sample = {
    .code = "sample",
    .arguments =
        (const struct fault_argument[]){
            { .name = "count", .kind = FAULT_NUMBER_ARGUMENT },
            { .name = "peer", .is_key = true },
            { .name = "list" },
            { .name = NULL },
        },
    .message = "{count} {count:route is|routes are} kept from {peer}[: {list}]",
    .remedy = "see {peer}",
};

static void assert_rendered(const char *pattern, struct fault_sample arguments,
                            const char *expected)
{
    AUTOTEXT struct text out = { 0 };
    assert_true(fault_template_is_sound(&fault_type_sample, pattern));
    fault_render(&fault_type_sample, pattern, &arguments, &out);
    assert_string_equal(text_str(&out), expected);
}

static void arguments_are_filled_in(void **state)
{
    (void)state;
    const struct fault_sample sample = { .count = 2, .peer = "tor1", .list = "10.0.0.1/32" };
    assert_rendered("", sample, "");
    assert_rendered("plain", sample, "plain");
    assert_rendered("{peer}", sample, "tor1");
    assert_rendered("{count} of {peer}: {list}.", sample, "2 of tor1: 10.0.0.1/32.");
    assert_rendered("{count}{count}", (struct fault_sample){ .count = -7 }, "-7-7");
    assert_rendered("[{list}][ at {peer}]", (struct fault_sample){ .peer = "x" }, " at x");
    assert_rendered("[{count} left]done", (struct fault_sample){ 0 }, "done");
    assert_rendered("filter {{ accept; } [[::1]", sample, "filter { accept; } [::1]");
    assert_rendered("{peer}", (struct fault_sample){ 0 }, "");
}

static void one_and_many(void **state)
{
    (void)state;
    static const struct {
        int64_t count;
        const char *expected;
    } cases[] = { { 0, "0 routes" }, { 1, "1 route" }, { 2, "2 routes" } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_rendered("{count} {count:route|routes}",
                        (struct fault_sample){ .count = cases[i].count }, cases[i].expected);
}

static void names_stand_in_for_arguments(void **state)
{
    (void)state;
    AUTOTEXT struct text out = { 0 };
    fault_render(&fault_type_sample, fault_type_sample.message, NULL, &out);
    assert_string_equal(text_str(&out), "<count> routes are kept from <peer>: <list>");
}

/* What an argument holds is never read as a pattern. */
static void arguments_are_no_templates(void **state)
{
    (void)state;
    assert_rendered("{peer}", (struct fault_sample){ .peer = "{list} [x" }, "{list} [x");
}

static void what_is_unsound_is_found(void **state)
{
    (void)state;
    static const char *const unsound[] = {
        "{nobody}", "{peer", "[open", "{count:one}", "{peer:one|many}", "{}", "[[[{list}",
    };
    assert_true(fault_template_is_sound(&fault_type_sample, NULL));
    for (size_t i = 0; i < ARRAY_SIZE(unsound); i++)
        if (fault_template_is_sound(&fault_type_sample, unsound[i]))
            fail_msg("%s", unsound[i]);
}

static void a_fault_is_raised(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    fault_raise(&faults, "session tor1", sample, .count = 1, .peer = "tor1", .list = "a, b");
    fault_raise(&faults, "session tor2", sample, .count = 3, .peer = "tor2");
    assert_int_equal(faults.list.count, 2);
    const struct fault *first = &faults.list.items[0], *second = &faults.list.items[1];
    assert_ptr_equal(first->type, &fault_type_sample);
    assert_string_equal(first->place, "session tor1");
    assert_string_equal(first->message, "1 route is kept from tor1: a, b");
    assert_string_equal(first->remedy, "see tor1");
    assert_string_equal(second->message, "3 routes are kept from tor2");
    assert_string_not_equal(first->key, second->key);
}

static void a_copy_is_the_same_fault_at_another_place(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    fault_raise(&faults, "here", sample, .count = 1, .peer = "tor1");
    const struct fault before = faults.list.items[0];
    faults_add_copy(&faults, "there", &before);
    assert_int_equal(faults.list.count, 2);
    const struct fault *first = &faults.list.items[0], *copy = &faults.list.items[1];
    assert_ptr_equal(copy->type, &fault_type_sample);
    assert_string_equal(copy->place, "there");
    assert_string_equal(copy->key, first->key);
    assert_string_equal(copy->message, first->message);
    assert_string_equal(copy->remedy, first->remedy);
}

static void a_place_without_memory_makes_the_list_incomplete(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    fault_raise(&faults, NULL, sample, .count = 1);
    assert_int_equal(faults.list.count, 0);
    assert_true(faults.incomplete);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_filled_in),
        cmocka_unit_test(one_and_many),
        cmocka_unit_test(names_stand_in_for_arguments),
        cmocka_unit_test(arguments_are_no_templates),
        cmocka_unit_test(what_is_unsound_is_found),
        cmocka_unit_test(a_fault_is_raised),
        cmocka_unit_test(a_copy_is_the_same_fault_at_another_place),
        cmocka_unit_test(a_place_without_memory_makes_the_list_incomplete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
