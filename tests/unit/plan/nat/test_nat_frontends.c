// SPDX-License-Identifier: Apache-2.0
/* What is served, on which addresses, and whose a port is where Services meet. */
#include "nat_planning.h"
#include "plan/link_table.h"

#define PORT   "ports: [{name: h, port: 80, nodePort: 30080}]"
#define CONFIG planning.config->services

static void begin(struct planning *planning)
{
    planning_begin(planning);
    add_range(&planning->config->services.external_ips, "203.0.113.0/24");
    add_range(&planning->config->services.external_ips, "192.0.2.0/24");
    add_range(&planning->config->services.service_cidrs, "10.96.0.0/12");
    put_node(planning, "node-1", "",
             "{type: ExternalIP, address: 198.18.0.1}, {type: InternalIP, address: 192.0.2.1},\n"
             "{type: InternalIP, address: 192.0.2.17}, {type: InternalIP, address: \"fd00::1\"},\n"
             "{type: InternalIP, address: 192.0.2.1}, {type: InternalIP, address: \"fd00::2\"}");
}

static void what_is_served(void **state)
{
    (void)state;
    static const struct {
        const char *type, *cluster_ips, *spec, *ingress, *expected;
    } cases[] = {
        { "ClusterIP", "10.96.0.1", PORT, "", "10.96.0.1:80/TCP clusterIP" },
        { "ClusterIP", "None", PORT, "", "" },
        { "ClusterIP", "", "externalIPs: [203.0.113.1], " PORT, "", "" },
        { "ExternalName", "10.96.0.1", "externalName: a.example, " PORT, "", "" },
        { "NodePort", "10.96.0.1", PORT, "{ip: 198.51.100.1}",
          "10.96.0.1:80/TCP clusterIP, 192.0.2.1:30080/TCP nodePort" },
        { "LoadBalancer", "10.96.0.1", PORT, "{ip: 198.51.100.1}, {ip: 198.51.100.2}",
          "10.96.0.1:80/TCP clusterIP, 192.0.2.1:30080/TCP nodePort, "
          "198.51.100.1:80/TCP loadBalancer, 198.51.100.2:80/TCP loadBalancer" },
        { "LoadBalancer", "10.96.0.1", "ports: [{port: 80}]",
          "{ip: 198.51.100.1, ipMode: Proxy}, {hostname: a.example}, {ip: 198.51.100.2}",
          "10.96.0.1:80/TCP clusterIP, 198.51.100.2:80/TCP loadBalancer" },
        /* A family without a ClusterIP has nothing at all. */
        { "LoadBalancer", "\"fd00:96::1\"", PORT, "{ip: 198.51.100.1}, {ip: \"2001:db8::1\"}",
          "2001:db8::1:80/TCP loadBalancer, fd00::1:30080/TCP nodePort, "
          "fd00:96::1:80/TCP clusterIP" },
        { "LoadBalancer", "None", PORT, "{ip: 198.51.100.1}", "" },
        { "ClusterIP", "10.96.0.1",
          "externalIPs: [203.0.113.1, 198.51.100.1, 10.96.0.9], ports: [{port: 80}]", "",
          "10.96.0.1:80/TCP clusterIP, 203.0.113.1:80/TCP externalIP" },
        { "ClusterIP", "10.96.0.1",
          "ports: [{name: a, port: 443}, {name: b, port: 53, protocol: UDP},\n"
          "  {name: c, port: 53}, {name: d, port: 53, protocol: SCTP}]",
          "",
          "10.96.0.1:53/TCP clusterIP, 10.96.0.1:443/TCP clusterIP, 10.96.0.1:53/UDP clusterIP, "
          "10.96.0.1:53/SCTP clusterIP" },
        /* One Service, one address in two fields. */
        { "LoadBalancer", "10.96.0.1", "externalIPs: [203.0.113.1], ports: [{port: 80}]",
          "{ip: 203.0.113.1}, {ip: 10.96.0.1}",
          "10.96.0.1:80/TCP clusterIP, 203.0.113.1:80/TCP loadBalancer" },
        { "NodePort", "10.96.0.1",
          "ports: [{name: a, port: 80, nodePort: 30080}, {name: b, port: 81, nodePort: 30080}]", "",
          "10.96.0.1:80/TCP clusterIP, 10.96.0.1:81/TCP clusterIP, 192.0.2.1:30080/TCP nodePort" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        begin(&planning);
        put_served(&planning, "web", cases[i].type, cases[i].cluster_ips, cases[i].spec,
                   cases[i].ingress);
        assert_frontends(&planning, "web", cases[i].expected);
        assert_int_equal(planning.faults.list.count, 0);
    }
}

static void other_proxies_services_are_not_ours(void **state)
{
    (void)state;
    static const char *const labels[] = {
        "service.kubernetes.io/service-proxy-name: theirs",
        "service.kubernetes.io/service-proxy-name: \"\"",
        "service.kubernetes.io/headless: \"\"",
    };
    for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
        AUTOPLANNING struct planning planning;
        begin(&planning);
        AUTOFREE char *yaml =
            text_format("apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: d, "
                        "labels: {%s}}\nspec: {type: NodePort, clusterIPs: [10.96.0.1], " PORT "}",
                        labels[i]);
        put(&planning, yaml);
        assert_frontends(&planning, "web", "");
    }
}

