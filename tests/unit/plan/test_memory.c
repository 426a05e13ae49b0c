// SPDX-License-Identifier: Apache-2.0
/* The planner when memory runs out: a whole plan or -ENOMEM, never a part that looks like one. */
#include <linux/rtnetlink.h>

#include "failing_heap.h"
#include "nat_planning.h"
#include "plan/nat/nat_change.h"
#include "planning.h"

static void fill(struct planning *planning)
{
    planning_begin(planning);
    add_range(&planning->config->services.external_ips, "192.0.2.0/24");
    add_range(&planning->config->services.service_cidrs, "10.96.0.0/12");
    put_service(planning, "a", "creationTimestamp: \"2026-01-01T00:00:00Z\"",
                "clusterIPs: [10.96.0.1], externalIPs: [192.0.2.1, 10.96.0.9]",
                "{ip: 198.51.100.1}, {ip: \"2001:db8::1\"}");
    put_service(planning, "b", "", "externalTrafficPolicy: Local",
                "{ip: 198.51.100.1}, {ip: 198.51.100.2}");
    put_endpoint(planning, "a-1", "a", "10.0.0.1", "node-1", "ready: true");
    put_endpoint(planning, "b-1", "b", "10.0.1.1", "node-2", "ready: true");
    put(planning, "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n"
                  "status: {addresses: [{type: InternalIP, address: 192.0.2.10},\n"
                  "  {type: InternalIP, address: \"2001:db8:1::10\"}]}\n");
    put(planning, "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nmetadata: {name: b1,\n"
                  "  labels: {coil.cybozu.com/node: node-1, coil.cybozu.com/pool: p}}\n"
                  "index: 0\nipv4: 10.224.0.0/27\nipv6: fd00::/123\n");
}

static int plan_all(struct planning *planning, struct route_plan *plan, struct faults *faults)
{
    return plan_routes(&planning->inputs, plan, faults);
}

static void whole_plans(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    fill(&planning);
    struct route_plan good;
    AUTOFAULTS struct faults expected = { 0 };
    assert_int_equal(plan_all(&planning, &good, &expected), 0);
    assert_int_equal(good.addresses.count, 6);
    assert_int_equal(good.blocks.count, 2);
    assert_int_equal(expected.list.count, 2);

    int failures = 0;
    for (int n = 0;; n++) {
        AUTOFAULTS struct faults faults = { 0 };
        struct route_plan plan;
        route_plan_init(&plan);
        int r = with_heap(n, plan_all(&planning, &plan, &faults));
        assert_true(r == 0 || (r == -ENOMEM && heap_missed));
        /* The words of a fault may be lost; that one was lost is known then. */
        assert_true(r < 0 || faults.list.count == expected.list.count || faults.incomplete);
        assert_int_equal(plan.addresses.count, r == 0 ? good.addresses.count : 0);
        assert_int_equal(plan.blocks.count, r == 0 ? good.blocks.count : 0);
        route_plan_done(&plan);
        if (!heap_missed)
            break;
        failures += r < 0;
    }
    assert_true(failures > 20);
    route_plan_done(&good);
}

static void single_addresses(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    fill(&planning);
    struct ip ip;
    assert_int_equal(ip_parse("198.51.100.1", &ip), 0);
    int failures = 0;
    for (int n = 0;; n++) {
        AUTOFAULTS struct faults faults = { 0 };
        struct address_row *row = NULL;
        int r = with_heap(n, plan_address(&planning.inputs, &ip, NULL, &row, &faults));
        assert_true(r == 0 || r == -ENOMEM);
        assert_int_equal(r == 0, row != NULL);
        if (row) {
            assert_int_equal(row->claim_count, 2);
            assert_string_equal(row->claims[0].name, "a");
            assert_int_equal(row->reason, REASON_ANNOUNCED);
        }
        address_row_free(row);
        if (!heap_missed)
            break;
        failures += r < 0;
    }
    assert_true(failures >= 2);
}

