// SPDX-License-Identifier: Apache-2.0
/* Which changes of objects have the detector of conflicts asked again. */
#include <string.h>

#include "model/services/service.h"

#include "found.h"

static bool is_touched(const struct detector_facts *facts, const struct object *object)
{
    const struct change comes = { .after = object }, goes = { .before = object };
    const struct detector *detector = detector_find("conflicts");
    const bool touched = detector->touched(facts, &comes);
    assert_int_equal(detector->touched(facts, &goes), touched);
    return touched;
}

static void conflicts_depend_on_what_has_a_say(void **state)
{
    (void)state;
    struct prefix own;
    struct config *config;
    struct conflict_scope scope = { 0 };
    const struct object node = { .kind = KIND_NODE }, pod = { .kind = KIND_POD };
    struct service_address address = { .origin = ADDRESS_LOAD_BALANCER };
    const struct service service = { .object = { .kind = KIND_SERVICE },
                                     .addresses = &address,
                                     .address_count = 1 };
    assert_int_equal(config_default("/m", &config), 0);
    const struct detector_facts facts = { .config = config, .conflicts = &scope };
    assert_int_equal(ip_parse("10.224.0.7", &address.ip), 0);
    assert_int_equal(prefix_parse("10.224.0.0/26", &own), 0);

    assert_true(is_touched(&facts, &node));
    assert_false(is_touched(&facts, &pod));
    assert_false(is_touched(&facts, &service.object));
    scope.unowned = true;
    assert_true(is_touched(&facts, &service.object));
    scope.unowned = false;
    assert_int_equal(vec_push(&scope.own, own), 0);
    assert_true(is_touched(&facts, &service.object));
    vec_done(&scope.own);
    config_free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conflicts_depend_on_what_has_a_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