static void ranges_gate_load_balancer_addresses(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    add_range(&CONFIG.load_balancer_ips, "198.51.100.0/24");
    put_served(&planning, "web", "LoadBalancer", "10.96.0.1",
               "loadBalancerClass: example.com/theirs, ports: [{port: 80}]",
               "{ip: 198.51.100.1}, {ip: 203.0.113.1}");
    assert_frontends(&planning, "web",
                     "10.96.0.1:80/TCP clusterIP, 198.51.100.1:80/TCP loadBalancer");
}

/* Of default/web, parted by blanks. */
static void assert_node_port_addresses(struct planning *planning, const char *four, const char *six)
{
    AUTONAT struct nat_row *row = nat_of(planning, "web");
    for (uint32_t i = 0; i < 2; i++) {
        AUTOTEXT struct text out = { 0 };
        char buffer[IP_STRLEN];
        vec_each(const struct nat_frontend, frontend, &row->families[i].frontends) {
            if (frontend->kind == NAT_FRONTEND_NODE_PORT)
                text_addf(&out, "%s%s", out.length ? " " : "", ip_str(&frontend->address, buffer));
        }
        assert_string_equal(text_str(&out), i == 0 ? four : six);
    }
}

static void addresses_of_node_ports(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second;
        bool primary;
        const char *four, *six;
    } cases[] = {
        { NULL, NULL, true, "192.0.2.1", "fd00::1" },
        { "192.0.2.16/28", NULL, false, "192.0.2.17", "fd00::1 fd00::2" },
        { "192.0.2.16/28", "198.18.0.0/15", false, "192.0.2.17 198.18.0.1", "fd00::1 fd00::2" },
        { "192.0.2.16/28", "fd00::2/128", false, "192.0.2.17", "fd00::2" },
        { "192.0.2.16/28", "0.0.0.0/0", false, "192.0.2.1 192.0.2.17 198.18.0.1",
          "fd00::1 fd00::2" },
        { "fd00::2/128", NULL, false, "192.0.2.1 192.0.2.17 198.18.0.1", "fd00::2" },
        { "127.0.0.0/8", "::1/128", false, "", "" },
        { "198.18.0.0/15", NULL, true, "192.0.2.1 198.18.0.1", "fd00::1" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        begin(&planning);
        CONFIG.node_port_primary = cases[i].primary;
        if (cases[i].first)
            add_range(&CONFIG.node_port_addresses, cases[i].first);
        if (cases[i].second)
            add_range(&CONFIG.node_port_addresses, cases[i].second);
        put_served(&planning, "web", "NodePort", "10.96.0.1, \"fd00:96::1\"", PORT, "");
        assert_node_port_addresses(&planning, cases[i].four, cases[i].six);
    }
}

static void without_its_node_there_are_no_node_ports(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_served(&planning, "web", "NodePort", "10.96.0.1", PORT, "");
    put_node(&planning, "node-2", "", "{type: InternalIP, address: 192.0.2.3}");
    assert_true(store_remove(planning.store, "t", KIND_NODE, "", "node-1") == 1);
    assert_frontends(&planning, "web", "10.96.0.1:80/TCP clusterIP");
}

