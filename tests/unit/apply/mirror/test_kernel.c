// SPDX-License-Identifier: Apache-2.0
/*
 * The mirror: it is what the kernel has, whoever changed it and however it was told, and it names
 * what others did.
 */
#include <errno.h>
#include <sys/socket.h>

#include "netns.h"

static void read_all(struct lab *lab)
{
    assert_int_equal(kernel_read(lab->kernel), 0);
}

static const struct kernel_events *events(struct lab *lab)
{
    return kernel_events(lab->kernel);
}

static bool listed(struct lab *lab, struct route route)
{
    for (size_t i = 0; i < events(lab)->routes.count; i++)
        if (route_cmp(&events(lab)->routes.items[i], &route) == 0)
            return true;
    return false;
}

static void expect_no_events(struct lab *lab)
{
    assert_int_equal(events(lab)->routes.count, 0);
    assert_false(events(lab)->rules || events(lab)->addresses || events(lab)->resynced);
    assert_false(events(lab)->links);
    assert_int_equal(events(lab)->writer, 0);
}

static void opens_on_what_stands(void **state)
{
    struct lab *lab = *state;
    assert_int_equal(kernel_routes(lab->kernel)->count, 0);
    run("ip route add blackhole 10.0.0.1 table 119 proto 31");
    run("ip -6 route add unreachable 2001:db8::/64 proto 33 metric 4278198272");
    run("ip route add unreachable 10.1.0.0/16 proto 34");
    run("ip -6 route add default dev lo table 119 proto static");
    run("ip route add blackhole 10.0.0.1 table 121 proto 31");
    struct kernel *opened;
    assert_int_equal(open_mirror(119, &opened), 0);
    assert_int_equal(kernel_routes(opened)->count, 3);
    const struct kernel_events *none = kernel_events(opened);
    assert_false(none->resynced || none->rules || none->addresses);
    read_all(lab);
    expect_equal_tables(kernel_routes(lab->kernel), kernel_routes(opened));
    kernel_close(opened);

    struct route unreachable = blackhole(254, "2001:db8::/64", 33);
    unreachable.type = RTN_UNREACHABLE;
    unreachable.metric = ROUTE_METRIC_GUARD;
    assert_true(mirrored(lab, unreachable));
    struct route foreign = blackhole(119, "::/0", RTPROT_STATIC);
    foreign.type = RTN_UNICAST;
    foreign.ifindex = 1;
    assert_true(mirrored(lab, foreign));
}

static void own_changes_are_no_events(void **state)
{
    struct lab *lab = *state;
    struct route route = blackhole(119, "10.0.0.1/32", 31);
    struct rule_op rule = { OP_ADD, { IP_V6, 1990, 120, 33, true, "lo", false } };
    struct op_result result;
    apply_good(lab, OP_ADD, route);
    route.protocol = 32;
    apply_good(lab, OP_REPLACE, route);
    apply_good(lab, OP_DELETE, route);
    assert_int_equal(kernel_apply_rules(lab->kernel, &rule, 1, &result), 0);
    assert_int_equal(result.error, 0);
    read_all(lab);
    assert_non_null(sorted_find(kernel_rules(lab->kernel), &rule.rule));
    expect_no_events(lab);
}

static void drift_is_told_with_its_writer(void **state)
{
    struct lab *lab = *state;
    static const char *const prefixes[] = { "10.0.0.1/32", "2001:db8::1/128" };
    for (size_t i = 0; i < 2; i++) {
        struct route ours = blackhole(119, prefixes[i], 31);
        struct route theirs = blackhole(119, prefixes[i], RTPROT_STATIC);
        apply_good(lab, OP_ADD, ours);
        other_does(lab, OP_DELETE, ours);
        read_all(lab);
        assert_true(listed(lab, ours));
        assert_false(mirrored(lab, ours));
        assert_int_equal(events(lab)->writer, nl_port_id(lab->other));
        kernel_events_done(lab->kernel);
        expect_no_events(lab);

        apply_good(lab, OP_ADD, ours);
        other_does(lab, OP_REPLACE, theirs);
        read_all(lab);
        assert_true(listed(lab, ours) && listed(lab, theirs));
        assert_true(mirrored(lab, theirs) && !mirrored(lab, ours));
        assert_int_equal(events(lab)->writer, nl_port_id(lab->other));
        kernel_events_done(lab->kernel);

        /* Their own route is theirs to take away: told, but nobody is to blame. */
        other_does(lab, OP_DELETE, theirs);
        read_all(lab);
        assert_true(listed(lab, theirs));
        assert_int_equal(events(lab)->writer, 0);
        assert_false(events(lab)->resynced);
        kernel_events_done(lab->kernel);
    }
    expect_mirror_is_true(lab);
}

