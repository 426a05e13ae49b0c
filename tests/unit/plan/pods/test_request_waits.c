// SPDX-License-Identifier: Apache-2.0
/* Requests that wait: which are told as faults, and when anything has changed. */
#include "plan/pods/request_waits.h"

#include <stdio.h>
#include <string.h>

#include "raised.h"

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
    assert_told(&some, "block-request-no-pool at BlockRequest req-a-n1: gets no block: its pool "
                       "does not exist, or cannot be read\n");

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

/* And the API says the same of it as the fault. */
static void each_wait_has_a_code_of_its_own(void **state)
{
    static const char *const codes[] = {
        "block-request-long-name", "block-request-no-node",   "block-request-other-node",
        "block-request-no-pool",   "block-request-no-status", "block-request-overlaps",
    };
    size_t told = 0;
    (void)state;
    for (enum request_wait wait = WAIT_NOTHING + 1; wait < WAIT_REASONS; wait++) {
        CLEANUP(request_waits_done) struct request_waits waits;
        AUTOFAULTS struct faults faults = { 0 };
        request_waits_init(&waits);
        request_waits_set(&waits, "r", wait);
        request_waits_faults(&waits, &faults);
        assert_int_equal(faults.list.count, request_wait_remedy(wait) != NULL);
        if (faults.list.count == 0)
            continue;
        assert_true(told < ARRAY_SIZE(codes));
        const struct fault *fault = raised(&faults, codes[told++]);
        assert_string_equal(fault->remedy, request_wait_remedy(wait));
        assert_string_equal(strchr(fault->message, ':') + 2, request_wait_text(wait));
    }
    assert_int_equal(told, ARRAY_SIZE(codes));
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
    assert_string_equal(code_of(&faults.list.items[TOLD]), "block-requests-waiting");
    assert_string_equal(faults.list.items[TOLD].message, "900 more requests get no block");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_is_a_fault_with_a_remedy_until_it_ends),
        cmocka_unit_test(each_wait_has_a_code_of_its_own),
        cmocka_unit_test(many_waits_are_a_bounded_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