static void affected_addresses(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    fill(&planning);
    store_changes_done(planning.store);
    put_service(&planning, "a", "", "", "{ip: 198.51.100.7}");
    put_endpoint(&planning, "a-1", "a", "10.0.0.1", "node-1", "ready: false");
    put_endpoint(&planning, "b-1", "a", "10.0.1.1", "node-2", "ready: true");
    put(&planning, "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n"
                   "status: {addresses: [{type: InternalIP, address: 192.0.2.11}]}\n");
    change_list changes;
    assert_int_equal(store_changes(planning.store, &changes), 0);
    assert_int_equal(changes.count, 4);
    int failures = 0;
    vec_each(struct change, change, &changes) {
        for (int n = 0;; n++) {
            ip_list addresses = { 0 };
            bool all = false;
            int r =
                with_heap(n, plan_affected_addresses(&planning.facts, change, &addresses, &all));
            vec_done(&addresses);
            assert_int_equal(r, heap_missed ? -ENOMEM : 0);
            if (!heap_missed)
                break;
            failures++;
        }
    }
    vec_done(&changes);
    assert_true(failures >= 4);
}

static void lists(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    fill(&planning);
    struct route_plan plan;
    assert_int_equal(plan_all(&planning, &plan, &planning.faults), 0);
    route_list routes = { 0 };
    assert_int_equal(with_heap(0, plan_route_list(planning.config, &plan, &routes)), -ENOMEM);
    assert_null(routes.items);
    rule_list rules = { 0 };
    assert_int_equal(with_heap(0, plan_rule_list(&plan, &rules)), -ENOMEM);
    assert_null(rules.items);

    struct sorted blocks = SORTED(struct block_row, block_row_cmp);
    for (int n = 0;; n++) {
        int r = with_heap(n, plan_blocks(&planning.inputs, &blocks));
        assert_int_equal(r, heap_missed ? -ENOMEM : 0);
        assert_int_equal(blocks.count, r == 0 ? 2 : 0);
        if (!heap_missed)
            break;
    }
    sorted_done(&blocks);
    route_plan_done(&plan);
}

static void fill_nat(struct planning *planning)
{
    planning_begin(planning);
    put_node(planning, "node-1", "zone-a",
             "{type: InternalIP, address: 192.0.2.1}, {type: InternalIP, address: \"fd00::1\"}");
    static const char spec[] =
        "externalTrafficPolicy: Local, healthCheckNodePort: 30099,\n"
        "loadBalancerSourceRanges: [192.0.2.0/24], ports: [{name: h, port: 80, nodePort: 30080}]";
    put_served(planning, "web", "LoadBalancer", "10.96.0.1, \"fd00:96::1\"", spec,
               "{ip: 198.51.100.1}, {ip: \"2001:db8::1\"}");
    put_served(planning, "zoo", "LoadBalancer", "10.96.0.2", spec, "{ip: 198.51.100.1}");
    put(planning, "apiVersion: v1\nkind: Service\nmetadata: {name: their, namespace: d,\n"
                  "  labels: {service.kubernetes.io/service-proxy-name: x}}\n"
                  "spec: {clusterIPs: [10.96.0.3, \"fd00:96::3\"], ports: [{port: 80}]}\n");
    put_slice(planning, "web-1", "{addresses: [10.0.0.1], nodeName: node-1}");
    put_slice(planning, "web-6", "{addresses: [\"fd00::5\"], nodeName: node-1}");
}

static void nat_rows(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    fill_nat(&planning);
    int failures = 0;
    for (int n = 0;; n++) {
        AUTOFAULTS struct faults faults = { 0 };
        struct sorted rows = { 0 };
        int r = with_heap(n, plan_nat(&planning.facts, &rows, &faults));
        assert_true(r == 0 || (r == -ENOMEM && heap_missed));
        assert_int_equal(rows.count, r == 0 ? 3 : 0);
        assert_true(r < 0 || faults.list.count == 2 || faults.incomplete);
        if (r == 0) {
            const struct nat_row *web = *(struct nat_row **)sorted_at(&rows, 1);
            assert_int_equal((*(struct nat_row **)sorted_at(&rows, 0))->foreign.count, 2);
            assert_int_equal(web->family_count, 2);
            assert_int_equal(web->families[0].frontends.count, 3);
            assert_int_equal(web->families[1].frontends.count, 3);
        }
        nat_rows_done(&rows);
        if (!heap_missed)
            break;
        failures += r < 0;
    }
    assert_true(failures > 20);
}

static void nat_changes(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    fill_nat(&planning);
    AUTONAT struct nat_row *row = nat_of(&planning, "web");
    int failures = 0;
    for (int n = 0;; n++) {
        ip_list losses = { 0 }, addresses = { 0 };
        int r = with_heap(n, nat_row_losses(row, NULL, &losses));
        if (r == 0)
            assert_int_equal(losses.count, 4);
        if (r == 0)
            r = with_heap(n, nat_row_addresses(row, &addresses));
        assert_int_equal(r, heap_missed ? -ENOMEM : 0);
        assert_int_equal(addresses.count, r == 0 ? 4 : 0);
        vec_done(&losses);
        vec_done(&addresses);
        if (!heap_missed)
            break;
        failures++;
    }
    assert_true(failures >= 2);
}

