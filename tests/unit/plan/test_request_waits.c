// SPDX-License-Identifier: Apache-2.0
/* Requests that wait: which are told as faults, and when anything has changed. */
#include "plan/request_waits.h"

#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"

static void a_wait_is_a_fault_with_a_remedy_until_it_ends(void **state)
{
    (void)state;
    CLEANUP(request_waits_done) struct request_waits waits;
    AUTOFAULTS struct faults some = { 0 }, none = { 0 };
    request_waits_init(&waits);
    request_waits_set(&waits, "req-a-n1", WAIT_NOTHING);
    assert_false(waits.changed);
    request_waits_set(&waits, "req-a-n1", WAIT_POOL);
    request_waits_set(&waits, "req-a-n2", WAIT_TAKEN); /* ends by itself */
    assert_true(waits.changed);
    assert_int_equal(request_waits_count(&waits), 2);
    request_waits_faults(&waits, &some);
    assert_false(waits.changed);
    assert_int_equal(some.list.count, 1);
    assert_string_equal(some.list.items[0].place, "BlockRequest req-a-n1");
    assert_string_equal(some.list.items[0].message,
                        "gets no block: its pool does not exist, or cannot be read");
    assert_non_null(some.list.items[0].remedy);

    request_waits_set(&waits, "req-a-n1", WAIT_POOL);
    assert_false(waits.changed);
    request_waits_set(&waits, "req-a-n1", WAIT_NOTHING);
    assert_true(waits.changed);
    request_waits_faults(&waits, &none);
    assert_true(faults_none(&none));
    request_waits_clear(&waits);
    assert_true(waits.changed);
    assert_int_equal(request_waits_count(&waits), 0);
}

static void many_waits_are_a_bounded_list(void **state)
{
    (void)state;
    enum { MANY = 1000, TOLD = 100 };
    CLEANUP(request_waits_done) struct request_waits waits;
    AUTOFAULTS struct faults faults = { 0 };
    char name[32];
    request_waits_init(&waits);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "req-a-n%d", i);
        request_waits_set(&waits, name, WAIT_POOL);
    }
    request_waits_faults(&waits, &faults);
    assert_int_equal(faults.list.count, TOLD + 1);
    assert_string_equal(faults.list.items[TOLD].message, "900 more requests get no block");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_is_a_fault_with_a_remedy_until_it_ends),
        cmocka_unit_test(many_waits_are_a_bounded_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
