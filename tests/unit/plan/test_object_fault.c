// SPDX-License-Identifier: Apache-2.0
/* Faults whose place is an object. */
#include "plan/object_fault.h"

#include "base/macro.h"
#include "faults/pools.h"
#include "raised.h"

static void the_place_is_the_object(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    const struct object service = { .kind = KIND_SERVICE, .namespace = "d", .name = "web" };
    const struct object node = { .kind = KIND_NODE, .namespace = "", .name = "node1" };
    object_raise(&faults, &service, pool_status_unheeded, .reason = "it is taken");
    object_raise(&faults, &node, pool_status_unheeded);
    assert_raised(&faults,
                  "pool-status-unheeded at Service d/web\npool-status-unheeded at Node node1\n");
    assert_string_equal(raised(&faults, "pool-status-unheeded")->message,
                        "is not given what its status in the manifest says: it is taken");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_place_is_the_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
