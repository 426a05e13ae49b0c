// SPDX-License-Identifier: Apache-2.0
/* Which endpoints are chosen: readiness, fallback of each set for itself, hints and their guards.
 */
#include "nat_planning.h"

#define READY                 "conditions: {ready: true}"
#define UNREADY               "conditions: {ready: false, serving: false}"
#define LEAVING               "conditions: {ready: false, serving: true, terminating: true}"
#define GONE                  "conditions: {ready: false, serving: false, terminating: true}"
#define HERE(ip, conditions)  "{addresses: [" ip "], nodeName: node-1, " conditions "}"
#define THERE(ip, conditions) "{addresses: [" ip "], nodeName: node-2, " conditions "}"

struct set_case {
    const char *endpoints, *sets;
};

static void begin(struct planning *planning)
{
    planning_begin(planning);
    put_served(planning, "web", "ClusterIP", CLUSTER_IP, "ports: [{name: h, port: 80}]", "");
    put_node(planning, "node-1", "zone-a", "{type: InternalIP, address: 192.0.2.1}");
}

static void check_cases(const struct set_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        AUTOPLANNING struct planning planning;
        begin(&planning);
        put_slice(&planning, "web-1", cases[i].endpoints);
        assert_sets(&planning, cases[i].sets);
    }
}

static void each_set_falls_back_for_itself(void **state)
{
    (void)state;
    static const struct set_case cases[] = {
        { "", "cluster, local" },
        { HERE("10.0.0.1", READY) ", " THERE("10.0.0.2", READY),
          "cluster 10.0.0.1:8080 10.0.0.2:8080, local 10.0.0.1:8080" },
        { HERE("10.0.0.1", LEAVING) ", " THERE("10.0.0.2", READY),
          "cluster 10.0.0.2:8080, local 10.0.0.1:8080" },
        { HERE("10.0.0.1", READY) ", " THERE("10.0.0.2", LEAVING),
          "cluster 10.0.0.1:8080, local 10.0.0.1:8080" },
        { HERE("10.0.0.1", LEAVING) ", " THERE("10.0.0.2", LEAVING),
          "cluster 10.0.0.1:8080 10.0.0.2:8080, local 10.0.0.1:8080" },
        { THERE("10.0.0.2", LEAVING), "cluster 10.0.0.2:8080, local" },
        { HERE("10.0.0.1", UNREADY) ", " THERE("10.0.0.2", GONE), "cluster, local" },
        { HERE("10.0.0.1", READY) ", " HERE("10.0.0.3", LEAVING) ", " HERE("10.0.0.4", UNREADY),
          "cluster 10.0.0.1:8080, local 10.0.0.1:8080" },
        { "{addresses: [10.0.0.1]}", "cluster 10.0.0.1:8080, local" },
    };
    check_cases(cases, ARRAY_SIZE(cases));
}

#define HINTED(ip, node, hints) \
    "{addresses: [" ip "], nodeName: " node ", hints: {" hints "}, " READY "}"
#define ZONE(zone)   "forZones: [{name: " zone "}]"
#define NODE(node)   "forNodes: [{name: " node "}]"
#define A(hints)     HINTED("10.0.0.1", "node-1", hints)
#define B(hints)     HINTED("10.0.0.2", "node-2", hints)
#define C(hints)     HINTED("10.0.0.3", "node-3", hints)
#define BOTH_A_AND_B "cluster 10.0.0.1:8080 10.0.0.2:8080, local 10.0.0.1:8080"
#define ONLY_A       "cluster 10.0.0.1:8080, local 10.0.0.1:8080"
#define ONLY_B       "cluster 10.0.0.2:8080, local 10.0.0.1:8080"

