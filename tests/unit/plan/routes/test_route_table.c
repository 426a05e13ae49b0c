// SPDX-License-Identifier: Apache-2.0
/*
 * Route and rule values: order, ownership, text, and the difference, whose operations are played
 * against a small model of the kernel's table.
 */
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "cmocka_all.h"
#include "plan/routes/route_table.h"

static struct route route(uint32_t table, const char *prefix, uint8_t protocol, uint8_t type)
{
    struct route result = { .table = table, .protocol = protocol, .type = type };
    assert_int_equal(prefix_parse(prefix, &result.prefix), 0);
    result.metric = result.prefix.ip.family == IP_V4 ? ROUTE_METRIC_V4 : ROUTE_METRIC_V6;
    return result;
}

static void ownership_is_table_and_protocol(void **state)
{
    (void)state;
    static const struct {
        uint32_t table;
        uint8_t protocol;
        bool ours;
    } cases[] = {
        { 119, 29, false }, { 119, 30, true },  { 119, 31, true },   { 119, 32, true },
        { 119, 33, false }, { 119, 34, true },  { 119, 63, true },   { 119, 64, false },
        { 120, 33, true },  { 120, 31, false }, { 254, 33, true },   { 254, 30, false },
        { 119, 4, false },  { 121, 33, false }, { 1000, 31, false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct route it = route(cases[i].table, "10.0.0.1/32", cases[i].protocol, RTN_BLACKHOLE);
        assert_int_equal(route_is_ours(&it, 119), cases[i].ours);
    }
    struct route elsewhere = route(1000, "10.0.0.1/32", 31, RTN_BLACKHOLE);
    assert_true(route_is_ours(&elsewhere, 1000));

    assert_true(rule_is_ours(&(struct rule){ .protocol = 33, .table = 120 }));
    assert_false(rule_is_ours(&(struct rule){ .protocol = 33, .table = 120, .other = true }));
    assert_false(rule_is_ours(&(struct rule){ .protocol = 3, .table = 120 }));
}

static void order_has_slots_first(void **state)
{
    (void)state;
    struct route sorted[] = {
        route(119, "10.0.0.0/24", 31, RTN_UNICAST),   route(119, "10.0.0.0/25", 30, RTN_BLACKHOLE),
        route(119, "10.0.0.0/25", 30, RTN_BLACKHOLE), route(119, "10.0.0.0/25", 31, RTN_UNICAST),
        route(119, "10.0.0.0/25", 31, RTN_BLACKHOLE), route(119, "10.0.0.0/25", 30, RTN_UNICAST),
        route(119, "2001:db8::/64", 30, RTN_UNICAST), route(120, "10.0.0.0/24", 30, RTN_UNICAST),
        route(120, "10.0.0.0/24", 30, RTN_UNICAST),
    };
    sorted[2].ifindex = 1;
    sorted[8].source = (struct ip){ IP_V4, { 10 } };
    sorted[5].metric = 7;
    for (size_t i = 0; i + 1 < ARRAY_SIZE(sorted); i++) {
        assert_true(route_cmp(&sorted[i], &sorted[i + 1]) < 0);
        assert_true(route_cmp(&sorted[i + 1], &sorted[i]) > 0);
    }
    assert_int_equal(route_slot_cmp(&sorted[1], &sorted[4]), 0);
    assert_true(route_slot_cmp(&sorted[4], &sorted[5]) < 0);
}

static void text_is_that_of_ip(void **state)
{
    (void)state;
    char buffer[ROUTE_STRLEN];
    struct route it = route(119, "10.224.0.0/27", 30, RTN_BLACKHOLE);
    assert_string_equal(route_str(&it, buffer), "blackhole 10.224.0.0/27 proto 30");
    it = route(254, "10.224.0.0/27", 33, RTN_UNREACHABLE);
    it.metric = ROUTE_METRIC_GUARD;
    assert_string_equal(route_str(&it, buffer),
                        "unreachable 10.224.0.0/27 proto 33 metric 4278198272");
    it = route(119, "2001:db8::1/128", 31, RTN_BLACKHOLE);
    assert_string_equal(route_str(&it, buffer), "blackhole 2001:db8::1/128 proto 31");
    it.metric = 0;
    it.type = 200;
    assert_string_equal(route_str(&it, buffer), "unknown 2001:db8::1/128 proto 31 metric 0");
    it = route(119, "10.224.0.0/30", RTPROT_STATIC, RTN_UNICAST);
    it.ifindex = 12;
    assert_string_equal(route_str(&it, buffer), "10.224.0.0/30 dev if12 proto static");
    it.source = (struct ip){ IP_V4, { 192, 0, 2, 1 } };
    assert_string_equal(route_str_via(&it, "svc0", buffer),
                        "10.224.0.0/30 dev svc0 proto static src 192.0.2.1");

    struct rule guard = { IP_V4, RULE_PRIORITY_GUARD, 120, 33, true, "lo", false };
    assert_string_equal(rule_str(&guard, buffer),
                        "1990: not from all iif lo lookup 120 proto 33 (IPv4)");
    struct rule other = { IP_V6, 7, RT_TABLE_MAIN, RTPROT_BOOT, false, "", true };
    assert_string_equal(rule_str(&other, buffer),
                        "7: from all lookup main proto boot (IPv6, and more)");
}

/* Names as `ip` has them; our own numbers, and those we know no name of, are numbers. */
static void text_names_what_ip_names(void **state)
{
    (void)state;
    static const char *const protocols[] = {
        [RTPROT_UNSPEC] = "unspec", [RTPROT_KERNEL] = "kernel", [RTPROT_BOOT] = "boot",
        [RTPROT_STATIC] = "static", [RTPROT_RA] = "ra",         [RTPROT_ZEBRA] = "zebra",
        [RTPROT_BIRD] = "bird",     [RTPROT_DHCP] = "dhcp",     [31] = "31",
        [RTPROT_BGP] = "bgp",       [RTPROT_OSPF] = "ospf",     [255] = "255",
    };
    char buffer[ROUTE_STRLEN], expected[ROUTE_STRLEN];
    for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
        if (!protocols[i])
            continue;
        struct route it = route(119, "10.0.0.1/32", (uint8_t)i, RTN_BLACKHOLE);
        snprintf(expected, sizeof(expected), "blackhole 10.0.0.1/32 proto %s", protocols[i]);
        assert_string_equal(route_str(&it, buffer), expected);
    }
    static const struct {
        uint32_t table;
        const char *name;
    } tables[] = { { RT_TABLE_DEFAULT, "default" }, { RT_TABLE_LOCAL, "local" }, { 7, "7" } };
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        struct rule rule = { IP_V4, 7, tables[i].table, 33, false, "", false };
        snprintf(expected, sizeof(expected), "7: from all lookup %s proto 33 (IPv4)",
                 tables[i].name);
        assert_string_equal(rule_str(&rule, buffer), expected);
    }
}