static void other_tables_are_no_concern(void **state)
{
    struct lab *lab = *state;
    other_does(lab, OP_ADD, blackhole(121, "10.0.0.1/32", 31));
    other_does(lab, OP_ADD, blackhole(70000, "2001:db8::1/128", 31));
    run("ip route add unreachable 10.0.0.1 proto bird && ip route replace prohibit 10.0.0.1 && "
        "ip route add blackhole 10.5.0.0/24 tos 4 table 119 proto 31");
    read_all(lab);
    expect_no_events(lab);
    assert_int_equal(kernel_routes(lab->kernel)->count, 0);
    assert_int_equal(kernel_rules(lab->kernel)->count, 0);
}

static void guard_replaced_in_main_is_seen(void **state)
{
    struct lab *lab = *state;
    static const char *const prefixes[] = { "10.224.0.0/27", "2001:db8::/64" };
    for (size_t i = 0; i < 2; i++) {
        struct route guard = blackhole(254, prefixes[i], 33);
        guard.type = RTN_UNREACHABLE;
        guard.metric = ROUTE_METRIC_GUARD;
        for (int plain = 0; plain <= 1; plain++) { /* as what leads to svc0 */
            if (plain)
                guard.metric = (uint32_t)i;
            struct route theirs = guard;
            theirs.protocol = RTPROT_STATIC;
            apply_good(lab, OP_ADD, guard);
            other_does(lab, OP_REPLACE, theirs);
            read_all(lab);
            assert_false(mirrored(lab, guard));
            assert_true(listed(lab, guard));
            assert_int_equal(events(lab)->writer, nl_port_id(lab->other));
            kernel_events_done(lab->kernel);
        }
    }
    expect_mirror_is_true(lab);
}

/* Several routes in one slot: the kernel does not say which of them a replace hits. */
static void replace_among_several(void **state)
{
    struct lab *lab = *state;
    run("ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up");
    run("ip route add blackhole 10.0.0.1 table 119 proto 31");
    run("ip route append 10.0.0.1 dev lo table 119 proto 40");
    run("ip -6 route add 2001:db8::/64 dev d0 table 119 proto 30");
    run("ip -6 route append 2001:db8::/64 dev d1 table 119 proto 40");
    run("ip -6 route append blackhole 2001:db8::/64 table 119 proto 31");
    read_all(lab);
    assert_int_equal(kernel_routes(lab->kernel)->count, 5);
    run("ip route replace blackhole 10.0.0.1 table 119 proto 32");
    run("ip -6 route replace blackhole 2001:db8::/64 table 119 proto 32");
    read_all(lab);
    assert_int_equal(kernel_routes(lab->kernel)->count, 5);
    expect_mirror_is_true(lab);
}

static void next_hops_come_and_go(void **state)
{
    struct lab *lab = *state;
    run("ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up");
    run("ip -6 route add 2001:db8::/64 table 119 via fe80::1 dev d0");
    read_all(lab);
    run("ip -6 route append 2001:db8::/64 table 119 via fe80::2 dev d1");
    read_all(lab);
    expect_mirror_is_true(lab);
    run("ip -6 route append 2001:db8::/64 table 119 via fe80::3 dev d1");
    read_all(lab);
    run("ip -6 route del 2001:db8::/64 table 119 via fe80::1 dev d0");
    run("ip -6 route del 2001:db8::/64 table 119 via fe80::2 dev d1");
    read_all(lab);
    assert_int_equal(kernel_routes(lab->kernel)->count, 1);
    expect_mirror_is_true(lab);
    run("ip -6 route append 2001:db8::/64 table 119 via fe80::2 dev d1");
    run("ip -6 route replace blackhole 2001:db8::/64 table 119 proto 30");
    read_all(lab);
    assert_true(mirrored(lab, blackhole(119, "2001:db8::/64", 30)));
    expect_mirror_is_true(lab);
}