static void the_default_source_stands_in_for_a_primary_address(void **state)
{
    (void)state;
    static const struct {
        const char *node, *range; /* the Node's addresses; NULL: no Node */
        bool primary;
        const char *expected;
    } cases[] = {
        { NULL, NULL, true, "198.51.100.9" },
        { "", NULL, true, "198.51.100.9" },
        { "{type: ExternalIP, address: 192.0.2.1}", NULL, true, "198.51.100.9" },
        { "{type: ExternalIP, address: 198.51.100.9}", NULL, true, "198.51.100.9" },
        { "{type: InternalIP, address: 192.0.2.1}", NULL, true, "192.0.2.1" },
        { NULL, "198.51.100.0/24", false, "198.51.100.9" },
        { NULL, "192.0.2.0/24", false, "" },
        { NULL, "fd00::/8", false, "198.51.100.9" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        ip_list found = { 0 };
        char buffer[IP_STRLEN];
        planning_begin(&planning);
        assert_int_equal(ip_parse("198.51.100.9", &planning.facts.default_source[0]), 0);
        CONFIG.node_port_primary = cases[i].primary;
        if (cases[i].range)
            add_range(&CONFIG.node_port_addresses, cases[i].range);
        if (cases[i].node)
            put_node(&planning, "node-1", "", cases[i].node);
        put_served(&planning, "web", "NodePort", "10.96.0.1, \"fd00:96::1\"", PORT, "");
        AUTONAT struct nat_row *row = nat_of(&planning, "web");
        vec_each(const struct nat_frontend, frontend, &row->families[0].frontends) {
            if (frontend->kind == NAT_FRONTEND_NODE_PORT)
                assert_int_equal(vec_push(&found, frontend->address), 0);
        }
        assert_int_equal(row->families[1].frontends.count, 1);
        assert_int_equal(found.count, *cases[i].expected != '\0');
        if (found.count)
            assert_string_equal(ip_str(&found.items[0], buffer), cases[i].expected);
        vec_done(&found);
    }
}

/* What its interfaces have, the Node object need not name. */
static void addresses_of_interfaces_serve_node_ports(void **state)
{
    (void)state;
    static const struct {
        const char *range; /* NULL: the primary address only */
        const char *four, *six;
    } cases[] = {
        { NULL, "192.0.2.1", "" },
        { "192.0.2.0/24", "192.0.2.1 192.0.2.9", "fd00::9" },
        { "198.51.100.0/24", "198.51.100.9", "fd00::9" },
        { "0.0.0.0/0", "192.0.2.1 192.0.2.9 198.51.100.9", "fd00::9" },
        { "fd00::/8", "192.0.2.1 192.0.2.9 198.51.100.9", "fd00::9" },
        { "10.0.0.0/8", "", "fd00::9" },
    };
    static const char *const texts[] = { "192.0.2.1", "192.0.2.9", "198.51.100.9", "fd00::9" };
    struct sorted addresses = SORTED(struct link_address, link_address_cmp);
    for (uint32_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct link_address address = { .ifindex = 2 + i / 2, .order = i };
        assert_int_equal(ip_parse(texts[i], &address.ip), 0);
        assert_int_equal(sorted_put(&addresses, &address), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        planning.facts.link_addresses = &addresses;
        put_node(&planning, "node-1", "", "{type: InternalIP, address: 192.0.2.1}");
        CONFIG.node_port_primary = !cases[i].range;
        if (cases[i].range)
            add_range(&CONFIG.node_port_addresses, cases[i].range);
        put_served(&planning, "web", "NodePort", "10.96.0.1, \"fd00:96::1\"", PORT, "");
        assert_node_port_addresses(&planning, cases[i].four, cases[i].six);
    }
    sorted_done(&addresses);
}

static void put_aged(struct planning *planning, const char *name, int minute, const char *spec,
                     const char *ingress)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: d, "
                    "creationTimestamp: \"2026-11-20T07:%02d:00Z\"}\nspec: {type: LoadBalancer, %s}"
                    "\nstatus: {loadBalancer: {ingress: [%s]}}\n",
                    name, minute, spec, ingress);
    put(planning, yaml);
}

static void the_older_service_has_the_port(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_aged(&planning, "old", 1, "clusterIPs: [10.96.0.1], ports: [{name: a, port: 80}]",
             "{ip: 198.51.100.1}");
    put_aged(&planning, "new", 2,
             "clusterIPs: [10.96.0.2], ports: [{name: a, port: 80}, {name: b, port: 443}]",
             "{ip: 198.51.100.1}");
    assert_frontends(&planning, "new",
                     "10.96.0.2:80/TCP clusterIP, 10.96.0.2:443/TCP clusterIP, "
                     "198.51.100.1:443/TCP loadBalancer");
    /* The route planner tells that. */
    assert_int_equal(planning.faults.list.count, 0);
    /* One that serves nothing in the family keeps nobody out. */
    put_aged(&planning, "old", 1, "clusterIPs: [\"fd00:96::1\"], ports: [{name: a, port: 80}]",
             "{ip: 198.51.100.1}");
    assert_frontends(&planning, "new",
                     "10.96.0.2:80/TCP clusterIP, 10.96.0.2:443/TCP clusterIP, "
                     "198.51.100.1:80/TCP loadBalancer, 198.51.100.1:443/TCP loadBalancer");
}

