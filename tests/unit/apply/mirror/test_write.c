// SPDX-License-Identifier: Apache-2.0
/* Writing routes and rules: what is written stands, what is foreign stays, refusals are told. */
#include <errno.h>
#include <sys/wait.h>

#include "netns.h"

/* One route of each family in each table that we write. */
static const struct {
    uint32_t table;
    const char *prefix;
    uint8_t protocol;
    bool guard; /* unreachable, with the guard's metric */
} kinds[] = {
    { 119, "10.0.0.1/32", 31, false },   { 119, "2001:db8::1/128", 31, false },
    { 119, "10.224.0.0/27", 30, false }, { 119, "2001:db8:1::/64", 30, false },
    { 120, "10.0.0.1/32", 33, false },   { 120, "2001:db8::1/128", 33, false },
    { 254, "10.224.0.0/27", 33, true },  { 254, "2001:db8:1::/64", 33, true },
};

static struct route kind(size_t i)
{
    struct route route = blackhole(kinds[i].table, kinds[i].prefix, kinds[i].protocol);
    if (kinds[i].guard || kinds[i].table == 120)
        route.type = RTN_UNREACHABLE;
    if (kinds[i].guard)
        route.metric = ROUTE_METRIC_GUARD;
    return route;
}

static void routes_come_change_and_go(void **state)
{
    struct lab *lab = *state;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        apply_good(lab, OP_ADD, kind(i));
        assert_true(mirrored(lab, kind(i)));
    }
    assert_int_equal(kernel_routes(lab->kernel)->count, ARRAY_SIZE(kinds));
    run("ip route show table 119 | grep -qx 'blackhole 10.0.0.1 proto 31 '");
    run("ip -6 route show table main | grep -q '^unreachable 2001:db8:1::/64 dev lo proto 33 "
        "metric 4278198272 '");

    struct route draining = blackhole(119, "10.0.0.1/32", 32);
    struct route draining6 = blackhole(119, "2001:db8::1/128", 32);
    apply_good(lab, OP_REPLACE, draining);
    apply_good(lab, OP_REPLACE, draining6);
    assert_true(mirrored(lab, draining) && mirrored(lab, draining6));
    assert_false(mirrored(lab, kind(0)) || mirrored(lab, kind(1)));
    expect_mirror_is_true(lab);

    apply_good(lab, OP_DELETE, kind(0)); /* gone already, in that shape */
    assert_true(mirrored(lab, draining));
    apply_good(lab, OP_DELETE, draining);
    apply_good(lab, OP_DELETE, draining6);
    for (size_t i = 2; i < ARRAY_SIZE(kinds); i++)
        apply_good(lab, OP_DELETE, kind(i));
    assert_int_equal(kernel_routes(lab->kernel)->count, 0);
    apply_good(lab, OP_DELETE, kind(0));
    expect_mirror_is_true(lab);
}

static void big_table_numbers(void **state)
{
    (void)state;
    struct lab big = { 0 };
    assert_int_equal(open_mirror(70000, &big.kernel), 0);
    struct route routes[] = { blackhole(70000, "10.0.0.1/32", 31),
                              blackhole(70000, "2001:db8::1/128", 31) };
    for (size_t i = 0; i < 2; i++) {
        apply_good(&big, OP_ADD, routes[i]);
        assert_true(mirrored(&big, routes[i]));
        routes[i].protocol = 32;
        apply_good(&big, OP_REPLACE, routes[i]);
        assert_true(mirrored(&big, routes[i]));
        apply_good(&big, OP_DELETE, routes[i]);
    }
    assert_int_equal(kernel_routes(big.kernel)->count, 0);
    kernel_close(big.kernel);
}

static void foreign_routes_survive(void **state)
{
    struct lab *lab = *state;
    static const char *const prefixes[] = { "10.0.0.1/32", "2001:db8::1/128" };
    for (size_t i = 0; i < 2; i++) {
        struct route foreign = blackhole(119, prefixes[i], RTPROT_STATIC);
        struct route ours = blackhole(119, prefixes[i], 31);
        other_does(lab, OP_ADD, foreign);
        assert_int_equal(apply_one(lab, OP_ADD, ours).error, -EEXIST);
        apply_good(lab, OP_DELETE, ours);
        assert_true(mirrored(lab, foreign));
        assert_false(mirrored(lab, ours));
    }
    expect_mirror_is_true(lab);
}

