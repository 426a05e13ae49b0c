// SPDX-License-Identifier: Apache-2.0
/* Names of pod interfaces: what is taken, and the alias there and back. */
#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "cmocka_all.h"
#include "plan/pods/pod_interface.h"

static void an_alias_is_read_back(void **state)
{
    (void)state;
    struct pod_interface pod_interface, read;
    char alias[POD_INTERFACE_ALIAS_LEN], name[POD_INTERFACE_INTERFACE_MAX + 1];
    assert_int_equal(pod_interface_name("0a1b2c", "eth0", "default", &pod_interface), 0);
    assert_int_equal(pod_interface_alias(&pod_interface, alias), 0);
    assert_string_equal(alias, "COIL:default:0a1b2c:eth0");
    assert_true(pod_interface_of_alias(alias, &read));
    assert_int_equal(pod_interface_cmp(&pod_interface, &read), 0);
    assert_string_equal(read.pool, "default");
    pod_interface_host_name(&pod_interface, name);
    assert_int_equal(strspn(name + 4, "0123456789abcdef"), 8);
    assert_int_equal(strlen(name), 12);
}

static void other_aliases_are_nobody_s(void **state)
{
    (void)state;
    static const char *const aliases[] = {
        "",
        "fingerpost",
        "COIL:",
        "COIL:default",
        "COIL:default:c",
        "COIL:default::eth0",
        "COIL::uid:eth0",
        "COIL:default:c:",
        "COIL:default:c:eth0:more",
        "COIL:default:c:eth/0",
        "coil:default:c:eth0",
        "COIL:default:c d:eth0",
        "COIL:default:c:sixteen-letters-",
    };
    for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
        struct pod_interface pod_interface;
        assert_false(pod_interface_of_alias(aliases[i], &pod_interface));
    }
}

static void an_alias_that_the_kernel_cannot_hold_is_refused(void **state)
{
    (void)state;
    char long_name[POD_INTERFACE_NAME_MAX + 1], alias[POD_INTERFACE_ALIAS_LEN];
    struct pod_interface pod_interface;
    memset(long_name, 'a', sizeof(long_name));
    long_name[POD_INTERFACE_NAME_MAX] = '\0';
    assert_int_equal(pod_interface_name(long_name, "eth0", "default", &pod_interface), 0);
    assert_int_equal(pod_interface_alias(&pod_interface, alias), -ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alias_is_read_back),
        cmocka_unit_test(other_aliases_are_nobody_s),
        cmocka_unit_test(an_alias_that_the_kernel_cannot_hold_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
