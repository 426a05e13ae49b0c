// SPDX-License-Identifier: Apache-2.0
/*
 * What decides over an address as a whole: proof, hold-down, the node's standing, guards. Then the
 * routes and rules that rows ask for, and which addresses a change of an object touches.
 */
#include <linux/rtnetlink.h>

#include "planning.h"

#define VIP "198.51.100.1"

static void begin_with_web(struct planning *planning)
{
    planning_begin(planning);
    put_service(planning, "web", "", "", "{ip: " VIP "}, {ip: \"2001:db8::1\"}");
    put_endpoint(planning, "web-1", "web", "10.0.0.1", "node-1", "ready: true");
    put_endpoint(planning, "web-6", "web", "fd00::1", "node-1", "ready: true");
}

static struct ip ip_of(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

static void proof_is_needed_where_it_can_be_had(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin_with_web(&planning);
    struct sorted proofs = SORTED(struct proof, proof_cmp);
    planning.inputs.proofs = &proofs;
    assert_string_equal(reason_of(&planning, VIP), "not-proved");
    struct proof proof = { .address = ip_of(VIP) };
    assert_int_equal(sorted_put(&proofs, &proof), 0);
    assert_string_equal(reason_of(&planning, VIP), "not-proved");
    proof.proved = true;
    assert_int_equal(sorted_put(&proofs, &proof), 0);
    assert_string_equal(reason_of(&planning, VIP), "announced");
    assert_string_equal(reason_of(&planning, "2001:db8::1"), "not-proved");
    sorted_done(&proofs);
}

/* What NAT never serves is not left to a proof that never comes. */
static void nat_needs_a_cluster_ip(void **state)
{
    (void)state;
    static const struct {
        const char *cluster_ips;
        bool enabled, proved;
        const char *four, *six;
    } cases[] = {
        { "", false, false, "announced", "announced" },
        { "clusterIP: 10.96.0.1", false, false, "announced", "announced" },
        { "", true, false, "headless", "headless" },
        { "", true, true, "headless", "headless" },
        { "clusterIP: 10.96.0.1", true, false, "not-proved", "headless" },
        { "clusterIP: 10.96.0.1", true, true, "announced", "headless" },
        { "clusterIP: \"fd00:96::1\"", true, true, "headless", "announced" },
        { "clusterIPs: [10.96.0.1, \"fd00:96::1\"]", true, true, "announced", "announced" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        begin_with_web(&planning);
        put_service(&planning, "web", "", cases[i].cluster_ips,
                    "{ip: " VIP "}, {ip: \"2001:db8::1\"}");
        planning.config->services.enabled = cases[i].enabled;
        struct sorted proofs = SORTED(struct proof, proof_cmp);
        struct proof both[] = { { ip_of(VIP), cases[i].proved },
                                { ip_of("2001:db8::1"), cases[i].proved } };
        assert_int_equal(sorted_put(&proofs, &both[0]), 0);
        assert_int_equal(sorted_put(&proofs, &both[1]), 0);
        planning.inputs.proofs = cases[i].enabled ? &proofs : NULL;
        assert_string_equal(reason_of(&planning, VIP), cases[i].four);
        assert_string_equal(reason_of(&planning, "2001:db8::1"), cases[i].six);
        sorted_done(&proofs);
    }
}

/* Nor does such a service take ports from younger ones that are served. */
static void a_service_without_cluster_ip_keeps_nobody_out(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin_with_web(&planning);
    put_service(&planning, "old", "creationTimestamp: \"2026-01-01T00:00:00Z\"", "",
                "{ip: " VIP "}");
    put_service(&planning, "web", "", "clusterIP: 10.96.0.1", "{ip: " VIP "}");
    assert_string_equal(reason_of(&planning, VIP), "no-endpoints");
    assert_int_equal(planning.faults.list.count, 1);
    planning.config->services.enabled = true;
    assert_string_equal(reason_of(&planning, VIP), "announced");
    assert_int_equal(planning.faults.list.count, 1);
}

static void an_address_that_is_not_proved_stays_guarded(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin_with_web(&planning);
    const struct sorted proofs = SORTED(struct proof, proof_cmp);
    planning.inputs.proofs = &proofs;
    struct address_row *row = row_of(&planning, VIP);
    assert_true(row->guarded);
    assert_int_equal(row->protocol, 0);
    assert_int_equal(row->claims[0].reason, REASON_NOT_PROVED);
    address_row_free(row);
    /* Nothing to prove: the nearer reason is told. */
    put_endpoint(&planning, "web-1", "web", "10.0.0.1", "node-1", "ready: false");
    assert_string_equal(reason_of(&planning, VIP), "no-endpoints");
}

static void hold_down_ends(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin_with_web(&planning);
    struct sorted holds = SORTED(struct hold, hold_cmp);
    struct hold hold = { .address = ip_of(VIP), .until_ms = 2000, .delay_ms = 1000 };
    assert_int_equal(sorted_put(&holds, &hold), 0);
    planning.inputs.holds = &holds;
    planning.inputs.now_ms = 1999;
    struct address_row *row = row_of(&planning, VIP);
    assert_int_equal(row->reason, REASON_HELD_DOWN);
    assert_int_equal(row->held_until_ms, 2000);
    address_row_free(row);
    assert_string_equal(reason_of(&planning, "2001:db8::1"), "announced");

    planning.inputs.now_ms = 2000;
    assert_string_equal(reason_of(&planning, VIP), "announced");
    planning.inputs.now_ms = 1999;
    hold.announced_ms = 1500;
    assert_int_equal(sorted_put(&holds, &hold), 0);
    assert_string_equal(reason_of(&planning, VIP), "announced");
    sorted_done(&holds);
}

static void the_nodes_standing(void **state)
{
    (void)state;
    static const struct {
        enum standing standing;
        const char *reason;
        uint8_t protocol;
        size_t blocks;
    } cases[] = {
        { STANDING_SERVING, "announced", ROUTE_PROTOCOL_SERVICE, 2 },
        { STANDING_DRAINING, "announced", ROUTE_PROTOCOL_DRAINING, 2 },
        { STANDING_WITHDRAWN, "withdrawn", 0, 2 },
        { STANDING_GONE, "node-gone", 0, 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        begin_with_web(&planning);
        put(&planning, "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nmetadata: {name: b1,\n"
                       "  labels: {coil.cybozu.com/node: node-1, coil.cybozu.com/pool: p}}\n"
                       "index: 0\nipv4: 10.224.0.0/27\nipv6: fd00::/123\n");
        planning.inputs.standing = cases[i].standing;
        struct address_row *row = row_of(&planning, VIP);
        assert_string_equal(address_reason_name(row->reason), cases[i].reason);
        assert_string_not_equal(address_reason_text(row->reason), "");
        if (row->reason == REASON_ANNOUNCED)
            assert_int_equal(row->protocol, cases[i].protocol);
        address_row_free(row);
        struct sorted blocks = SORTED(struct block_row, block_row_cmp);
        assert_int_equal(plan_blocks(&planning.inputs, &blocks), 0);
        assert_int_equal(blocks.count, cases[i].blocks);
        sorted_done(&blocks);
    }
}

static void blocks_of_this_node_only(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    struct block_row rows[2];
    assert_int_equal(plan_block(&planning.inputs, NULL, rows), 0);
    put(&planning, "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nmetadata: {name: b1,\n"
                   "  labels: {coil.cybozu.com/node: node-2, coil.cybozu.com/pool: p}}\n"
                   "index: 0\nipv4: 10.224.0.0/27\n");
    put(&planning, "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nmetadata: {name: b2,\n"
                   "  labels: {coil.cybozu.com/node: node-1, coil.cybozu.com/pool: p,\n"
                   "    coil.cybozu.com/reserved: \"true\"}}\nindex: 0\nipv6: fd00::/123\n");
    struct sorted blocks = SORTED(struct block_row, block_row_cmp);
    assert_int_equal(plan_blocks(&planning.inputs, &blocks), 0);
    assert_int_equal(blocks.count, 1);
    const struct block_row *row = sorted_at(&blocks, 0);
    assert_string_equal(row->block, "b2");
    assert_true(row->reserved);
    sorted_done(&blocks);
}

static bool is_guarded(struct planning *planning, const char *address)
{
    struct address_row *row = row_of(planning, address);
    bool guarded = row->guarded;
    address_row_free(row);
    return guarded;
}

static void real_addresses_are_neither_guarded_nor_announced(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin_with_web(&planning);
    assert_true(is_guarded(&planning, VIP));

    struct sorted prefixes = SORTED(struct prefix, (compare_fn)prefix_cmp);
    planning.facts.local_prefixes = &prefixes;
    assert_true(is_guarded(&planning, VIP));
    struct prefix prefix;
    assert_int_equal(prefix_parse("192.0.2.0/24", &prefix), 0);
    assert_int_equal(sorted_put(&prefixes, &prefix), 0);
    assert_true(is_guarded(&planning, VIP));
    assert_int_equal(prefix_parse("198.51.100.0/24", &prefix), 0);
    assert_int_equal(sorted_put(&prefixes, &prefix), 0);
    assert_false(is_guarded(&planning, VIP));
    assert_string_equal(reason_of(&planning, VIP), "connected-network");
    assert_true(is_guarded(&planning, "2001:db8::1"));
    assert_string_equal(reason_of(&planning, "2001:db8::1"), "announced");
    sorted_done(&prefixes);
    planning.facts.local_prefixes = NULL;

    put(&planning, "apiVersion: v1\nkind: Node\nmetadata: {name: node-2}\n"
                   "status: {addresses: [{type: InternalIP, address: " VIP "}]}\n");
    assert_false(is_guarded(&planning, VIP));
    assert_string_equal(reason_of(&planning, VIP), "node-address");
}

/* Guarded is what this node may announce, whether or not it serves it now. */
static void guards_stay_without_endpoints(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin_with_web(&planning);
    put_endpoint(&planning, "web-1", "web", "10.0.0.1", "node-1", "ready: false");
    assert_string_equal(reason_of(&planning, VIP), "no-endpoints");
    assert_true(is_guarded(&planning, VIP));
    put_service(&planning, "web", "annotations: {fingerpost.io/announce: \"false\"}", "",
                "{ip: " VIP "}");
    assert_false(is_guarded(&planning, VIP));
}

/* In order of route_cmp() whatever number the export table has. */
static void routes_are_in_order(void **state)
{
    (void)state;
    static const uint32_t tables[] = { 119, 121, 300 };
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        AUTOPLANNING struct planning planning;
        begin_with_web(&planning);
        planning.config->routes.table = tables[i];
        struct address_row *row = row_of(&planning, VIP);
        const struct route_plan plan = { .svc0_by_rule = true };
        struct route routes[2];
        assert_int_equal(address_routes(planning.config, &plan, row, routes), 2);
        assert_true(route_cmp(&routes[0], &routes[1]) < 0);
        assert_int_equal(routes[tables[i] < ROUTE_TABLE_GUARD ? 0 : 1].table, tables[i]);
        address_row_free(row);

        struct block_row block = { .prefix = { ip_of("10.224.0.0"), 27 } };
        assert_int_equal(block_routes(planning.config, &block, routes), 2);
        assert_true(route_cmp(&routes[0], &routes[1]) < 0);
    }
}

/* Two rows may want one slot: the lower protocol number, the block's, has it. */
static void one_route_to_a_slot(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin_with_web(&planning);
    static const char *const names[] = { "b1", "b2" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        AUTOFREE char *yaml =
            text_format("apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nmetadata: {name: %s,\n"
                        "  labels: {coil.cybozu.com/node: node-1, coil.cybozu.com/pool: p}}\n"
                        "index: 0\nipv4: " VIP "/32\n",
                        names[i]);
        put(&planning, yaml);
    }
    struct route_plan plan;
    assert_int_equal(plan_routes(&planning.inputs, &plan, &planning.faults), 0);
    route_list routes;
    assert_int_equal(plan_route_list(planning.config, &plan, &routes), 0);
    assert_int_equal(routes.count, 5); /* the block and its guard; both addresses' 119 and 120 */
    vec_each(struct route, route, &routes) {
        struct route wanted;
        assert_true(plan_wanted_route(planning.config, &plan, route, &wanted));
        assert_int_equal(route_cmp(&wanted, route), 0);
        if (route->table == 119 && route->prefix.ip.family == IP_V4)
            assert_int_equal(route->protocol, ROUTE_PROTOCOL_BLOCK);
    }
    struct route none = routes.items[0], wanted;
    none.metric = 7;
    assert_false(plan_wanted_route(planning.config, &plan, &none, &wanted));
    none = routes.items[0];
    none.prefix = (struct prefix){ ip_of("192.0.2.1"), 32 };
    assert_false(plan_wanted_route(planning.config, &plan, &none, &wanted));
    none.prefix.length = 24;
    assert_false(plan_wanted_route(planning.config, &plan, &none, &wanted));
    vec_done(&routes);
    route_plan_done(&plan);
}

static void rules_by_family(void **state)
{
    (void)state;
    static const struct {
        const char *ingress;
        size_t rules;
        uint8_t first;
    } cases[] = {
        { "", 0, IP_NONE },
        { "{ip: " VIP "}", 1, IP_V4 },
        { "{ip: \"2001:db8::1\"}", 1, IP_V6 },
        { "{ip: " VIP "}, {ip: \"2001:db8::1\"}", 2, IP_V4 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        put_service(&planning, "web", "", "clusterIP: 10.96.0.1", cases[i].ingress);
        struct route_plan plan;
        assert_int_equal(plan_routes(&planning.inputs, &plan, &planning.faults), 0);
        rule_list rules;
        assert_int_equal(plan_rule_list(&plan, &rules), 0);
        assert_int_equal(rules.count, cases[i].rules);
        if (rules.count)
            assert_int_equal(rules.items[0].family, cases[i].first);
        vec_done(&rules);
        route_plan_done(&plan);
    }
}

/* The addresses that the changes since the last call touch, as text; "all" where any may be,
 * "blocks" for blocks. */
static char *affected(struct planning *planning)
{
    struct text out = { 0 };
    change_list changes;
    ip_list addresses = { 0 };
    bool all = false, blocks = false;
    char buffer[IP_STRLEN];
    assert_int_equal(store_changes(planning->store, &changes), 0);
    vec_each(struct change, change, &changes) {
        assert_int_equal(plan_affected_addresses(&planning->facts, change, &addresses, &all), 0);
        blocks |= plan_affected_blocks(&planning->facts, change);
    }
    vec_each(struct ip, ip, &addresses)
        text_addf(&out, "%s%s", out.length ? " " : "", ip_str(ip, buffer));
    if (all)
        text_addf(&out, "%sall", out.length ? " " : "");
    if (blocks)
        text_addf(&out, "%sblocks", out.length ? " " : "");
    text_add(&out, "");
    store_changes_done(planning->store);
    vec_done(&changes);
    vec_done(&addresses);
    return text_take(&out);
}

static void assert_affected(struct planning *planning, const char *expected)
{
    AUTOFREE char *got = affected(planning);
    assert_string_equal(got, expected);
}

static void take_out(struct planning *planning, enum kind kind, const char *namespace,
                     const char *name)
{
    assert_int_equal(store_remove(planning->store, "t", kind, namespace, name), 1);
}

static void changes_touch_their_addresses(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_endpoint(&planning, "w", "web", "10.0.0.1", "node-1", "ready: true");
    assert_affected(&planning, ""); /* nobody's yet */
    put_service(&planning, "web", "", "", "{ip: " VIP "}");
    assert_affected(&planning, VIP);
    put_service(&planning, "web", "", "", "{ip: 198.51.100.2}");
    assert_affected(&planning, VIP " 198.51.100.2");
    put_endpoint(&planning, "w", "web", "10.0.0.2", "node-1", "ready: true");
    assert_affected(&planning, "198.51.100.2 198.51.100.2");
    put_service(&planning, "x", "", "", "{ip: 198.51.100.3}");
    assert_affected(&planning, "198.51.100.3");
    put_endpoint(&planning, "w", "x", "10.0.0.2", "node-1", "ready: true");
    assert_affected(&planning, "198.51.100.2 198.51.100.3"); /* moved from one to the other */
    take_out(&planning, KIND_ENDPOINT_SLICE, "d", "w");
    assert_affected(&planning, "198.51.100.3");
    take_out(&planning, KIND_SERVICE, "d", "x");
    assert_affected(&planning, "198.51.100.3");
}

#define NODE(name, more) "apiVersion: v1\nkind: Node\nmetadata: {name: " name more "}\n"
#define EXCLUDED         ", labels: {node.kubernetes.io/exclude-from-external-load-balancers: \"\"}"
#define ADDRESS(ip)      "status: {addresses: [{type: InternalIP, address: " ip "}]}\n"
#define UNAVAILABLE      "status: {conditions: [{type: NetworkUnavailable, status: \"True\"}]}\n"

static void this_nodes_object_touches_all(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put(&planning, NODE("node-1", "") ADDRESS("192.0.2.1"));
    assert_affected(&planning, "192.0.2.1"); /* as good as no object */
    put(&planning, NODE("node-1", EXCLUDED) ADDRESS("192.0.2.1"));
    assert_affected(&planning, "192.0.2.1 192.0.2.1 all");
    put(&planning, NODE("node-1", EXCLUDED) ADDRESS("192.0.2.2"));
    assert_affected(&planning, "192.0.2.1 192.0.2.2");
    take_out(&planning, KIND_NODE, "", "node-1");
    assert_affected(&planning, "192.0.2.2 all");
    put(&planning, NODE("node-1", "") UNAVAILABLE);
    assert_affected(&planning, "all");
    put(&planning, NODE("node-2", EXCLUDED) UNAVAILABLE);
    assert_affected(&planning, "");
    put(&planning, NODE("node-2", "") ADDRESS("192.0.2.3"));
    assert_affected(&planning, "192.0.2.3");
}

#define BLOCK(node)                                                                       \
    "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nindex: 0\nipv4: 10.224.0.0/27\n" \
    "metadata: {name: b, labels: {coil.cybozu.com/node: " node ", coil.cybozu.com/pool: p}}\n"

static void this_nodes_blocks_touch_blocks(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put(&planning, BLOCK("node-2"));
    assert_affected(&planning, ""); /* most of them are other nodes' */
    put(&planning, BLOCK("node-1"));
    assert_affected(&planning, "blocks");
    put(&planning, BLOCK("node-2"));
    assert_affected(&planning, "blocks"); /* it was ours */
    put(&planning, BLOCK("node-1"));
    assert_affected(&planning, "blocks");
    take_out(&planning, KIND_ADDRESS_BLOCK, "", "b");
    assert_affected(&planning, "blocks");
}

static void other_kinds_touch_none(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put(&planning, "apiVersion: v1\nkind: Namespace\nmetadata: {name: d}\n");
    put(&planning, "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: d}\n"
                   "spec: {nodeName: node-1}\nstatus: {podIPs: [{ip: 10.0.0.1}]}\n");
    put(&planning, "apiVersion: coil.cybozu.com/v2\nkind: AddressPool\nmetadata: {name: p}\n"
                   "spec: {blockSizeBits: 5, subnets: [{ipv4: 10.224.0.0/16}]}\n");
    put(&planning, "apiVersion: coil.cybozu.com/v2\nkind: Egress\n"
                   "metadata: {name: e, namespace: d}\nspec: {destinations: [0.0.0.0/0]}\n");
    assert_affected(&planning, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proof_is_needed_where_it_can_be_had),
        cmocka_unit_test(nat_needs_a_cluster_ip),
        cmocka_unit_test(a_service_without_cluster_ip_keeps_nobody_out),
        cmocka_unit_test(an_address_that_is_not_proved_stays_guarded),
        cmocka_unit_test(hold_down_ends),
        cmocka_unit_test(the_nodes_standing),
        cmocka_unit_test(blocks_of_this_node_only),
        cmocka_unit_test(real_addresses_are_neither_guarded_nor_announced),
        cmocka_unit_test(guards_stay_without_endpoints),
        cmocka_unit_test(routes_are_in_order),
        cmocka_unit_test(one_route_to_a_slot),
        cmocka_unit_test(rules_by_family),
        cmocka_unit_test(changes_touch_their_addresses),
        cmocka_unit_test(this_nodes_object_touches_all),
        cmocka_unit_test(this_nodes_blocks_touch_blocks),
        cmocka_unit_test(other_kinds_touch_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