static void nat_settings(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    fill(&planning);
    put(&planning, "apiVersion: coil.cybozu.com/v2\nkind: AddressPool\nmetadata: {name: p}\n"
                   "spec: {subnets: [{ipv4: 10.224.0.0/16}]}\n");
    /* More networks than are looked at: the pool is asked for. */
    AUTOTEXT struct text node = { 0 };
    text_add(&node, "apiVersion: v1\nkind: Node\nmetadata: {name: node-2}\nspec: {podCIDRs: [");
    for (int i = 0; i < NAT_MAX_POD_NETS; i++)
        text_addf(&node, "%s10.224.%d.0/24", i ? ", " : "", 1 + 2 * i);
    text_add(&node, "]}\n");
    put(&planning, text_str(&node));
    int failures = 0;
    for (int n = 0;; n++) {
        CLEANUP(nat_settings_done) struct nat_settings settings = { 0 };
        int r = with_heap(n, plan_nat_settings(&planning.facts, &settings, &planning.faults));
        assert_int_equal(r, heap_missed ? -ENOMEM : 0);
        assert_int_equal(settings.pod_net_count, r == 0 ? 2 : 0);
        assert_int_equal(settings.service_net_count, r == 0 ? 1 : 0);
        if (!heap_missed)
            break;
        failures++;
    }
    assert_true(failures >= 4);
}

static void affected_services(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    fill_nat(&planning);
    change_list changes;
    assert_int_equal(store_changes(planning.store, &changes), 0);
    int failures = 0;
    vec_each(struct change, change, &changes) {
        for (int n = 0;; n++) {
            nat_key_list keys = { 0 };
            bool all = false, settings = false;
            int r =
                with_heap(n, plan_nat_affected(&planning.facts, change, &keys, &all, &settings));
            vec_done(&keys);
            assert_int_equal(r, heap_missed ? -ENOMEM : 0);
            if (!heap_missed)
                break;
            failures++;
        }
    }
    vec_done(&changes);
    assert_true(failures >= 4);
}

static struct route route_at(uint8_t host, uint8_t protocol)
{
    return (struct route){
        .table = 119,
        .prefix = { { .family = IP_V4, .bytes = { 10, 0, 0, host } }, 32 },
        .protocol = protocol,
        .type = RTN_BLACKHOLE,
    };
}

/* Operations, blocked and foreign routes: each list is lost once. */
static void differences(void **state)
{
    (void)state;
    struct route want[40], have[40];
    for (uint8_t i = 0; i < 40; i++) {
        want[i] = route_at(i, 31);
        have[i] = route_at((uint8_t)(i + 10), i % 3 == 0 ? 4 : i % 3 == 1 ? 31 : 32);
    }
    int failures = 0;
    for (int n = 0;; n++) {
        struct route_diff diff = { 0 };
        int r = with_heap(n, diff_routes(want, 40, have, 40, 119, true, &diff));
        assert_int_equal(r, heap_missed ? -ENOMEM : 0);
        assert_int_equal(r == 0, diff.ops.count > 0);
        route_diff_done(&diff);
        if (!heap_missed)
            break;
        failures++;
    }
    assert_true(failures >= 6);
    struct route_diff none = { 0 };
    assert_int_equal(with_heap(0, diff_routes(NULL, 0, &want[0], 1, 119, true, &none)), -ENOMEM);

    const struct rule guard = { IP_V4, 1990, 120, 33, true, "lo", false };
    const struct rule old = { IP_V4, 1991, 120, 33, true, "lo", false };
    rule_op_list ops = { 0 };
    assert_int_equal(with_heap(0, diff_rules(&guard, 1, &old, 1, true, &ops)), -ENOMEM);
    assert_int_equal(with_heap(0, diff_rules(NULL, 0, &old, 1, true, &ops)), -ENOMEM);
    assert_null(ops.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_plans),        cmocka_unit_test(single_addresses),
        cmocka_unit_test(affected_addresses), cmocka_unit_test(lists),
        cmocka_unit_test(differences),        cmocka_unit_test(nat_rows),
        cmocka_unit_test(affected_services),  cmocka_unit_test(nat_changes),
        cmocka_unit_test(nat_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