static void hints_with_their_guards(void **state)
{
    (void)state;
    static const struct set_case cases[] = {
        { A(ZONE("zone-a")) ", " B(ZONE("zone-b")), ONLY_A },
        { A(ZONE("zone-b")) ", " B("forZones: [{name: zone-c}, {name: zone-a}]"), ONLY_B },
        { A(ZONE("zone-b")) ", " B(ZONE("zone-c")), BOTH_A_AND_B },
        { A(ZONE("zone-a")) ", " B(""), BOTH_A_AND_B },
        { A(ZONE("zone-a")) ", " B("forZones: []"), BOTH_A_AND_B },
        { A(NODE("node-1")) ", " B(NODE("node-2")), ONLY_A },
        { A(NODE("node-2")) ", " B("forNodes: [{name: node-3}, {name: node-1}]"), ONLY_B },
        { A(NODE("node-2")) ", " B(NODE("node-2")), BOTH_A_AND_B },
        { A(NODE("node-1")) ", " B(""), BOTH_A_AND_B },
        /* Hints for nodes come first, and zones are asked where they don't hold. */
        { A(NODE("node-1") ", " ZONE("zone-b")) ", " B(NODE("node-2") ", " ZONE("zone-a")),
          ONLY_A },
        { A(NODE("node-1") ", " ZONE("zone-b")) ", " B(ZONE("zone-a")), ONLY_B },
        { A(NODE("node-2") ", " ZONE("zone-b")) ", " B(NODE("node-3") ", " ZONE("zone-a")),
          ONLY_B },
        /* Only ready endpoints are asked, for and against. */
        { HERE("10.0.0.1", UNREADY) ", " B(ZONE("zone-a")) ", " C(ZONE("zone-b")),
          "cluster 10.0.0.2:8080, local" },
        { "{addresses: [10.0.0.9], nodeName: node-9, hints: {" ZONE("zone-a") "}, " UNREADY "}, " A(
              ZONE("zone-b")) ", " B(ZONE("zone-c")),
          BOTH_A_AND_B },
        { HERE("10.0.0.9", LEAVING) ", " B(ZONE("zone-a")) ", " C(ZONE("zone-b")),
          "cluster 10.0.0.2:8080, local 10.0.0.9:8080" },
        { "{addresses: [10.0.0.9], nodeName: node-9, hints: {" ZONE("zone-a") "}, " LEAVING "}, " A(
              ZONE("zone-b")) ", " B(ZONE("zone-c")),
          BOTH_A_AND_B },
        /* Without a ready one, all that are leaving, whatever their hints say. */
        { "{addresses: [10.0.0.1], nodeName: node-1, hints: {" ZONE(
              "zone-a") "}, " LEAVING
                        "}, {addresses: [10.0.0.2], nodeName: node-2, hints: {" ZONE(
                            "zone-b") "}, " LEAVING "}",
          BOTH_A_AND_B },
    };
    check_cases(cases, ARRAY_SIZE(cases));
}

static void the_zone_is_the_nodes_own(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_slice(&planning, "web-1", A(ZONE("zone-a")) ", " B(ZONE("zone-b")));
    assert_sets(&planning, ONLY_A);
    put_node(&planning, "node-1", "zone-b", "");
    assert_sets(&planning, ONLY_B);
    put_node(&planning, "node-1", "", "");
    assert_sets(&planning, BOTH_A_AND_B);
    put_node(&planning, "node-2", "zone-a", "");
    assert_sets(&planning, BOTH_A_AND_B);
    put_slice(&planning, "web-1", A(ZONE("\"\"")) ", " B(ZONE("zone-b")));
    assert_sets(&planning, BOTH_A_AND_B);
}

static void slices_are_united(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_slice(&planning, "web-1", HERE("10.0.0.1", LEAVING) ", " THERE("10.0.0.3", READY));
    put_slice(&planning, "web-2", HERE("10.0.0.1", READY) ", " THERE("10.0.0.2", READY));
    put_slice(&planning, "web-3", HERE("10.0.0.1", UNREADY) ", " THERE("10.0.0.2", READY));
    assert_sets(&planning,
                "cluster 10.0.0.1:8080 10.0.0.2:8080 10.0.0.3:8080, local 10.0.0.1:8080");
    assert_true(store_remove(planning.store, "t", KIND_ENDPOINT_SLICE, "d", "web-2") == 1);
    assert_sets(&planning, "cluster 10.0.0.2:8080 10.0.0.3:8080, local 10.0.0.1:8080");
}

