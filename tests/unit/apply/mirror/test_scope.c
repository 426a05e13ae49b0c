// SPDX-License-Identifier: Apache-2.0
/* Mirrors with other scopes than agentd's, in other namespaces, and beside each other. */
#include <errno.h>
#include <net/if.h>

#include "apply/netlink/link.h"
#include "base/cleanup.h"
#include "netns.h"

static struct kernel *open_scope(const struct kernel_scope *scope, int netns)
{
    struct kernel *kernel = NULL;
    assert_int_equal(kernel_open(scope, netns, &kernel), 0);
    return kernel;
}

static bool has(struct kernel *kernel, struct route route)
{
    assert_int_equal(kernel_read(kernel), 0);
    return sorted_find(kernel_routes(kernel), &route) != NULL;
}

/* What was heard up to now is what a mirror of the same scope finds by a dump. */
static void expect_true(struct kernel *kernel, const struct kernel_scope *scope)
{
    CLEANUP(kernel_closep) struct kernel *fresh = open_scope(scope, NL_HERE);
    assert_int_equal(kernel_read(kernel), 0);
    expect_equal_tables(kernel_routes(kernel), kernel_routes(fresh));
    expect_equal_tables(kernel_rules(kernel), kernel_rules(fresh));
    expect_equal_tables(kernel_link_addresses(kernel), kernel_link_addresses(fresh));
    assert_true(links_equal(kernel_links(kernel), kernel_links(fresh)));
}

static const struct kernel_scope pods = { .routes = { { 116, 0 } }, .route_count = 1 };

static void one_table_and_nothing_else(void **state)
{
    struct lab *lab = *state;
    run("ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up && "
        "ip addr add 10.7.0.1/24 dev d0 && ip rule add pref 100 lookup 116");
    other_does(lab, OP_ADD, blackhole(116, "10.1.0.0/24", 30));
    other_does(lab, OP_ADD, blackhole(119, "10.2.0.0/24", 30));
    CLEANUP(kernel_closep) struct kernel *kernel = open_scope(&pods, NL_HERE);
    assert_int_equal(kernel_routes(kernel)->count, 1);
    assert_true(has(kernel, blackhole(116, "10.1.0.0/24", 30)));
    assert_int_equal(kernel_rules(kernel)->count + kernel_links(kernel)->count +
                         kernel_local_prefixes(kernel)->count +
                         kernel_link_addresses(kernel)->count,
                     0);

    other_does(lab, OP_ADD, blackhole(116, "fd01::/64", 4));
    other_does(lab, OP_DELETE, blackhole(116, "10.1.0.0/24", 30));
    other_does(lab, OP_DELETE, blackhole(119, "10.2.0.0/24", 30));
    run("ip rule add pref 101 lookup 116 && ip link set d0 mtu 1400 && "
        "ip addr add 10.7.1.1/24 dev d0");
    assert_true(has(kernel, blackhole(116, "fd01::/64", 4)));
    assert_int_equal(kernel_routes(kernel)->count, 1);
    const struct kernel_events *events = kernel_events(kernel);
    assert_int_equal(events->routes.count, 2);
    assert_false(events->rules || events->other_rules || events->addresses || events->links);
    assert_int_equal(kernel_rules(kernel)->count + kernel_links(kernel)->count +
                         kernel_link_addresses(kernel)->count,
                     0);
    assert_int_equal(kernel_resync(kernel), 0);
    expect_true(kernel, &pods);
}

/*
 * The kernel says nothing of IPv4 routes that go with their link, or in main with their source; it
 * is heard of all the same.
 */
static void silent_losses_are_found_without_links(void **state)
{
    (void)state;
    const struct kernel_scope scope = {
        .routes = { { 116, 0 }, { ROUTE_TABLE_MAIN, 30 } },
        .route_count = 2,
    };
    run("ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up && "
        "ip addr add 10.6.0.1/24 dev d0 && ip addr add 10.7.0.1/24 dev d0 && "
        "ip route add 10.1.0.1 dev d0 src 10.7.0.1 proto 30 && "
        "ip route add 10.1.0.2 dev d0 table 116");
    CLEANUP(kernel_closep) struct kernel *kernel = open_scope(&scope, NL_HERE);
    assert_int_equal(kernel_routes(kernel)->count, 2);
    run("ip addr del 10.7.0.1/24 dev d0");
    assert_int_equal(kernel_read(kernel), 0);
    assert_int_equal(kernel_routes(kernel)->count, 1);
    run("ip link set d0 down");
    assert_int_equal(kernel_read(kernel), 0);
    assert_int_equal(kernel_routes(kernel)->count, 0);
    assert_true(kernel_events(kernel)->resynced);
}

