// SPDX-License-Identifier: Apache-2.0
/* Coil's metrics of pools, as its dashboards ask for them. */
#include "api/metrics/view_metrics.h"

#include "cmocka_all.h"
#include "state.h"

static void pools_tell_what_they_have_and_what_is_given(void **state)
{
    struct made_state *made = *state;
    AUTOTEXT struct text none = { 0 }, out = { 0 };
    write_block_metrics(made->store, &none);
    assert_string_equal(text_str(&none), "");

    made_object(made->store, "{apiVersion: coil.cybozu.com/v2, kind: AddressPool, metadata: {name: "
                             "default}, spec: {blockSizeBits: 5, subnets: [{ipv4: 10.2.0.0/16}, "
                             "{ipv4: 10.3.0.0/24}]}}");
    made_object(made->store, "{apiVersion: coil.cybozu.com/v2, kind: AddressPool, metadata: {name: "
                             "empty}, spec: {blockSizeBits: 0, subnets: [{ipv6: 'fd02::/120'}]}}");
    made_object(made->store, "{apiVersion: coil.cybozu.com/v2, kind: AddressBlock, metadata: "
                             "{name: default-0, labels: {coil.cybozu.com/pool: default}}, index: "
                             "0, ipv4: 10.2.0.0/27}");
    made_object(made->store, "{apiVersion: coil.cybozu.com/v2, kind: AddressBlock, metadata: "
                             "{name: other-0, labels: {coil.cybozu.com/pool: other}}, index: 0, "
                             "ipv4: 10.9.0.0/27}");
    write_block_metrics(made->store, &out);
    assert_string_equal(
        text_str(&out),
        "# HELP coil_controller_max_blocks The blocks that a pool can be cut into.\n"
        "# TYPE coil_controller_max_blocks gauge\n"
        "coil_controller_max_blocks{pool=\"default\"} 2056\n"
        "coil_controller_max_blocks{pool=\"empty\"} 256\n"
        "# HELP coil_controller_allocated_blocks The blocks of a pool that nodes have.\n"
        "# TYPE coil_controller_allocated_blocks gauge\n"
        "coil_controller_allocated_blocks{pool=\"default\"} 1\n"
        "coil_controller_allocated_blocks{pool=\"empty\"} 0\n");
}

static int setup(void **state)
{
    *state = made_state_new();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    made_state_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pools_tell_what_they_have_and_what_is_given, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