/* One that leaves may have given its address to another elsewhere, who is not here. */
static void the_better_copy_says_where_it_is(void **state)
{
    (void)state;
    static const struct set_case cases[] = {
        { HERE("10.0.0.1", LEAVING) ", " THERE("10.0.0.1", READY), "cluster 10.0.0.1:8080, local" },
        { THERE("10.0.0.1", LEAVING) ", " HERE("10.0.0.1", READY),
          "cluster 10.0.0.1:8080, local 10.0.0.1:8080" },
        { HERE("10.0.0.1", UNREADY) ", " THERE("10.0.0.1", LEAVING),
          "cluster 10.0.0.1:8080, local" },
        { THERE("10.0.0.1", READY) ", " HERE("10.0.0.1", READY),
          "cluster 10.0.0.1:8080, local 10.0.0.1:8080" },
        { HERE("10.0.0.1", LEAVING) ", " THERE("10.0.0.1", READY) ", " HERE("10.0.0.2", LEAVING),
          "cluster 10.0.0.1:8080, local 10.0.0.2:8080" },
    };
    check_cases(cases, ARRAY_SIZE(cases));
}

/* A name is a number in each slice, and only of the port's own protocol. */
static void ports_go_by_name_and_protocol(void **state)
{
    (void)state;
    static const char slice[] =
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
        "metadata: {name: web-%d, namespace: d, labels: {kubernetes.io/service-name: web}}\n"
        "addressType: IPv4\nports: [%s]\nendpoints: [{addresses: [10.0.0.1]}]\n";
    AUTOPLANNING struct planning planning;
    begin(&planning);
    static const char *const ports[] = {
        "{name: h, port: 8080}, {name: other, port: 1}",
        "{name: h, port: 9090}, {name: h, port: 2, protocol: UDP}",
        "{name: h}, {name: \"\", port: 3}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
        AUTOFREE char *yaml = text_format(slice, (int)i, ports[i]);
        put(&planning, yaml);
    }
    assert_sets(&planning, "cluster 10.0.0.1:8080 10.0.0.1:9090, local");
}

static void families_stay_apart(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_served(&planning, "web", "ClusterIP", "10.96.0.1, \"fd00:96::1\"",
               "ports: [{name: h, port: 80}]", "");
    put_slice(&planning, "web-6", "{addresses: [\"fd00::1\"]}");
    AUTONAT struct nat_row *row = nat_of(&planning, "web");
    assert_int_equal(row->family_count, 2);
    assert_int_equal(row->families[0].family, IP_V4);
    assert_int_equal(row->families[0].frontends.items[0].from[NAT_ORIGIN_POD].act, NAT_ACT_REJECT);
    assert_int_equal(row->families[1].family, IP_V6);
    assert_int_equal(row->families[1].frontends.items[0].from[NAT_ORIGIN_POD].act, NAT_ACT_FORWARD);
}