/* IPv4 routes that need what has gone are dropped without a notification. */
static void silent_losses_are_found(void **state)
{
    struct lab *lab = *state;
    static const struct {
        const char *add, *take;
    } cases[] = {
        { "ip route add 10.9.0.0/24 dev d1 table 119", "ip link set d1 down" },
        { "ip route add 10.9.0.0/24 dev d0 table 119", "ip addr del 10.7.0.1/24 dev d0" },
        { "ip nexthop add id 5 dev d0 && ip route add 10.9.0.0/24 nhid 5 table 119",
          "ip nexthop del id 5" },
        { "ip -6 route add 2001:db8::/64 dev d0 table 119", "ip link del d0" },
    };
    apply_good(lab, OP_ADD, blackhole(119, "10.0.0.1/32", 31));
    run("ip link add d0 type veth peer name d1 && ip addr add 10.7.0.1/24 dev d0");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        run("ip link set d0 up && ip link set d1 up");
        run(cases[i].add);
        read_all(lab);
        assert_int_equal(kernel_routes(lab->kernel)->count, 2);
        kernel_events_done(lab->kernel);
        run(cases[i].take);
        read_all(lab);
        assert_int_equal(kernel_routes(lab->kernel)->count, 1);
        assert_true(events(lab)->resynced || events(lab)->routes.count > 0);
    }
    expect_mirror_is_true(lab);
}

enum { FLOOD = 5000 };

static struct route numbered(size_t i, uint8_t protocol)
{
    char prefix[PREFIX_STRLEN];
    if (i % 2)
        snprintf(prefix, sizeof(prefix), "2001:db8::%zx/128", i);
    else
        snprintf(prefix, sizeof(prefix), "10.%zu.%zu.%zu/32", i >> 16, i >> 8 & 255, i & 255);
    return blackhole(119, prefix, protocol);
}

