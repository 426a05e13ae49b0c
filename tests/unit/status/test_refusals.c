// SPDX-License-Identifier: Apache-2.0
/* Refused writes: one row for each object, whose faults are bounded. */
#include "status/refusals.h"

#include <stdio.h>

#include "cmocka_all.h"
#include "raised.h"

static void each_object_has_its_own(void **state)
{
    (void)state;
    CLEANUP(refusals_done) struct refusals refusals;
    AUTOFAULTS struct faults faults = { 0 };
    refusals_init(&refusals);
    refusals_note(&refusals, "Service a/b", "no", "ask for it");
    refusals_note(&refusals, "Service a/a", "no", NULL);
    refusals_end(&refusals, "Service a/b");
    assert_true(refusals.changed);
    refusals_faults(&refusals, &faults);
    assert_false(refusals.changed);
    assert_raised(&faults, "api-write-refused at Service a/a\n");
    assert_null(faults.list.items[0].remedy);

    refusals_note(&refusals, "Service a/a", "no", NULL);
    refusals_end(&refusals, "Service a/b");
    assert_false(refusals.changed);
    refusals_note(&refusals, "Service a/a", "never", NULL);
    assert_true(refusals.changed);
    assert_int_equal(refusals_count(&refusals), 1);
    refusals_clear(&refusals);
    assert_int_equal(refusals_count(&refusals), 0);
}

static void faults_are_bounded(void **state)
{
    (void)state;
    CLEANUP(refusals_done) struct refusals refusals;
    AUTOFAULTS struct faults faults = { 0 };
    char place[32];
    refusals_init(&refusals);
    for (int i = 0; i < 250; i++) {
        (void)snprintf(place, sizeof(place), "Service a/%d", i);
        refusals_note(&refusals, place, "no", NULL);
    }
    refusals_faults(&refusals, &faults);
    assert_int_equal(faults.list.count, 101);
    assert_string_equal(faults.list.items[100].message,
                        "writes about 150 more objects are refused");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_object_has_its_own),
        cmocka_unit_test(faults_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