/* Flows that have no end of their own stay with whoever serves, chosen for new ones or not. */
static void all_that_serve(void **state)
{
    (void)state;
    static const struct set_case cases[] = {
        { "", "" },
        { HERE("10.0.0.2", READY) ", " THERE("10.0.0.1", READY), " 10.0.0.1:8080 10.0.0.2:8080" },
        { HERE("10.0.0.1", LEAVING) ", " THERE("10.0.0.2", READY), " 10.0.0.1:8080 10.0.0.2:8080" },
        { HERE("10.0.0.1", UNREADY) ", " THERE("10.0.0.2", GONE), "" },
        { HERE("10.0.0.1", "conditions: {ready: false, serving: true}"), " 10.0.0.1:8080" },
        { HERE("10.0.0.1", "conditions: {ready: true, serving: false}"), " 10.0.0.1:8080" },
        { "{addresses: [10.0.0.1]}", " 10.0.0.1:8080" },
        /* Neither hints nor the condition of another copy take one out. */
        { A(ZONE("zone-a")) ", " B(ZONE("zone-b")), " 10.0.0.1:8080 10.0.0.2:8080" },
        { HERE("10.0.0.1", GONE) ", " HERE("10.0.0.1", LEAVING), " 10.0.0.1:8080" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        begin(&planning);
        put_slice(&planning, "web-1", cases[i].endpoints);
        AUTONAT struct nat_row *row = nat_of(&planning, "web");
        AUTOTEXT struct text out = { 0 };
        add_set(&out, &row->families[0].ports.items[0].serving);
        assert_string_equal(text_str(&out), cases[i].sets);
    }
}

static void serving_unready_ones_get_no_new_flows(void **state)
{
    (void)state;
    static const struct set_case cases[] = {
        { HERE("10.0.0.1", "conditions: {ready: false, serving: true}"), "cluster, local" },
        { HERE("10.0.0.1", "conditions: {ready: false, serving: true}") ", " THERE("10.0.0.2",
                                                                                   LEAVING),
          "cluster 10.0.0.2:8080, local" },
    };
    check_cases(cases, ARRAY_SIZE(cases));
}

/* A pod interface's slice may name any address; one that a status names, too, may be a host's. */
static void cluster_ips_are_no_endpoints(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    add_range(&planning.config->services.service_cidrs, "10.96.0.0/12");
    put_served(&planning, "web", "LoadBalancer", CLUSTER_IP, "ports: [{name: h, port: 80}]",
               "{ip: 198.51.100.1}, {ip: 192.0.2.2}");
    put_node(&planning, "node-2", "", "{type: InternalIP, address: 192.0.2.2}");
    put_slice(
        &planning, "web-1",
        HERE("10.0.0.1", READY) ", " THERE("10.96.0.9", READY) ", " THERE("192.0.2.2", READY));
    assert_sets(&planning, "cluster 10.0.0.1:8080 192.0.2.2:8080, local 10.0.0.1:8080");
    assert_int_equal(planning.faults.list.count, 1);
    const struct fault *fault = &planning.faults.list.items[0];
    assert_string_equal(fault->place, "Service d/web");
    assert_string_equal(fault->message, "EndpointSlice web-1: 1 of its endpoints are in "
                                        "services.serviceCIDRs, and left out: 10.96.0.9");
    put_slice(&planning, "web-1", HERE("10.96.0.9", READY));
    assert_sets(&planning, "cluster, local");
    assert_string_equal(reason_of(&planning, "198.51.100.1"), "no-endpoints");
}

/* By either policy, and whether or not its answers would come back here. */
static void its_own_address_is_no_endpoint(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_served(&planning, "web", "LoadBalancer", CLUSTER_IP,
               "externalTrafficPolicy: Local, ports: [{name: h, port: 80}]",
               "{ip: 198.51.100.1}, {ip: 192.0.2.2}");
    put_node(&planning, "node-2", "", "{type: InternalIP, address: 192.0.2.2}");
    put_slice(&planning, "web-1", HERE("198.51.100.1", READY) ", " THERE("192.0.2.2", READY));
    assert_sets(&planning, "cluster 192.0.2.2:8080, local");
    assert_int_equal(planning.faults.list.count, 1);
    assert_string_equal(planning.faults.list.items[0].message,
                        "EndpointSlice web-1: 1 of its endpoints are addresses of the Service "
                        "itself, and left out: 198.51.100.1");
    assert_string_equal(reason_of(&planning, "198.51.100.1"), "no-local-endpoints");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_own_address_is_no_endpoint),
        cmocka_unit_test(each_set_falls_back_for_itself),
        cmocka_unit_test(hints_with_their_guards),
        cmocka_unit_test(the_zone_is_the_nodes_own),
        cmocka_unit_test(slices_are_united),
        cmocka_unit_test(the_better_copy_says_where_it_is),
        cmocka_unit_test(ports_go_by_name_and_protocol),
        cmocka_unit_test(families_stay_apart),
        cmocka_unit_test(all_that_serve),
        cmocka_unit_test(serving_unready_ones_get_no_new_flows),
        cmocka_unit_test(cluster_ips_are_no_endpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
