// SPDX-License-Identifier: Apache-2.0
/* What Services have opened to the outside, who holds it, and what may be closed beside it. */
#include "plan/firewall/openings.h"

#include "nat_planning.h"
#include "plan/link_table.h"
#include "plan/routes/route_table.h"

#define PORT "ports: [{name: h, port: 80, nodePort: 30080}]"

static void begin(struct planning *planning)
{
    planning_begin(planning);
    add_range(&planning->config->services.external_ips, "203.0.113.0/24");
    put_node(planning, "node-1", "", "{type: InternalIP, address: 192.0.2.1}");
}

static void assert_openings(struct planning *planning, const char *expected)
{
    AUTOVEC opening_list list = { 0 };
    AUTOTEXT struct text out = { 0 };
    char buffer[IP_STRLEN];
    const struct object *web = store_get(planning->store, KIND_SERVICE, "d", "web");
    assert_int_equal(plan_openings(&planning->facts, to_service(web), &list), 0);
    vec_each(const struct opening, opening, &list)
        text_addf(&out, "%s%s:%u/%s", out.length ? ", " : "", ip_str(&opening->ip, buffer),
                  opening->port, protocol_name(opening->protocol));
    assert_string_equal(text_str(&out), expected);
}

static void what_is_open(void **state)
{
    (void)state;
    static const struct {
        const char *type, *cluster_ips, *spec, *ingress;
        bool node_ports;
        const char *expected;
    } cases[] = {
        { "ClusterIP", "10.96.0.1", PORT, "", true, "" },
        { "ClusterIP", "10.96.0.1", "externalIPs: [203.0.113.1, 198.51.100.9], " PORT, "", false,
          "203.0.113.1:80/TCP" },
        { "NodePort", "10.96.0.1", PORT, "", false, "" },
        { "NodePort", "10.96.0.1", PORT, "", true, "192.0.2.1:30080/TCP" },
        { "LoadBalancer", "10.96.0.1", PORT, "{ip: 198.51.100.1}", false, "198.51.100.1:80/TCP" },
        { "LoadBalancer", "10.96.0.1", PORT, "{ip: 198.51.100.1, ipMode: Proxy}", false, "" },
        { "LoadBalancer", "10.96.0.1, \"fd00:96::1\"",
          "ports: [{name: a, port: 53, protocol: UDP}, {name: b, port: 53}]",
          "{ip: 198.51.100.1}, {ip: \"2001:db8::1\"}", false,
          "198.51.100.1:53/TCP, 198.51.100.1:53/UDP, 2001:db8::1:53/TCP, 2001:db8::1:53/UDP" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        begin(&planning);
        planning.config->services.firewall.node_ports = cases[i].node_ports;
        put_served(&planning, "web", cases[i].type, cases[i].cluster_ips, cases[i].spec,
                   cases[i].ingress);
        assert_openings(&planning, cases[i].expected);
    }
}

/* A Service of another proxy is that proxy's to open. */
static void others_services_are_not_opened(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put(&planning, "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: d, labels: "
                   "{service.kubernetes.io/service-proxy-name: theirs}}\n"
                   "spec: {type: LoadBalancer, clusterIPs: [10.96.0.1], " PORT "}\n"
                   "status: {loadBalancer: {ingress: [{ip: 198.51.100.1}]}}\n");
    assert_openings(&planning, "");
}

static struct ip ip_of(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

static void put_address(struct sorted *prefixes, struct sorted *addresses, const char *text,
                        uint8_t length, bool deprecated)
{
    const struct ip ip = ip_of(text);
    const struct prefix host = ip_host_prefix(&ip);
    const struct link_address address = {
        .ifindex = 2, .ip = ip, .length = length, .deprecated = deprecated
    };
    assert_int_equal(sorted_put(prefixes, &host), 0);
    assert_int_equal(sorted_put(addresses, &address), 0);
}

static void addresses_of_this_node(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    AUTOSORTED struct sorted prefixes = SORTED(struct prefix, prefix_item_cmp);
    AUTOSORTED struct sorted addresses = SORTED(struct link_address, link_address_cmp);
    AUTOSORTED struct sorted links = SORTED(struct link, link_cmp);
    AUTOSORTED struct sorted routes = SORTED(struct route, route_cmp);
    const struct link eth0 = { .ifindex = 2, .name = "eth0" };
    struct route route = { .table = 119, .protocol = ROUTE_PROTOCOL_SERVICE };
    static const struct {
        const char *address;
        bool held, may_close;
    } cases[] = {
        { "192.0.2.1", true, false },    /* the Node's */
        { "192.0.2.7", true, false },    /* an interface's own */
        { "198.51.100.1", true, true },  /* kept for a while */
        { "198.51.100.2", true, true },  /* announced */
        { "198.51.100.3", false, true }, /* served only */
        { "198.51.100.4", false, true }, /* a block's route is no announcement */
        { "198.51.100.9", true, false }, /* a host address that is nobody's but this node's */
    };
    begin(&planning);
    assert_int_equal(sorted_put(&links, &eth0), 0);
    put_address(&prefixes, &addresses, "192.0.2.1", 24, false);
    put_address(&prefixes, &addresses, "192.0.2.7", 24, false);
    put_address(&prefixes, &addresses, "198.51.100.1", 32, true);
    put_address(&prefixes, &addresses, "198.51.100.9", 32, false);
    assert_int_equal(prefix_parse("198.51.100.2/32", &route.prefix), 0);
    assert_int_equal(sorted_put(&routes, &route), 0);
    assert_int_equal(prefix_parse("198.51.100.4/32", &route.prefix), 0);
    route.protocol = ROUTE_PROTOCOL_BLOCK;
    assert_int_equal(sorted_put(&routes, &route), 0);
    planning.facts.local_prefixes = &prefixes;
    planning.facts.link_addresses = &addresses;
    planning.facts.links = &links;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct ip ip = ip_of(cases[i].address);
        assert_int_equal(opening_is_held(&planning.facts, &routes, &ip), cases[i].held);
        assert_int_equal(opening_may_close(&planning.facts, &ip), cases[i].may_close);
    }
}

static void push(opening_list *list, const char *address, uint16_t port)
{
    const struct opening opening = { ip_of(address), PROTOCOL_TCP, port };
    assert_int_equal(vec_push(list, opening), 0);
}

static void differences(void **state)
{
    (void)state;
    AUTOVEC opening_list there = { 0 }, wanted = { 0 }, come = { 0 }, go = { 0 };
    AUTOVEC ip_list addresses = { 0 };
    push(&there, "192.0.2.1", 80);
    push(&there, "192.0.2.1", 81);
    push(&there, "2001:db8::1", 80);
    push(&wanted, "192.0.2.1", 80);
    push(&wanted, "192.0.2.2", 80);
    push(&wanted, "2001:db8::1", 80);
    push(&wanted, "2001:db8::1", 82);
    assert_int_equal(openings_diff(&there, &wanted, &come, &go), 0);
    assert_int_equal(come.count, 2);
    assert_int_equal(come.items[1].port, 82);
    assert_int_equal(go.count, 1);
    assert_int_equal(go.items[0].port, 81);
    assert_int_equal(openings_addresses(&wanted, &addresses), 0);
    assert_int_equal(addresses.count, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_open),
        cmocka_unit_test(others_services_are_not_opened),
        cmocka_unit_test(addresses_of_this_node),
        cmocka_unit_test(differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
