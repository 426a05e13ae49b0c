// SPDX-License-Identifier: Apache-2.0
/* Outcomes by policy, endpoints and source; source ranges, the health port, affinity. */
#include "nat_planning.h"

#define EXTERNAL "externalIPs: [203.0.113.1], ports: [{name: h, port: 80, nodePort: 30080}]"

static void begin(struct planning *planning)
{
    planning_begin(planning);
    add_range(&planning->config->services.external_ips, "203.0.113.0/24");
    put_node(planning, "node-1", "",
             "{type: InternalIP, address: 192.0.2.1}, {type: InternalIP, address: 192.0.2.2}");
}

static const struct nat_frontend *frontend_of(const struct nat_row *row,
                                              enum nat_frontend_kind kind)
{
    for (uint32_t i = 0; i < row->family_count; i++) {
        vec_each(const struct nat_frontend, frontend, &row->families[i].frontends) {
            if (frontend->kind == kind)
                return frontend;
        }
    }
    fail_msg("no %s", nat_frontend_kind_name(kind));
    return NULL;
}

/* "local", "cluster+" (masqueraded), "drop", "reject": outside, pod and node. */
static void assert_outcomes(const struct nat_row *row, enum nat_frontend_kind kind,
                            const char *expected)
{
    const struct nat_frontend *frontend = frontend_of(row, kind);
    AUTOTEXT struct text out = { 0 };
    for (enum nat_origin origin = 0; origin < NAT_ORIGINS; origin++) {
        const struct nat_outcome *outcome = &frontend->from[origin];
        static const char *const sets[] = { "cluster", "local" };
        static const enum nat_cause causes[] = {
            [NAT_ACT_FORWARD] = NAT_CAUSE_NONE,
            [NAT_ACT_REJECT] = NAT_CAUSE_NO_ENDPOINTS,
            [NAT_ACT_DROP] = NAT_CAUSE_NO_LOCAL,
        };
        assert_int_equal(outcome->cause, causes[outcome->act]);
        text_addf(&out, "%s%s%s", origin ? " " : "",
                  outcome->act == NAT_ACT_FORWARD ? sets[outcome->set] : nat_act_name(outcome->act),
                  outcome->masquerade ? "+" : "");
    }
    if (strcmp(text_str(&out), expected) != 0)
        fail_msg("%s: %s, expected %s", nat_frontend_kind_name(kind), text_str(&out), expected);
}

enum where { HERE_TOO, ELSEWHERE, NOWHERE };

