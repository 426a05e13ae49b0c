// SPDX-License-Identifier: Apache-2.0
/* Health ports: which Services have one, what is counted, and where they are served. */
#include "failing_heap.h"
#include "nat_planning.h"
#include "plan/nat/nat_health.h"

#define LOCAL \
    "externalTrafficPolicy: Local, healthCheckNodePort: 30256, ports: [{name: h, port: 80}]"
#define DUAL   "10.96.0.1, \"fd00:96::1\""
#define CONFIG planning.config->services

/* An endpoint of a slice, on a node. */
#define AT(address, node, conditions) \
    "{addresses: [\"" address "\"], nodeName: " node ", conditions: {" conditions "}}"
#define HERE(address)    AT(address, "node-1", "ready: true")
#define LEAVING(address) AT(address, "node-1", "ready: false, serving: true, terminating: true")

/* "30256 v4=1 v6=none, told 1 1" of d/web; "" without a health port. */
static void assert_health(struct planning *planning, const char *expected)
{
    AUTONAT struct nat_row *row = nat_of(planning, "web");
    AUTOTEXT struct text out = { 0 };
    struct nat_health_port port;
    if (row && nat_health_of_row(row, &port)) {
        assert_string_equal(port.namespace, "d");
        assert_string_equal(port.name, "web");
        text_addf(&out, "%u v4=%lld v6=%lld, told %u %u", port.port, (long long)port.ready_v4,
                  (long long)port.ready_v6, nat_health_count(&port, IP_V4),
                  nat_health_count(&port, IP_V6));
    }
    assert_string_equal(text_str(&out), expected);
}