static void write_many(struct nl_socket *socket, enum op_kind kind, size_t count, uint8_t protocol)
{
    struct route_op *ops = calloc(count, sizeof(*ops));
    struct op_result *results = calloc(count, sizeof(*results));
    assert_true(ops && results);
    for (size_t i = 0; i < count; i++)
        ops[i] = (struct route_op){ kind, numbered(i, protocol) };
    assert_int_equal(write_routes(socket, ops, count, results), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(results[i].error, 0);
    free(ops);
    free(results);
}

static void lost_notifications_end_in_a_dump(void **state)
{
    struct lab *lab = *state;
    int small = 4096;
    assert_int_equal(
        setsockopt(kernel_fd(lab->kernel), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    apply_good(lab, OP_ADD, blackhole(119, "10.200.0.1/32", 31));
    expect_no_events(lab);

    write_many(lab->other, OP_ADD, FLOOD, 40);
    read_all(lab);
    assert_true(events(lab)->resynced);
    assert_int_equal(kernel_routes(lab->kernel)->count, FLOOD + 1);
    expect_mirror_is_true(lab);
    kernel_events_done(lab->kernel);

    /* It hears again afterwards. */
    other_does(lab, OP_DELETE, numbered(7, 40));
    read_all(lab);
    assert_false(events(lab)->resynced);
    assert_true(listed(lab, numbered(7, 40)));
    expect_mirror_is_true(lab);
}

static void twenty_thousand_routes(void **state)
{
    struct lab *lab = *state;
    enum { COUNT = 20000 };
    struct route_op *ops = calloc(COUNT, sizeof(*ops));
    struct op_result *results = calloc(COUNT, sizeof(*results));
    assert_true(ops && results);
    static const enum op_kind kinds[] = { OP_ADD, OP_REPLACE, OP_DELETE };
    /* Too small for the notifications of all: they are taken in between the batches. */
    int small = 4 << 20;
    assert_int_equal(
        setsockopt(kernel_fd(lab->kernel), SOL_SOCKET, SO_RCVBUFFORCE, &small, sizeof(small)), 0);
    for (size_t round = 0; round < ARRAY_SIZE(kinds); round++) {
        for (size_t i = 0; i < COUNT; i++)
            ops[i] = (struct route_op){ kinds[round], numbered(i, round == 0 ? 31 : 32) };
        assert_int_equal(kernel_apply_routes(lab->kernel, ops, COUNT, results), 0);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(results[i].error, 0);
        read_all(lab);
        assert_int_equal(kernel_routes(lab->kernel)->count, kinds[round] == OP_DELETE ? 0 : COUNT);
        expect_no_events(lab);
        expect_mirror_is_true(lab);
    }
    free(ops);
    free(results);
}

static void resync_finds_the_same(void **state)
{
    struct lab *lab = *state;
    write_many(lab->other, OP_ADD, 100, 31);
    run("ip rule add not iif lo lookup 120 pref 1990 protocol 33");
    assert_int_equal(kernel_resync(lab->kernel), 0);
    assert_int_equal(kernel_routes(lab->kernel)->count, 100);
    assert_true(events(lab)->rules);
    assert_int_equal(events(lab)->routes.count, 100);
    kernel_events_done(lab->kernel);
    assert_int_equal(kernel_resync(lab->kernel), 0);
    expect_no_events(lab);
    expect_mirror_is_true(lab);
}

static void rules_of_others(void **state)
{
    struct lab *lab = *state;
    run("ip rule add from 10.0.0.0/8 lookup 70000 pref 5");
    run("ip -6 rule add lookup main pref 32766 iif lo");
    read_all(lab);
    assert_int_equal(kernel_rules(lab->kernel)->count, 2); /* not the three of each family */
    run("ip rule del pref 5 && ip -6 rule del pref 32766 iif lo");
    read_all(lab);
    assert_int_equal(kernel_rules(lab->kernel)->count, 0);
    kernel_events_done(lab->kernel);
    static const char *const more[] = {
        "from 10.0.0.0/8", "to 10.0.0.0/8", "fwmark 5",
        "oif lo",          "tos 4",         "uidrange 1-5",
        "ipproto 17",      "dport 53",      "suppress_prefixlength 0",
    };
    for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
        char command[120];
        snprintf(command, sizeof(command), "ip rule add %s lookup 120 pref 5 protocol 33", more[i]);
        run(command);
        read_all(lab);
        struct rule other = { IP_V4, 5, 120, 33, false, "", true };
        assert_non_null(sorted_find(kernel_rules(lab->kernel), &other));
        assert_int_equal(kernel_rules(lab->kernel)->count, 1);
        assert_true(events(lab)->other_rules);
        assert_false(events(lab)->rules);
        assert_int_equal(events(lab)->writer, 0);
        kernel_events_done(lab->kernel);
        run("ip rule del pref 5");
    }
    run("ip -6 rule add iif lo blackhole pref 6 protocol 33");
    run("ip rule add lookup 119 pref 7");
    read_all(lab);
    struct rule refuse = { IP_V6, 6, 0, 33, false, "lo", true };
    struct rule exported = { IP_V4, 7, 119, RTPROT_UNSPEC, false, "", false };
    assert_non_null(sorted_find(kernel_rules(lab->kernel), &refuse));
    assert_non_null(sorted_find(kernel_rules(lab->kernel), &exported));
    assert_int_equal(kernel_rules(lab->kernel)->count, 2);

    struct rule_op guard = { OP_ADD, { IP_V4, 1990, 120, 33, true, "lo", false } };
    struct op_result result;
    assert_int_equal(kernel_apply_rules(lab->kernel, &guard, 1, &result), 0);
    guard.kind = OP_DELETE;
    assert_int_equal(write_rules(lab->other, &guard, 1, &result), 0);
    read_all(lab);
    assert_int_equal(events(lab)->writer, nl_port_id(lab->other));
    assert_null(sorted_find(kernel_rules(lab->kernel), &guard.rule));
    expect_mirror_is_true(lab);
}

static bool is_local(struct lab *lab, const char *string)
{
    struct prefix prefix;
    assert_int_equal(prefix_parse(string, &prefix), 0);
    return sorted_find(kernel_local_prefixes(lab->kernel), &prefix) != NULL;
}

static void addresses_and_their_networks(void **state)
{
    struct lab *lab = *state;
    assert_int_equal(kernel_local_prefixes(lab->kernel)->count, 0); /* not the loopback's */
    run("ip link add d0 type veth peer name d1");
    run("ip addr add 10.99.1.2/23 dev d0 && ip addr add 10.99.0.3/23 dev d1");
    run("ip addr add 10.5.0.1 peer 10.6.7.8/24 dev d0");
    run("ip -6 addr add 2001:db8::5/61 dev d0 nodad");
    read_all(lab);
    assert_true(events(lab)->addresses);
    kernel_events_done(lab->kernel);
    static const char *const all[] = { "10.99.1.2/32", "10.99.0.0/23", "10.99.0.3/32",
                                       "10.5.0.1/32",  "10.6.7.0/24",  "2001:db8::5/128",
                                       "2001:db8::/61" };
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        assert_true(is_local(lab, all[i]));
    assert_int_equal(kernel_local_prefixes(lab->kernel)->count, ARRAY_SIZE(all));
    assert_int_equal(kernel_local_networks(lab->kernel)->count, 3);
    run("ip addr del 10.99.1.2/23 dev d0 && ip addr add 10.5.9.9 dev d0");
    read_all(lab);
    assert_true(events(lab)->addresses);
    assert_false(is_local(lab, "10.99.1.2/32"));
    assert_true(is_local(lab, "10.99.0.0/23")); /* d1 is still there */
    assert_int_equal(kernel_local_networks(lab->kernel)->count, 3);
    kernel_events_done(lab->kernel);

    run("ip link set d0 up && ip link set d1 up && ip addr add 169.254.7.7/16 dev d0");
    read_all(lab);
    assert_false(events(lab)->addresses); /* link-local ones only */
    run("ip link del d0");
    read_all(lab);
    assert_int_equal(kernel_local_prefixes(lab->kernel)->count, 0);
}

static const struct ip *own_address(bool v4)
{
    static const struct ip v4_own = { IP_V4, { 10, 7, 0, 1 } };
    static const struct ip v6_own = { IP_V6, { 0xfd, 7, [15] = 1 } };
    return v4 ? &v4_own : &v6_own;
}

/* One change as any tool might make it; whether the kernel takes it does not matter. */
static void random_change(struct nl_socket *socket)
{
    static const uint16_t flags[] = { NLM_F_CREATE | NLM_F_EXCL, NLM_F_CREATE | NLM_F_APPEND,
                                      NLM_F_CREATE | NLM_F_REPLACE, NLM_F_REPLACE };
    static const uint8_t types[] = { RTN_BLACKHOLE, RTN_UNREACHABLE, RTN_UNICAST };
    static const uint8_t protocols[] = { 30, 31, 32, 33, RTPROT_STATIC };
    static const uint32_t tables[] = { 119, 119, 120, 254 };
    uint32_t table = tables[rand() % 4];
    bool v4 = rand() % 2, remove = rand() % 3 == 0;
    struct ip ip = { v4 ? IP_V4 : IP_V6, { 32, 1, 13, 184 } };
    ip.bytes[3] = (uint8_t)(rand() % 2);
    struct rtmsg fixed = {
        .rtm_family = v4 ? AF_INET : AF_INET6,
        .rtm_dst_len = 32,
        .rtm_protocol = protocols[rand() % 5],
        .rtm_type = types[rand() % 3],
        .rtm_scope = remove ? RT_SCOPE_NOWHERE : RT_SCOPE_UNIVERSE,
    };
    struct nl_request request;
    struct nl_result result;
    nl_begin(&request, remove ? RTM_DELROUTE : RTM_NEWROUTE, remove ? 0 : flags[rand() % 4], &fixed,
             sizeof(fixed));
    nl_put_ip(&request, RTA_DST, &ip);
    nl_put_u32(&request, RTA_TABLE, table);
    if (table == ROUTE_TABLE_MAIN || rand() % 2)
        nl_put_u32(&request, RTA_PRIORITY, ROUTE_METRIC_GUARD);
    if (fixed.rtm_type == RTN_UNICAST)
        nl_put_u32(&request, RTA_OIF, (uint32_t)(1 + rand() % 3));
    if (fixed.rtm_type == RTN_UNICAST && rand() % 2)
        nl_put_ip(&request, RTA_PREFSRC, own_address(v4));
    assert_int_equal(nl_batch(socket, &request, 1, &result), 0);
}

/* An address or a link goes or comes, and routes go with it. */
static void random_shake(void)
{
    static const char *const commands[] = {
        "ip link set d0 down",
        "ip link set d1 down",
        "ip link set d0 up && ip link set d1 up",
        "ip -4 addr flush dev d0",
        "ip -6 addr flush dev d0 scope global",
        "ip addr replace 10.7.0.1/24 dev d0 && ip addr replace 10.8.0.1/24 dev d0",
        "ip -6 addr replace fd07::1/64 dev d0 nodad",
    };
    run(commands[(size_t)rand() % ARRAY_SIZE(commands)]);
}

static void random_changes_are_followed(void **state)
{
    struct lab *lab = *state;
    run("ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up");
    srand(5);
    for (int round = 0; round < 400; round++) {
        for (int i = 1 + rand() % 12; i > 0; i--)
            random_change(lab->other);
        if (round % 8 == 0)
            random_shake();
        read_all(lab);
        expect_mirror_is_true(lab);
        kernel_events_done(lab->kernel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(opens_on_what_stands, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(own_changes_are_no_events, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(drift_is_told_with_its_writer, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(other_tables_are_no_concern, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(guard_replaced_in_main_is_seen, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(replace_among_several, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(next_hops_come_and_go, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(silent_losses_are_found, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(lost_notifications_end_in_a_dump, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(twenty_thousand_routes, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(resync_finds_the_same, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(rules_of_others, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(addresses_and_their_networks, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(random_changes_are_followed, lab_open, lab_close),
    };
    return lab_missing() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