static void the_older_service_has_the_node_port(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_aged(&planning, "old", 1, "clusterIPs: [10.96.0.1], " PORT, "");
    put_aged(&planning, "new", 2, "clusterIPs: [10.96.0.2], " PORT, "");
    put_aged(&planning, "udp", 3,
             "clusterIPs: [10.96.0.3], ports: [{port: 80, nodePort: 30080, protocol: UDP}]", "");
    assert_frontends(&planning, "old", "10.96.0.1:80/TCP clusterIP, 192.0.2.1:30080/TCP nodePort");
    assert_frontends(&planning, "udp", "10.96.0.3:80/UDP clusterIP, 192.0.2.1:30080/UDP nodePort");
    assert_int_equal(planning.faults.list.count, 0);
    assert_frontends(&planning, "new", "10.96.0.2:80/TCP clusterIP");
    assert_int_equal(planning.faults.list.count, 1);
    assert_string_equal(planning.faults.list.items[0].place, "Service d/new");
    assert_string_equal(planning.faults.list.items[0].message,
                        "node port 30080/TCP on 192.0.2.1 belongs to Service d/old");
    /* A Service that has the number but no node ports, or no part in the family. */
    put_served(&planning, "old", "ClusterIP", "10.96.0.1", PORT, "");
    assert_frontends(&planning, "new", "10.96.0.2:80/TCP clusterIP, 192.0.2.1:30080/TCP nodePort");
    put_aged(&planning, "old", 1, "clusterIPs: [\"fd00:96::1\"], " PORT, "");
    assert_frontends(&planning, "new", "10.96.0.2:80/TCP clusterIP, 192.0.2.1:30080/TCP nodePort");
}

/* However young it is; and only for the ports that it has. */
static void an_address_goes_before_a_node_port(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_aged(&planning, "old", 1,
             "clusterIPs: [10.96.0.1], ports: [{name: a, port: 80, nodePort: 443},\n"
             "  {name: b, port: 81, nodePort: 444}]",
             "");
    put_aged(&planning, "new", 2,
             "clusterIPs: [10.96.0.2], externalIPs: [192.0.2.1], ports: [{port: 443}]", "");
    assert_frontends(&planning, "old",
                     "10.96.0.1:80/TCP clusterIP, 10.96.0.1:81/TCP clusterIP, "
                     "192.0.2.1:444/TCP nodePort");
    assert_int_equal(planning.faults.list.count, 1);
    assert_string_equal(planning.faults.list.items[0].message,
                        "node port 443/TCP on 192.0.2.1 belongs to Service d/new");
    assert_frontends(&planning, "new", "10.96.0.2:443/TCP clusterIP, 192.0.2.1:443/TCP externalIP");
    assert_int_equal(planning.faults.list.count, 1);
}

static void rows_are_sorted(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_served(&planning, "b", "ClusterIP", "10.96.0.2", "ports: [{port: 80}]", "");
    put_served(&planning, "c", "ClusterIP", "None", "ports: [{port: 80}]", "");
    put_served(&planning, "a", "ClusterIP", "10.96.0.1", "ports: [{port: 80}]", "");
    struct sorted rows;
    assert_int_equal(plan_nat(&planning.facts, &rows, &planning.faults), 0);
    assert_int_equal(rows.count, 2);
    assert_string_equal((*(struct nat_row **)sorted_at(&rows, 0))->name, "a");
    assert_string_equal((*(struct nat_row **)sorted_at(&rows, 1))->name, "b");
    nat_rows_done(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_served),
        cmocka_unit_test(other_proxies_services_are_not_ours),
        cmocka_unit_test(ranges_gate_load_balancer_addresses),
        cmocka_unit_test(addresses_of_node_ports),
        cmocka_unit_test(addresses_of_interfaces_serve_node_ports),
        cmocka_unit_test(without_its_node_there_are_no_node_ports),
        cmocka_unit_test(the_default_source_stands_in_for_a_primary_address),
        cmocka_unit_test(the_older_service_has_the_port),
        cmocka_unit_test(the_older_service_has_the_node_port),
        cmocka_unit_test(an_address_goes_before_a_node_port),
        cmocka_unit_test(rows_are_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