static void only_some_services_have_one(void **state)
{
    (void)state;
    static const struct {
        const char *type, *spec, *expected;
    } cases[] = {
        { "LoadBalancer", LOCAL, "30256 v4=1 v6=-1, told 1 1" },
        { "NodePort", LOCAL, "" },
        { "ClusterIP", LOCAL, "" },
        { "LoadBalancer",
          "externalTrafficPolicy: Cluster, healthCheckNodePort: 30256, ports: [{name: h, port: 80}]",
          "" },
        { "LoadBalancer", "healthCheckNodePort: 30256, ports: [{name: h, port: 80}]", "" },
        { "LoadBalancer", "externalTrafficPolicy: Local, ports: [{name: h, port: 80}]", "" },
        { "LoadBalancer",
          "externalTrafficPolicy: Local, healthCheckNodePort: 0, ports: [{name: h, port: 80}]",
          "" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        put_served(&planning, "web", cases[i].type, "10.96.0.1", cases[i].spec, "");
        put_slice(&planning, "web-1", HERE("10.0.0.1"));
        assert_health(&planning, cases[i].expected);
    }
}

/* The load balancer is another proxy's there, its health check is not. */
static void ip_mode_proxy_has_one(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_served(&planning, "web", "LoadBalancer", "10.96.0.1", LOCAL,
               "{ip: 198.51.100.1, ipMode: Proxy}");
    put_slice(&planning, "web-1", HERE("10.0.0.1"));
    assert_health(&planning, "30256 v4=1 v6=-1, told 1 1");
}

static void foreign_services_have_none(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put(&planning, "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: d,\n"
                   "  labels: {service.kubernetes.io/service-proxy-name: other}}\n"
                   "spec: {type: LoadBalancer, clusterIPs: [10.96.0.1], " LOCAL "}\n");
    assert_health(&planning, "");
    const struct nat_row foreign = { .namespace = (char *)"d",
                                     .name = (char *)"web",
                                     .health_check_node_port = 30256 };
    struct nat_health_port port;
    assert_false(nat_health_of_row(&foreign, &port));
}

static void ready_endpoints_of_this_node_count_once(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_served(&planning, "web", "LoadBalancer", DUAL, LOCAL, "");
    assert_health(&planning, "30256 v4=0 v6=0, told 0 0");

    put_slice(&planning, "web-1",
              HERE("10.0.0.1") ", " AT("10.0.0.2", "node-2", "ready: true") ", " LEAVING(
                  "10.0.0.3") ", " AT("10.0.0.4", "node-1", "ready: false"));
    assert_health(&planning, "30256 v4=1 v6=0, told 1 0");

    /* The same address with another port, in another slice. */
    put(&planning, "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
                   "metadata: {name: web-2, namespace: d,\n"
                   "  labels: {kubernetes.io/service-name: web}}\n"
                   "addressType: IPv4\nports: [{name: h, port: 9090}]\n"
                   "endpoints: [" HERE("10.0.0.1") ", " HERE("10.0.0.5") "]\n");
    assert_health(&planning, "30256 v4=2 v6=0, told 2 0");

    put_slice(&planning, "web-3", HERE("fd00::1") ", " HERE("fd00::2") ", " HERE("fd00::3"));
    assert_health(&planning, "30256 v4=2 v6=3, told 2 3");

    /* All leave: they serve still, and count no more. */
    put_slice(&planning, "web-3", LEAVING("fd00::1"));
    assert_health(&planning, "30256 v4=2 v6=0, told 2 0");
}

static void one_family_speaks_for_both(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_served(&planning, "web", "LoadBalancer", "\"fd00:96::1\"", LOCAL, "");
    put_slice(&planning, "web-1", HERE("fd00::1") ", " HERE("fd00::2"));
    assert_health(&planning, "30256 v4=-1 v6=2, told 2 2");
}

static void of_all_rows(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_served(&planning, "web", "LoadBalancer", "10.96.0.1", LOCAL, "");
    put_served(&planning, "plain", "ClusterIP", "10.96.0.2", "ports: [{name: h, port: 80}]", "");
    put_served(&planning, "app", "LoadBalancer", "10.96.0.3", LOCAL, "");
    struct sorted rows;
    assert_int_equal(plan_nat(&planning.facts, &rows, &planning.faults), 0);
    assert_int_equal(rows.count, 3);

    int failures = 0;
    for (int n = 0;; n++) {
        nat_health_list list = { 0 };
        int r = with_heap(n, nat_health_of_rows(&rows, &list));
        failures += r < 0;
        assert_int_equal(list.count, r < 0 ? 0 : 2);
        if (r == 0) {
            assert_string_equal(list.items[0].name, "app");
            assert_string_equal(list.items[1].name, "web");
            assert_true(nat_health_cmp(&list.items[0], &list.items[1]) < 0);
        }
        vec_done(&list);
        if (!heap_missed)
            break;
    }
    assert_true(failures > 0);
    nat_rows_done(&rows);
}

static void where_they_are_served(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second;
        bool set, primary;
        const char *expected;
    } cases[] = {
        { NULL, NULL, false, true, "-" },
        { NULL, NULL, true, true, "192.0.2.1 fd00::1" },
        { "0.0.0.0/0", "::/0", true, false, "-" },
        { "192.0.2.16/28", NULL, true, false, "192.0.2.17 ::" },
        { "fd00::2/128", NULL, true, false, "0.0.0.0 fd00::2" },
        { "192.0.2.16/28", "::/0", true, true, "192.0.2.1 192.0.2.17 ::" },
        { "192.0.2.16/28", "fd00::2/128", true, false, "192.0.2.17 fd00::2" },
        { "10.0.0.0/8", "fd99::/16", true, false, "" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        put_node(
            &planning, "node-1", "",
            "{type: InternalIP, address: 192.0.2.1}, {type: ExternalIP, address: 192.0.2.17},"
            "{type: ExternalIP, address: 192.0.2.17}, {type: InternalIP, address: \"fd00::1\"},"
            "{type: InternalIP, address: \"fd00::2\"}");
        CONFIG.node_ports_set = cases[i].set;
        CONFIG.node_port_primary = cases[i].primary;
        if (cases[i].first)
            add_range(&CONFIG.node_port_addresses, cases[i].first);
        if (cases[i].second)
            add_range(&CONFIG.node_port_addresses, cases[i].second);

        ip_list list = { 0 };
        AUTOTEXT struct text out = { 0 };
        char buffer[IP_STRLEN];
        assert_int_equal(nat_health_addresses(&planning.facts, &list), 0);
        vec_each(const struct ip, ip, &list)
            text_addf(&out, "%s%s", out.length ? " " : "", ip_str(ip, buffer));
        assert_string_equal(text_str(&out), cases[i].expected);
        vec_done(&list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_some_services_have_one),
        cmocka_unit_test(ip_mode_proxy_has_one),
        cmocka_unit_test(foreign_services_have_none),
        cmocka_unit_test(ready_endpoints_of_this_node_count_once),
        cmocka_unit_test(one_family_speaks_for_both),
        cmocka_unit_test(of_all_rows),
        cmocka_unit_test(where_they_are_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