/* The longest values each field can have must fit their buffers. */
static void text_of_extremes_fits(void **state)
{
    (void)state;
    char buffer[ROUTE_STRLEN];
    struct route it =
        route(4294967295, "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", 255, RTN_UNREACHABLE);
    it.metric = it.ifindex = UINT32_MAX;
    it.source = it.prefix.ip;
    assert_string_equal(route_str(&it, buffer),
                        "unreachable fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128 dev if4294967295 "
                        "proto 255 src fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff metric 4294967295");
    assert_true(strlen(route_str_via(&it, "abcdefghijklmno", buffer)) < ROUTE_STRLEN - 1);
    struct rule rule = { IP_V6, UINT32_MAX, UINT32_MAX, 255, true, "abcdefghijklmno", true };
    assert_string_equal(rule_str(&rule, buffer), "4294967295: not from all iif abcdefghijklmno "
                                                 "lookup 4294967295 proto 255 (IPv6, and more)");
}

/* One slot at a time: what stands, what is wanted, what is done. */
static void slot_decisions(void **state)
{
    (void)state;
    const struct route service = route(119, "10.0.0.1/32", 31, RTN_BLACKHOLE);
    const struct route draining = route(119, "10.0.0.1/32", 32, RTN_BLACKHOLE);
    const struct route foreign = route(119, "10.0.0.1/32", RTPROT_STATIC, RTN_BLACKHOLE);
    struct route coil = route(119, "10.0.0.1/32", 31, RTN_UNICAST), with_device = service;
    coil.ifindex = with_device.ifindex = 1;

    const struct {
        const struct route *want, *have[2];
        bool may_remove;
        const char *ops; /* letters: a, r, d */
        size_t blocked, foreign;
    } cases[] = {
        { &service, { NULL }, false, "a", 0, 0 },
        { &service, { &service }, true, "", 0, 0 },
        { &service, { &draining }, false, "r", 0, 0 },
        { &service, { &coil }, false, "r", 0, 0 },
        { &service, { &with_device }, false, "r", 0, 0 },
        { NULL, { &service }, false, "", 0, 0 },
        { NULL, { &service }, true, "d", 0, 0 },
        { NULL, { &foreign }, true, "", 0, 1 },
        { &service, { &foreign }, true, "", 1, 1 },
        { &service, { &foreign, &service }, true, "", 0, 1 },
        { &service, { &foreign, &draining }, true, "d", 1, 1 },
        { &service, { &foreign, &draining }, false, "", 1, 1 },
        { &service, { &service, &draining }, true, "d", 0, 0 },
        { &service, { &coil, &draining }, true, "dr", 0, 0 },
        { &service, { &coil, &draining }, false, "r", 0, 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct route have[2];
        size_t have_count = 0;
        for (; have_count < 2 && cases[i].have[have_count]; have_count++)
            have[have_count] = *cases[i].have[have_count];
        qsort(have, have_count, sizeof(have[0]), route_cmp);

        struct route_diff diff;
        assert_int_equal(diff_routes(cases[i].want, cases[i].want ? 1 : 0, have, have_count, 119,
                                     cases[i].may_remove, &diff),
                         0);
        assert_int_equal(diff.ops.count, strlen(cases[i].ops));
        for (size_t op = 0; op < diff.ops.count; op++)
            assert_int_equal("ard"[diff.ops.items[op].kind], cases[i].ops[op]);
        assert_int_equal(diff.blocked.count, cases[i].blocked);
        assert_int_equal(diff.foreign.count, cases[i].foreign);
        route_diff_done(&diff);
    }
}

/* In main, what is not ours is none of our business, but still in the way. */
static void main_table_lists_no_foreign(void **state)
{
    (void)state;
    struct route foreign = route(254, "10.0.0.0/24", RTPROT_STATIC, RTN_UNICAST);
    struct route guard = route(254, "10.0.0.0/24", 33, RTN_UNREACHABLE);
    struct route_diff diff;
    assert_int_equal(diff_routes(&guard, 1, &foreign, 1, 119, true, &diff), 0);
    assert_int_equal(diff.ops.count, 0);
    assert_int_equal(diff.blocked.count, 1);
    assert_int_equal(diff.foreign.count, 0);
    route_diff_done(&diff);
}

enum { MODEL_MAX = 256 };

/* The kernel: routes in order of age; what the kernel would refuse fails the test. */
struct model {
    struct route routes[MODEL_MAX];
    size_t count;
};

static void model_apply(struct model *model, const struct route_op *op)
{
    size_t at = 0;
    for (; at < model->count; at++) {
        const struct route *it = &model->routes[at];
        if ((op->kind == OP_DELETE ? route_cmp : route_slot_cmp)(it, &op->route) == 0)
            break;
    }
    assert_true(route_is_ours(&op->route, 119));
    if (op->kind == OP_ADD) {
        assert_int_equal(at, model->count);
        model->routes[model->count++] = op->route;
        return;
    }
    assert_true(at < model->count);
    assert_true(route_is_ours(&model->routes[at], 119));
    if (op->kind == OP_REPLACE) {
        model->routes[at] = op->route;
        return;
    }
    model->count--;
    memmove(&model->routes[at], &model->routes[at + 1],
            (model->count - at) * sizeof(model->routes[0]));
}

static struct route random_route(bool ours)
{
    static const char *const prefixes[] = { "10.0.0.0/24", "10.0.0.0/25",   "10.0.0.128/25",
                                            "10.0.1.1/32", "2001:db8::/64", "2001:db8::1/128" };
    static const uint8_t export_protocols[] = { 30, 31, 32, 40, 63 }, foreign[] = { 2, 4, 64 };
    static const uint32_t tables[] = { 119, 119, 120, 254 };
    uint32_t table = tables[rand() % 4];
    uint8_t protocol = 33;
    if (!ours)
        protocol = foreign[rand() % 3];
    else if (table == 119)
        protocol = export_protocols[rand() % 5];
    struct route it =
        route(table, prefixes[rand() % 6], protocol, rand() % 4 ? RTN_BLACKHOLE : RTN_UNREACHABLE);
    if (rand() % 4 == 0)
        it.metric = ROUTE_METRIC_GUARD;
    return it;
}

static void model_fill(struct model *model)
{
    model->count = 0;
    for (int i = rand() % 40; i > 0; i--) {
        struct route it = random_route(rand() % 3);
        if (rand() % 5 == 0)
            it.ifindex = 1;
        bool twice = false;
        for (size_t at = 0; at < model->count; at++)
            twice |= route_cmp(&model->routes[at], &it) == 0;
        if (!twice)
            model->routes[model->count++] = it;
    }
}

static size_t random_want(struct route *want)
{
    size_t count = 0;
    for (int i = rand() % 30; i > 0; i--) {
        struct route it = random_route(true);
        bool twice = false;
        for (size_t at = 0; at < count; at++)
            twice |= route_slot_cmp(&want[at], &it) == 0;
        if (!twice)
            want[count++] = it;
    }
    qsort(want, count, sizeof(*want), route_cmp);
    return count;
}

static struct route_diff diff_of(const struct route *want, size_t want_count,
                                 const struct model *model, bool may_remove)
{
    struct route have[MODEL_MAX];
    memcpy(have, model->routes, sizeof(have));
    qsort(have, model->count, sizeof(have[0]), route_cmp);
    struct route_diff diff;
    assert_int_equal(diff_routes(want, want_count, have, model->count, 119, may_remove, &diff), 0);
    return diff;
}

static bool among(const struct route *route, const struct route *routes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (route_cmp(route, &routes[i]) == 0)
            return true;
    return false;
}

static void random_tables_converge(void **state)
{
    (void)state;
    static struct model before, after;
    srand(3);
    for (int round = 0; round < 4000; round++) {
        struct route want[64];
        bool may_remove = round % 4 != 0;
        size_t want_count = random_want(want);
        model_fill(&before);
        after = before;

        struct route_diff diff = diff_of(want, want_count, &before, may_remove);
        for (size_t i = 0; i < diff.ops.count; i++) {
            assert_true(may_remove || diff.ops.items[i].kind != OP_DELETE);
            model_apply(&after, &diff.ops.items[i]);
            if (i > 0)
                assert_true(
                    route_slot_cmp(&diff.ops.items[i - 1].route, &diff.ops.items[i].route) <= 0);
        }
        for (size_t i = 0; i < want_count; i++)
            assert_true(among(&want[i], after.routes, after.count) !=
                        among(&want[i], diff.blocked.items, diff.blocked.count));
        size_t foreign = 0;
        for (size_t i = 0; i < before.count; i++) {
            if (route_is_ours(&before.routes[i], 119))
                continue;
            assert_true(among(&before.routes[i], after.routes, after.count));
            foreign += before.routes[i].table != 254;
        }
        assert_int_equal(diff.foreign.count, foreign);
        for (size_t i = 0; may_remove && i < after.count; i++)
            if (route_is_ours(&after.routes[i], 119))
                assert_true(among(&after.routes[i], want, want_count));

        struct route_diff again = diff_of(want, want_count, &after, may_remove);
        assert_int_equal(again.ops.count, 0);
        assert_int_equal(again.blocked.count, diff.blocked.count);
        route_diff_done(&again);
        route_diff_done(&diff);
    }
}

static void rules_come_before_they_go(void **state)
{
    (void)state;
    const struct rule host = { IP_V4, 1990, 120, 33, false, "", false };
    const struct rule guard = { IP_V4, 1990, 120, 33, true, "lo", false };
    const struct rule guard6 = { IP_V6, 1990, 120, 33, true, "lo", false };
    const struct rule foreign = { IP_V4, 1990, 120, 4, true, "lo", false };
    const struct rule special = { IP_V4, 1990, 120, 33, true, "lo", true };
    struct rule have[] = { foreign, host, special };
    struct rule want[] = { guard, guard6 };
    qsort(have, ARRAY_SIZE(have), sizeof(have[0]), rule_cmp);
    qsort(want, ARRAY_SIZE(want), sizeof(want[0]), rule_cmp);

    rule_op_list ops;
    assert_int_equal(diff_rules(want, 2, have, 3, true, &ops), 0);
    assert_int_equal(ops.count, 3);
    assert_int_equal(ops.items[0].kind, OP_ADD);
    assert_int_equal(rule_cmp(&ops.items[0].rule, &guard), 0);
    assert_int_equal(rule_cmp(&ops.items[1].rule, &guard6), 0);
    assert_int_equal(ops.items[2].kind, OP_DELETE);
    assert_int_equal(rule_cmp(&ops.items[2].rule, &host), 0);
    vec_done(&ops);

    assert_int_equal(diff_rules(want, 2, have, 3, false, &ops), 0);
    assert_int_equal(ops.count, 2);
    vec_done(&ops);
    assert_int_equal(diff_rules(want, 2, want, 2, true, &ops), 0);
    assert_int_equal(ops.count, 0);
    vec_done(&ops);
    assert_int_equal(diff_rules(NULL, 0, NULL, 0, true, &ops), 0);
    assert_int_equal(ops.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ownership_is_table_and_protocol),
        cmocka_unit_test(order_has_slots_first),
        cmocka_unit_test(text_is_that_of_ip),
        cmocka_unit_test(text_names_what_ip_names),
        cmocka_unit_test(text_of_extremes_fits),
        cmocka_unit_test(slot_decisions),
        cmocka_unit_test(main_table_lists_no_foreign),
        cmocka_unit_test(random_tables_converge),
        cmocka_unit_test(rules_come_before_they_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