/* Of main only what pods have there: others' routes matter where they take the place of one. */
static void a_protocol_of_main(void **state)
{
    struct lab *lab = *state;
    const struct kernel_scope scope = {
        .routes = { { ROUTE_TABLE_MAIN, 30 }, { ROUTE_TABLE_MAIN, 31 }, { 70001, 0 } },
        .route_count = 3,
    };
    const struct route ours = blackhole(ROUTE_TABLE_MAIN, "10.1.0.0/24", 30);
    other_does(lab, OP_ADD, blackhole(ROUTE_TABLE_MAIN, "10.3.0.0/24", 4));
    CLEANUP(kernel_closep) struct kernel *kernel = open_scope(&scope, NL_HERE);
    assert_int_equal(kernel_routes(kernel)->count, 0);
    other_does(lab, OP_ADD, ours);
    other_does(lab, OP_ADD, blackhole(ROUTE_TABLE_MAIN, "10.2.0.0/24", 33));
    other_does(lab, OP_ADD, blackhole(ROUTE_TABLE_MAIN, "fd01::/64", 31));
    other_does(lab, OP_ADD, blackhole(70001, "10.4.0.0/24", 4));
    other_does(lab, OP_ADD, blackhole(70002, "10.4.0.0/24", 4));
    assert_true(has(kernel, ours));
    assert_true(has(kernel, blackhole(ROUTE_TABLE_MAIN, "fd01::/64", 31)));
    assert_true(has(kernel, blackhole(70001, "10.4.0.0/24", 4)));
    assert_int_equal(kernel_routes(kernel)->count, 3);

    other_does(lab, OP_REPLACE, blackhole(ROUTE_TABLE_MAIN, "10.1.0.0/24", 4));
    assert_false(has(kernel, ours));
    other_does(lab, OP_REPLACE, ours);
    assert_true(has(kernel, ours));
    expect_true(kernel, &scope);
}

/* A protocol number that is asked for by name is one of ours, with a rival or without. */
static void who_changes_a_named_protocol_is_told(void **state)
{
    struct lab *lab = *state;
    struct kernel_scope scope = scope_of_node(119);
    assert_int_equal(scope_add_routes(&scope, 116, 77), 0);
    CLEANUP(kernel_closep) struct kernel *kernel = open_scope(&scope, NL_HERE);
    other_does(lab, OP_ADD, blackhole(116, "10.1.0.0/24", 4));
    other_does(lab, OP_ADD, blackhole(119, "10.1.0.0/24", 4));
    assert_int_equal(kernel_read(kernel), 0);
    assert_int_equal(kernel_events(kernel)->writer, 0);
    other_does(lab, OP_ADD, blackhole(116, "10.2.0.0/24", 77));
    assert_int_equal(kernel_read(kernel), 0);
    assert_int_equal(kernel_events(kernel)->writer, nl_port_id(lab->other));
    expect_true(kernel, &scope);
}

/* Of others' routes in main a node's mirror has blackholes alone: they may swallow what is for a
 * service address. */
static void blackholes_in_main(void **state)
{
    struct lab *lab = *state;
    const struct kernel_scope scope = scope_of_node(119);
    CLEANUP(kernel_closep) struct kernel *kernel = open_scope(&scope, NL_HERE);
    struct route theirs = blackhole(254, "203.0.113.10/32", RTPROT_BIRD), plain = theirs;
    plain.type = RTN_UNREACHABLE;
    other_does(lab, OP_ADD, theirs);
    assert_true(has(kernel, theirs));
    assert_int_equal(kernel_events(kernel)->routes.count, 1);
    assert_int_equal(kernel_events(kernel)->writer, 0);
    expect_true(kernel, &scope);

    other_does(lab, OP_REPLACE, plain);
    assert_false(has(kernel, theirs));
    expect_true(kernel, &scope);
    other_does(lab, OP_REPLACE, theirs);
    assert_true(has(kernel, theirs));
    kernel_events_done(kernel);
    other_does(lab, OP_DELETE, theirs);
    assert_false(has(kernel, theirs));
    assert_int_equal(kernel_events(kernel)->routes.count, 1);
    expect_true(kernel, &scope);
}

static void a_scope_has_room_for_so_many_tables(void **state)
{
    (void)state;
    struct kernel_scope scope = { 0 };
    for (uint32_t table = 1; table <= SCOPE_ROUTES_MAX; table++)
        assert_int_equal(scope_add_routes(&scope, table, 0), 0);
    assert_true(scope_has_whole_table(&scope, SCOPE_ROUTES_MAX));
    assert_int_equal(scope_add_routes(&scope, 116, 0), -ENOSPC);
    assert_false(scope_has_table(&scope, 116));
}