/* The kernel does not compare the type of an IPv6 route that is to go. */
static void only_the_named_type_goes(void **state)
{
    struct lab *lab = *state;
    run("ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up");
    run("ip -6 route add 2001:db8::/64 dev d0 table 119 proto 30 metric 1024");
    run("ip route add 10.224.0.0/27 dev d0 table 119 proto 30");
    apply_good(lab, OP_DELETE, blackhole(119, "2001:db8::/64", 30));
    apply_good(lab, OP_DELETE, blackhole(119, "10.224.0.0/27", 30));
    assert_int_equal(kernel_routes(lab->kernel)->count, 2);
    while (kernel_routes(lab->kernel)->count > 0)
        apply_good(lab, OP_DELETE, *(struct route *)sorted_at(kernel_routes(lab->kernel), 0));
    expect_mirror_is_true(lab);
}

static void coils_shape_is_taken_over(void **state)
{
    struct lab *lab = *state;
    run("ip route add 10.224.0.0/30 dev lo proto 30 table 119");
    run("ip -6 route add 2001:db8::/64 dev lo proto 30 table 119");
    struct route want[] = { blackhole(119, "10.224.0.0/30", 30),
                            blackhole(119, "2001:db8::/64", 30) };
    assert_int_equal(kernel_read(lab->kernel), 0);

    const struct sorted *have = kernel_routes(lab->kernel);
    struct route_diff diff;
    assert_int_equal(diff_routes(want, 2, sorted_at(have, 0), have->count, 119, true, &diff), 0);
    assert_int_equal(diff.ops.count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(diff.ops.items[i].kind, OP_REPLACE);
        apply_good(lab, diff.ops.items[i].kind, diff.ops.items[i].route);
        assert_true(mirrored(lab, want[i]));
    }
    route_diff_done(&diff);
    assert_int_equal(have->count, 2);
    expect_mirror_is_true(lab);
}

static void replacing_nothing_is_refused(void **state)
{
    struct lab *lab = *state;
    assert_true(apply_one(lab, OP_REPLACE, blackhole(119, "10.0.0.1/32", 31)).error < 0);
    assert_true(apply_one(lab, OP_REPLACE, blackhole(119, "2001:db8::1/128", 31)).error < 0);
    assert_int_equal(kernel_routes(lab->kernel)->count, 0);
    expect_mirror_is_true(lab);
}

static void refusals_carry_the_kernels_words(void **state)
{
    struct lab *lab = *state;
    struct route invalid = blackhole(119, "10.0.0.1/32", 31);
    invalid.prefix.length = 24;
    struct op_result result = apply_one(lab, OP_ADD, invalid);
    assert_int_equal(result.error, -EINVAL);
    assert_non_null(strstr(result.text, "Invalid prefix"));
}

static void a_refusal_does_not_stop_the_rest(void **state)
{
    struct lab *lab = *state;
    enum { COUNT = 200 };
    static struct route_op ops[COUNT];
    static struct op_result results[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        char prefix[PREFIX_STRLEN];
        snprintf(prefix, sizeof(prefix), i % 2 ? "10.0.0.%zu/32" : "2001:db8::%zx/128", i);
        ops[i] = (struct route_op){ OP_ADD, blackhole(119, prefix, 31) };
    }
    ops[100].route.type = 99;
    ops[150] = ops[149];
    assert_int_equal(kernel_apply_routes(lab->kernel, ops, COUNT, results), 0);
    assert_int_equal(kernel_read(lab->kernel), 0);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(results[i].error, i == 100 ? -EINVAL : i == 150 ? -EEXIST : 0);
        assert_int_equal(mirrored(lab, ops[i].route), i != 100);
    }
    expect_mirror_is_true(lab);
}

static struct op_result apply_rule(struct lab *lab, enum op_kind kind_, struct rule rule)
{
    struct op_result result;
    struct rule_op op = { kind_, rule };
    assert_int_equal(kernel_apply_rules(lab->kernel, &op, 1, &result), 0);
    assert_int_equal(kernel_read(lab->kernel), 0);
    return result;
}