static void policies_and_short_circuits(void **state)
{
    (void)state;
    static const struct {
        const char *policies;
        enum where where;
        bool masquerade_all;
        const char *cluster, *external; /* ClusterIP; LoadBalancer, external IP and node port */
    } cases[] = {
        { "", HERE_TOO, false, "cluster+ cluster cluster+", "cluster+ cluster+ cluster+" },
        { "", ELSEWHERE, false, "cluster+ cluster cluster+", "cluster+ cluster+ cluster+" },
        { "", NOWHERE, false, "reject reject reject", "reject reject reject" },
        { "", HERE_TOO, true, "cluster+ cluster+ cluster+", "cluster+ cluster+ cluster+" },
        { "internalTrafficPolicy: Local", HERE_TOO, false, "local+ local local+",
          "cluster+ cluster+ cluster+" },
        { "internalTrafficPolicy: Local", HERE_TOO, true, "local+ local+ local+",
          "cluster+ cluster+ cluster+" },
        { "internalTrafficPolicy: Local", ELSEWHERE, false, "drop drop drop",
          "cluster+ cluster+ cluster+" },
        { "internalTrafficPolicy: Local", NOWHERE, false, "reject reject reject",
          "reject reject reject" },
        { "externalTrafficPolicy: Local", HERE_TOO, false, "cluster+ cluster cluster+",
          "local cluster cluster+" },
        { "externalTrafficPolicy: Local", HERE_TOO, true, "cluster+ cluster+ cluster+",
          "local cluster cluster+" },
        { "externalTrafficPolicy: Local", ELSEWHERE, false, "cluster+ cluster cluster+",
          "drop cluster cluster+" },
        { "externalTrafficPolicy: Local", NOWHERE, true, "reject reject reject",
          "reject reject reject" },
        { "externalTrafficPolicy: Local, internalTrafficPolicy: Local", ELSEWHERE, false,
          "drop drop drop", "drop cluster cluster+" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        begin(&planning);
        planning.config->services.masquerade_all = cases[i].masquerade_all;
        AUTOFREE char *spec =
            text_format("%s%s" EXTERNAL, cases[i].policies, *cases[i].policies ? ", " : "");
        put_served(&planning, "web", "LoadBalancer", CLUSTER_IP, spec, "{ip: 198.51.100.1}");
        if (cases[i].where != NOWHERE)
            put_slice(&planning, "web-1", "{addresses: [10.0.0.2], nodeName: node-2}");
        if (cases[i].where == HERE_TOO)
            put_slice(&planning, "web-2", "{addresses: [10.0.0.1], nodeName: node-1}");
        AUTONAT struct nat_row *row = nat_of(&planning, "web");
        assert_outcomes(row, NAT_FRONTEND_CLUSTER_IP, cases[i].cluster);
        assert_outcomes(row, NAT_FRONTEND_LOAD_BALANCER, cases[i].external);
        assert_outcomes(row, NAT_FRONTEND_EXTERNAL_IP, cases[i].external);
        assert_outcomes(row, NAT_FRONTEND_NODE_PORT, cases[i].external);
    }
}

/* Without an address that is reached from outside, the external policy has nothing to say. */
static void unreachable_services_have_no_external_policy(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_served(&planning, "web", "ClusterIP", CLUSTER_IP,
               "externalTrafficPolicy: Local, ports: [{name: h, port: 80}]", "");
    put_slice(&planning, "web-1", "{addresses: [10.0.0.2], nodeName: node-2}");
    assert_frontends(&planning, "web", "10.96.0.1:80/TCP clusterIP");
    AUTONAT struct nat_row *row = nat_of(&planning, "web");
    assert_outcomes(row, NAT_FRONTEND_CLUSTER_IP, "cluster+ cluster cluster+");
}

static void add_ranges(struct text *out, const struct nat_family *family)
{
    char buffer[PREFIX_STRLEN];
    text_addf(out, "IPv%u", family->family);
    vec_each(const struct prefix, range, &family->source_ranges)
        text_addf(out, " %s", prefix_str(range, buffer));
    text_add(out, ";");
}

static void source_ranges_of_each_family(void **state)
{
    (void)state;
    static const struct {
        const char *ranges, *expected;
        size_t faults;
    } cases[] = {
        { "", "IPv4;IPv6;", 0 },
        { "10.0.0.0/8", "IPv4 10.0.0.0/8;IPv6;", 1 },
        { "\"2001:db8::/32\"", "IPv4;IPv6 2001:db8::/32;", 1 },
        { "203.0.113.0/24, 10.0.0.0/8, \"::/0\", 10.0.0.0/8",
          "IPv4 10.0.0.0/8 203.0.113.0/24;IPv6 ::/0;", 0 },
        /* With the node's primary address in them, but no other of its addresses, they admit all
         * ingress addresses that are served, whichever of them the packet is for. */
        { "192.0.2.1/32, \"2001:db8::/32\"",
          "IPv4 192.0.2.1/32 198.51.100.1/32 198.51.100.2/32;IPv6 2001:db8::/32;", 0 },
        { "192.0.2.1/32, 198.51.100.0/31, \"2001:db8::/32\"",
          "IPv4 192.0.2.1/32 198.51.100.0/31 198.51.100.2/32;IPv6 2001:db8::/32;", 0 },
        { "192.0.2.2/32, \"2001:db8::/32\"", "IPv4 192.0.2.2/32;IPv6 2001:db8::/32;", 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        begin(&planning);
        AUTOFREE char *spec = text_format(
            "loadBalancerSourceRanges: [%s], ports: [{name: h, port: 80}]", cases[i].ranges);
        put_served(&planning, "web", "LoadBalancer", "10.96.0.1, \"fd00:96::1\"", spec,
                   "{ip: 198.51.100.2}, {ip: 198.51.100.1}, {ip: 198.51.100.3, ipMode: Proxy}, "
                   "{ip: \"2001:db8:100::1\"}");
        AUTONAT struct nat_row *row = nat_of(&planning, "web");
        AUTOTEXT struct text out = { 0 };
        add_ranges(&out, &row->families[0]);
        add_ranges(&out, &row->families[1]);
        assert_string_equal(text_str(&out), cases[i].expected);
        assert_int_equal(planning.faults.list.count, cases[i].faults);
    }
}

/* Only load balancer addresses have ranges: nothing is open where there is none. */
static void ranges_are_for_load_balancer_addresses(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_served(&planning, "web", "LoadBalancer", "10.96.0.1, \"fd00:96::1\"",
               "loadBalancerSourceRanges: [10.0.0.0/8], " EXTERNAL, "");
    AUTONAT struct nat_row *row = nat_of(&planning, "web");
    assert_int_equal(row->families[0].source_ranges.count, 0);
    assert_int_equal(row->families[1].source_ranges.count, 0);
    assert_int_equal(planning.faults.list.count, 0);
}

static void the_health_port_counts_ready_addresses_here(void **state)
{
    (void)state;
    static const struct {
        const char *type, *policy;
        uint16_t port;
    } cases[] = {
        { "LoadBalancer", "externalTrafficPolicy: Local, healthCheckNodePort: 30099", 30099 },
        { "LoadBalancer", "externalTrafficPolicy: Local", 0 },
        { "LoadBalancer", "healthCheckNodePort: 30099", 0 },
        { "NodePort", "externalTrafficPolicy: Local, healthCheckNodePort: 30099", 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        begin(&planning);
        AUTOFREE char *spec =
            text_format("%s, ports: [{name: h, port: 80}, {name: g, port: 81}]", cases[i].policy);
        put_served(&planning, "web", cases[i].type, CLUSTER_IP, spec,
                   "{ip: 198.51.100.1, ipMode: Proxy}");
        put(&planning, "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
                       "metadata: {name: two, namespace: d, labels: {kubernetes.io/service-name: "
                       "web}}\naddressType: IPv4\nports: [{name: h, port: 80}, {name: g, port: 81}]"
                       "\nendpoints: [{addresses: [10.0.0.1], nodeName: node-1},\n"
                       "  {addresses: [10.0.0.2], nodeName: node-2},\n"
                       "  {addresses: [10.0.0.4]},\n"
                       "  {addresses: [10.0.0.3], nodeName: node-1, conditions: {ready: false,\n"
                       "    serving: true, terminating: true}}]\n");
        put_slice(&planning, "web-1",
                  "{addresses: [10.0.0.1], nodeName: node-1}, {addresses: [10.0.0.5], nodeName: "
                  "node-1}");
        AUTONAT struct nat_row *row = nat_of(&planning, "web");
        assert_int_equal(row->health_check_node_port, cases[i].port);
        assert_int_equal(row->families[0].local_ready, cases[i].port ? 2 : 0);
    }
}

static void affinity_is_carried(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_served(&planning, "web", "ClusterIP", CLUSTER_IP,
               "sessionAffinity: ClientIP, ports: [{port: 80}]", "");
    AUTONAT struct nat_row *row = nat_of(&planning, "web");
    assert_int_equal(row->affinity_seconds, 10800);
    assert_string_equal(row->namespace, "d");
    assert_string_equal(row->name, "web");
    assert_string_equal(row->families[0].ports.items[0].name, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_and_short_circuits),
        cmocka_unit_test(unreachable_services_have_no_external_policy),
        cmocka_unit_test(source_ranges_of_each_family),
        cmocka_unit_test(ranges_are_for_load_balancer_addresses),
        cmocka_unit_test(the_health_port_counts_ready_addresses_here),
        cmocka_unit_test(affinity_is_carried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