static void addresses_of_one_interface(void **state)
{
    (void)state;
    run("ip link add d0 type veth peer name d1 && ip link add e0 type veth peer name e1 && "
        "ip addr add 10.7.0.1/24 dev d0 && ip addr add 10.8.0.1/24 dev e0");
    const struct kernel_scope scope = { .addresses = true, .ifindex = if_nametoindex("d0") };
    CLEANUP(kernel_closep) struct kernel *kernel = open_scope(&scope, NL_HERE);
    assert_int_equal(kernel_link_addresses(kernel)->count, 1);
    assert_int_equal(kernel_local_prefixes(kernel)->count, 2);
    assert_int_equal(kernel_links(kernel)->count + kernel_rules(kernel)->count +
                         kernel_routes(kernel)->count,
                     0);

    run("ip addr add 10.8.0.2/24 dev e0 && ip link set e0 up");
    assert_int_equal(kernel_read(kernel), 0);
    assert_false(kernel_events(kernel)->addresses || kernel_events(kernel)->links);
    run("ip addr add 10.7.0.2/32 dev d0 && ip addr del 10.7.0.1/24 dev d0");
    assert_int_equal(kernel_read(kernel), 0);
    assert_true(kernel_events(kernel)->addresses);
    assert_int_equal(kernel_link_addresses(kernel)->count, 1);
    const struct link_address *address = sorted_at(kernel_link_addresses(kernel), 0);
    assert_int_equal(address->length, 32);
    expect_true(kernel, &scope);

    /* The interface goes: it has none, and neither has a mirror that is opened then. */
    run("ip link del d0");
    assert_int_equal(kernel_read(kernel), 0);
    assert_int_equal(kernel_link_addresses(kernel)->count, 0);
    expect_true(kernel, &scope);
}

static void links_alone(void **state)
{
    struct lab *lab = *state;
    const struct kernel_scope scope = { .links = true };
    CLEANUP(kernel_closep) struct kernel *kernel = open_scope(&scope, NL_HERE);
    assert_int_equal(kernel_links(kernel)->count, 1);
    run("ip link add d0 type veth peer name d1 && ip addr add 10.7.0.1/24 dev d0");
    other_does(lab, OP_ADD, blackhole(119, "10.1.0.0/24", 30));
    assert_int_equal(kernel_read(kernel), 0);
    assert_int_equal(kernel_links(kernel)->count, 3);
    assert_true(kernel_events(kernel)->links);
    assert_int_equal(kernel_routes(kernel)->count + kernel_link_addresses(kernel)->count, 0);
    assert_int_equal(kernel_resync(kernel), 0);
    expect_true(kernel, &scope);
}

static void a_mirror_of_another_namespace(void **state)
{
    struct lab *lab = *state;
    AUTOCLOSE int netns = another_netns();
    const struct kernel_scope scope = scope_of_node(119);
    const struct route route = blackhole(119, "10.1.0.0/24", 30);
    CLEANUP(kernel_closep) struct kernel *kernel = open_scope(&scope, netns);
    CLEANUP(nl_closep) struct nl_socket *there = NULL;
    assert_int_equal(nl_open_in(netns, NETLINK_ROUTE, &there), 0);

    struct route_op op = { OP_ADD, route };
    struct op_result result;
    assert_int_equal(kernel_apply_routes(kernel, &op, 1, &result), 0);
    assert_int_equal(result.error, 0);
    assert_true(has(kernel, route));
    assert_false(has(lab->kernel, route));
    assert_int_equal(kernel_events(kernel)->routes.count, 0); /* its own */

    op.kind = OP_DELETE;
    assert_int_equal(write_routes(there, &op, 1, &result), 0);
    const struct nl_veth left = { .name = "left" }, right = { .name = "right" };
    assert_int_equal(nl_link_add_veth(there, &left, &right, NL_HERE, NULL), 0);
    assert_false(has(kernel, route));
    assert_int_equal(kernel_events(kernel)->routes.count, 1);
    assert_non_null(link_named(kernel_links(kernel), "left"));
    assert_null(link_named(kernel_links(lab->kernel), "left"));
}

/* What one of them writes is drift to the other, by name. */
static void mirrors_beside_each_other(void **state)
{
    struct lab *lab = *state;
    const struct kernel_scope scope = { .routes = { { 119, 0 } }, .route_count = 1 };
    const struct route route = blackhole(119, "10.1.0.0/24", 31);
    CLEANUP(kernel_closep) struct kernel *kernel = open_scope(&scope, NL_HERE);
    struct route_op op = { OP_ADD, route };
    struct op_result result;
    assert_int_equal(kernel_apply_routes(kernel, &op, 1, &result), 0);
    assert_true(has(kernel, route) && has(lab->kernel, route));
    assert_int_equal(kernel_events(kernel)->routes.count, 0);
    assert_int_equal(kernel_events(lab->kernel)->routes.count, 1);
    assert_true(kernel_events(lab->kernel)->writer != 0);
    expect_mirror_is_true(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_table_and_nothing_else, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(silent_losses_are_found_without_links, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(a_protocol_of_main, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(who_changes_a_named_protocol_is_told, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(blackholes_in_main, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(a_scope_has_room_for_so_many_tables, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(addresses_of_one_interface, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(links_alone, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(a_mirror_of_another_namespace, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(mirrors_beside_each_other, lab_open, lab_close),
    };
    return lab_missing() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