static void rules_come_and_go(void **state)
{
    struct lab *lab = *state;
    for (uint8_t family = IP_V4; family <= IP_V6; family += IP_V6 - IP_V4) {
        const char *ip = family == IP_V4 ? "ip" : "ip -6";
        char command[120];
        struct rule guard = { family, RULE_PRIORITY_GUARD, 120, 33, true, "lo", false };
        assert_int_equal(apply_rule(lab, OP_ADD, guard).error, 0);
        assert_int_equal(apply_rule(lab, OP_ADD, guard).error, -EEXIST);
        assert_non_null(sorted_find(kernel_rules(lab->kernel), &guard));
        snprintf(command, sizeof(command),
                 "%s rule | grep -qx '1990:.not from all iif lo lookup 120 proto 33'", ip);
        run(command);

        /* Somebody's twin, by another protocol number. */
        snprintf(command, sizeof(command),
                 "%s rule add not iif lo lookup 120 pref 1990 protocol 44", ip);
        run(command);
        assert_int_equal(apply_rule(lab, OP_DELETE, guard).error, 0);
        assert_int_equal(apply_rule(lab, OP_DELETE, guard).error, 0);
        assert_null(sorted_find(kernel_rules(lab->kernel), &guard));
        guard.protocol = 44;
        assert_non_null(sorted_find(kernel_rules(lab->kernel), &guard));

        struct rule big = { family, 7, 70000, 33, false, "", false };
        assert_int_equal(apply_rule(lab, OP_ADD, big).error, 0);
        assert_non_null(sorted_find(kernel_rules(lab->kernel), &big));
        assert_int_equal(apply_rule(lab, OP_DELETE, big).error, 0);
    }
    assert_int_equal(kernel_rules(lab->kernel)->count, 2);
    expect_mirror_is_true(lab);
}

/* The rule for all traffic takes the place of the one for forwarded traffic, and back. */
static void rules_change_their_interface(void **state)
{
    struct lab *lab = *state;
    const struct rule rules[] = {
        { IP_V4, RULE_PRIORITY_GUARD, 120, 33, true, "lo", false },
        { IP_V4, RULE_PRIORITY_GUARD, 120, 33, false, "", false },
    };
    for (size_t i = 0; i < 4; i++) {
        const struct rule *want = &rules[i % 2];
        const struct sorted *have = kernel_rules(lab->kernel);
        rule_op_list ops;
        assert_int_equal(
            diff_rules(want, 1, have->count ? sorted_at(have, 0) : NULL, have->count, true, &ops),
            0);
        assert_int_equal(ops.count, i ? 2 : 1);
        vec_each(struct rule_op, op, &ops)
            assert_int_equal(apply_rule(lab, op->kind, op->rule).error, 0);
        vec_done(&ops);
        assert_int_equal(have->count, 1);
        assert_int_equal(rule_cmp(sorted_at(have, 0), want), 0);
    }
}

/* In a child: as a user without capabilities, each operation is refused by itself. */
static int without_privilege(void)
{
    struct kernel *kernel;
    struct route_op ops[] = { { OP_ADD, blackhole(119, "10.0.0.1/32", 31) },
                              { OP_DELETE, blackhole(119, "2001:db8::1/128", 31) } };
    struct rule_op rule = { OP_ADD, { IP_V4, 1990, 120, 33, true, "lo", false } };
    struct op_result results[2], rule_result;
    if (setresuid(65534, 65534, 65534) < 0 || open_mirror(119, &kernel) < 0)
        return 1;
    if (kernel_apply_routes(kernel, ops, 2, results) < 0 ||
        kernel_apply_rules(kernel, &rule, 1, &rule_result) < 0 || kernel_read(kernel) < 0)
        return 2;
    bool refused = results[0].error == -EPERM && results[1].error == -EPERM &&
                   rule_result.error == -EPERM && kernel_routes(kernel)->count == 1;
    kernel_close(kernel);
    return refused ? 0 : 3;
}

static void no_privilege_is_a_result(void **state)
{
    struct lab *lab = *state;
    apply_good(lab, OP_ADD, blackhole(119, "10.9.9.9/32", 31));
    pid_t child = fork();
    if (child == 0)
        _exit(without_privilege());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(routes_come_change_and_go, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(big_table_numbers, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(foreign_routes_survive, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(only_the_named_type_goes, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(coils_shape_is_taken_over, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(replacing_nothing_is_refused, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(refusals_carry_the_kernels_words, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(a_refusal_does_not_stop_the_rest, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(rules_come_and_go, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(rules_change_their_interface, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(no_privilege_is_a_result, lab_open, lab_close),
    };
    return lab_missing() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
