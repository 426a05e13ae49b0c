// SPDX-License-Identifier: Apache-2.0
/* With NAT on: what is led to svc0, from which source, and by which rules. */
#include <linux/rtnetlink.h>

#include "failing_heap.h"
#include "nat_planning.h"

#define VIP  "198.51.100.1"
#define VIP6 "2001:db8::1"

enum { SVC0 = 7 };

static struct nat_svc0 the_way(void)
{
    struct nat_svc0 path = { .ifindex = SVC0 };
    assert_int_equal(ip_parse("192.0.2.1", &path.v4), 0);
    assert_int_equal(ip_parse("fd02::1", &path.v6), 0);
    return path;
}

/* The service "d/NAME" with port 80. */
static void put_typed(struct planning *planning, const char *name, const char *type,
                      const char *cluster_ip, const char *more, const char *ingress)
{
    AUTOFREE char *spec = text_format("ports: [{port: 80}]%s%s", *more ? ", " : "", more);
    put_served(planning, name, type, cluster_ip, spec, ingress);
}

/*
 * What guards or leads, and the rules, as they are planned, a line each, then the faults. A route
 * of main has its table before it. Every route is also what is wanted in its slot.
 */
static char *guards(struct planning *planning)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(route_plan_done) struct route_plan plan;
    struct text out = { 0 };
    route_list routes;
    rule_list rules;
    char line[ROUTE_STRLEN];
    assert_int_equal(plan_routes(&planning->inputs, &plan, &faults), 0);
    assert_int_equal(plan_route_list(planning->config, &plan, &routes), 0);
    assert_int_equal(plan_rule_list(&plan, &rules), 0);
    vec_each(const struct route, route, &routes) {
        struct route wanted;
        assert_true(plan_wanted_route(planning->config, &plan, route, &wanted));
        assert_int_equal(route_cmp(&wanted, route), 0);
        if (route->protocol == ROUTE_PROTOCOL_GUARD)
            text_addf(&out, "%s%s\n", route->table == ROUTE_TABLE_MAIN ? "main " : "",
                      route_str(route, line));
    }
    vec_each(const struct rule, rule, &rules)
        text_addf(&out, "%s\n", rule_str(rule, line));
    vec_each(const struct fault, fault, &faults.list)
        text_addf(&out, "%s: %s\n", fault->place, fault->message);
    vec_done(&routes);
    vec_done(&rules);
    text_add(&out, "");
    return text_take(&out);
}

static void assert_guards(struct planning *planning, const char *expected)
{
    AUTOFREE char *got = guards(planning);
    assert_string_equal(got, expected);
}

static void guarded_addresses_lead_to_svc0(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_typed(&planning, "web", "LoadBalancer", "10.96.0.1", "",
              "{ip: " VIP "}, {ip: \"" VIP6 "\"}");
    assert_guards(&planning, "unreachable 198.51.100.1/32 proto 33\n"
                             "unreachable 2001:db8::1/128 proto 33\n"
                             "1990: not from all iif lo lookup 120 proto 33 (IPv4)\n"
                             "1990: not from all iif lo lookup 120 proto 33 (IPv6)\n");
    struct nat_svc0 path = the_way();
    planning.facts.nat_svc0 = &path;
    assert_guards(&planning, "main 10.96.0.1/32 dev if7 proto 33 src 192.0.2.1\n"
                             "main 198.51.100.1/32 dev if7 proto 33 src 192.0.2.1\n"
                             "main 2001:db8::1/128 dev if7 proto 33 src fd02::1 metric 1\n");
    path.v4 = path.v6 = (struct ip){ 0 };
    assert_guards(&planning, "main 10.96.0.1/32 dev if7 proto 33\n"
                             "main 198.51.100.1/32 dev if7 proto 33\n"
                             "main 2001:db8::1/128 dev if7 proto 33 metric 1\n");
}

/* Where somebody has rules, one of them might pass main by. */
static void other_rules_are_preceded(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    struct nat_svc0 path = the_way();
    planning.facts.nat_svc0 = &path;
    planning.facts.other_rules = true;
    assert_guards(&planning, "");
    put_typed(&planning, "web", "LoadBalancer", "10.96.0.1", "", "{ip: \"" VIP6 "\"}");
    assert_guards(&planning, "10.96.0.1/32 dev if7 proto 33 src 192.0.2.1\n"
                             "2001:db8::1/128 dev if7 proto 33 src fd02::1\n"
                             "1990: from all lookup 120 proto 33 (IPv4)\n"
                             "1990: from all lookup 120 proto 33 (IPv6)\n");
}

/* One question with two causes: rules that somebody has, addresses that somebody else serves. */
static void the_lead_follows_rules_and_foreign_addresses(void **state)
{
    (void)state;
    static const struct {
        bool other_rules;
        size_t foreign;
        bool by_rule;
    } cases[] = { { false, 0, false }, { true, 0, true }, { false, 1, true }, { true, 2, true } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct node_facts facts = { .other_rules = cases[i].other_rules };
        const struct route_plan plan = { .foreign = cases[i].foreign };
        assert_int_equal(plan_svc0_route(&facts, &plan), cases[i].by_rule);
    }
}

/* What another proxy serves is left to the tables behind ours; main would be the last. */
static void an_address_of_another_proxy_is_left_out(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    struct nat_svc0 path = the_way();
    planning.facts.nat_svc0 = &path;
    add_range(&planning.config->services.service_cidrs, "10.96.0.0/12");
    put(&planning, "apiVersion: v1\nkind: Service\nmetadata: {name: other, namespace: d, labels:\n"
                   "  {service.kubernetes.io/service-proxy-name: x}}\n"
                   "spec: {clusterIPs: [10.96.0.2], ports: [{port: 80}]}\n");
    assert_guards(&planning, "10.96.0.0/12 dev if7 proto 33 src 192.0.2.1\n"
                             "throw 10.96.0.2/32 proto 33\n"
                             "1990: from all lookup 120 proto 33 (IPv4)\n");
}

#define NET "main 10.96.0.0/12 dev if7 proto 33 src 192.0.2.1\n"
#define LED "main 198.51.100.1/32 dev if7 proto 33 src 192.0.2.1\n"

/* Nor is what another load balancer has, which answers on other ports, too. */
static void what_others_have_is_not_led(void **state)
{
    (void)state;
    static const struct {
        const char *type, *more, *ingress, *expected;
    } cases[] = {
        { "LoadBalancer", "loadBalancerClass: c", "{ip: " VIP "}", NET },
        /* What NAT does not serve: */
        { "LoadBalancer", "externalIPs: [192.0.2.77]", "", NET },
        { "LoadBalancer", "", "{ip: " VIP ", ipMode: Proxy}", NET },
        { "ClusterIP", "", "{ip: " VIP "}", NET },
        { "LoadBalancer", "", "{ip: 127.0.0.9}", NET },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        struct nat_svc0 path = the_way();
        planning_begin(&planning);
        add_range(&planning.config->services.service_cidrs, "10.96.0.0/12");
        put_typed(&planning, "web", cases[i].type, "10.96.0.1", cases[i].more, cases[i].ingress);
        assert_guards(&planning, "");
        planning.facts.nat_svc0 = &path;
        assert_guards(&planning, cases[i].expected);
    }
}

static void an_address_of_two_classes_is_ours(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    struct nat_svc0 path = the_way();
    planning_begin(&planning);
    planning.facts.nat_svc0 = &path;
    add_range(&planning.config->services.service_cidrs, "10.96.0.0/12");
    put_served(&planning, "a", "LoadBalancer", "10.96.0.1",
               "ports: [{port: 80}], loadBalancerClass: c", "{ip: " VIP "}");
    assert_guards(&planning, NET);
    put_served(&planning, "b", "LoadBalancer", "10.96.0.2", "ports: [{port: 80}]", "{ip: " VIP "}");
    AUTOFREE char *taken = guards(&planning);
    assert_null(strstr(taken, VIP "/32"));
    put_served(&planning, "b", "LoadBalancer", "10.96.0.2", "ports: [{port: 81}]", "{ip: " VIP "}");
    assert_guards(&planning, NET LED);
}

/* A DNS cache on the node has the cluster's DNS address; kube-proxy's IPVS mode has them all. */
static void single_addresses_do_not_move_the_lead(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    struct nat_svc0 path = the_way();
    struct sorted prefixes = SORTED(struct prefix, (compare_fn)prefix_cmp);
    struct prefix local;
    planning_begin(&planning);
    planning.facts.nat_svc0 = &path;
    planning.facts.local_prefixes = &prefixes;
    add_range(&planning.config->services.service_cidrs, "10.96.0.0/12");
    put_typed(&planning, "dns", "ClusterIP", "10.96.0.10", "", "");
    assert_int_equal(prefix_parse("10.96.0.10/32", &local), 0);
    assert_int_equal(sorted_put(&prefixes, &local), 0);
    assert_guards(&planning, NET);
    sorted_done(&prefixes);
}

static void drained_addresses_stay_led(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    struct nat_svc0 path = the_way();
    planning.facts.nat_svc0 = &path;
    put_typed(&planning, "web", "LoadBalancer", "None", "", "{ip: " VIP "}");
    assert_guards(&planning, ""); /* headless: NAT serves nothing of it */
    add_range(&planning.config->services.service_cidrs, "10.96.0.0/12");
    put_typed(&planning, "web", "LoadBalancer", "10.96.0.1", "", "{ip: " VIP "}");
    assert_guards(&planning, NET LED);
    planning.inputs.standing = STANDING_WITHDRAWN;
    assert_guards(&planning, NET LED);
}

static void cluster_ips_go_by_their_networks(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    struct nat_svc0 path = the_way();
    planning.facts.nat_svc0 = &path;
    add_range(&planning.config->services.service_cidrs, "10.96.0.0/12");
    put_typed(&planning, "in", "ClusterIP", "10.96.0.1", "", "");
    put_typed(&planning, "out", "ClusterIP", "10.200.0.1", "", "");
    put(&planning, "apiVersion: v1\nkind: Service\nmetadata: {name: other, namespace: d, labels:\n"
                   "  {service.kubernetes.io/service-proxy-name: x}}\n"
                   "spec: {clusterIPs: [10.200.0.2], ports: [{port: 80}]}\n");
    assert_guards(&planning, "main 10.96.0.0/12 dev if7 proto 33 src 192.0.2.1\n"
                             "main 10.200.0.1/32 dev if7 proto 33 src 192.0.2.1\n");
    /* One that is announced is guarded by itself. */
    planning.config->services.advertise |= ADVERTISE_CLUSTER;
    assert_guards(&planning, "main 10.96.0.0/12 dev if7 proto 33 src 192.0.2.1\n"
                             "main 10.96.0.1/32 dev if7 proto 33 src 192.0.2.1\n"
                             "main 10.200.0.1/32 dev if7 proto 33 src 192.0.2.1\n");
    planning.facts.nat_svc0 = NULL;
    assert_guards(&planning, "unreachable 10.96.0.1/32 proto 33\n"
                             "unreachable 10.200.0.1/32 proto 33\n"
                             "1990: not from all iif lo lookup 120 proto 33 (IPv4)\n");
}

static void real_addresses_are_never_led_away(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    struct nat_svc0 path = the_way();
    planning.facts.nat_svc0 = &path;
    struct sorted prefixes = SORTED(struct prefix, (compare_fn)prefix_cmp);
    struct prefix local;
    assert_int_equal(prefix_parse("10.1.0.0/16", &local), 0);
    assert_int_equal(sorted_put(&prefixes, &local), 0);
    planning.facts.local_prefixes = planning.facts.local_networks = &prefixes;
    add_range(&planning.config->services.service_cidrs, "10.0.0.0/8");
    put_typed(&planning, "web", "LoadBalancer", "10.96.0.1", "", "{ip: 10.1.0.9}");
    put_typed(&planning, "x", "ClusterIP", "10.1.0.7", "", "");
    const char *expected =
        "main 10.96.0.1/32 dev if7 proto 33 src 192.0.2.1\n"
        "Service d/web: 10.1.0.9 is not announced: this node is connected to its network: "
        "10.1.0.0/16\n"
        "services.serviceCIDRs: 10.0.0.0/8 overlaps this node's network 10.1.0.0/16: unallocated "
        "addresses in it are not refused to the node itself\n";
    assert_guards(&planning, expected);
    vec_clear(&planning.config->services.service_cidrs);
    add_range(&planning.config->services.service_cidrs, "10.1.2.0/24");
    AUTOFREE char *got = guards(&planning);
    assert_non_null(strstr(got, "10.1.2.0/24 overlaps this node's network 10.1.0.0/16"));
    sorted_done(&prefixes);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    struct nat_svc0 path = the_way();
    planning.facts.nat_svc0 = &path;
    add_range(&planning.config->services.service_cidrs, "10.96.0.0/12");
    struct sorted rows;
    assert_int_equal(with_heap(0, plan_nets(&planning.facts, &rows, &planning.faults)), -ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guarded_addresses_lead_to_svc0),
        cmocka_unit_test(other_rules_are_preceded),
        cmocka_unit_test(the_lead_follows_rules_and_foreign_addresses),
        cmocka_unit_test(an_address_of_another_proxy_is_left_out),
        cmocka_unit_test(what_others_have_is_not_led),
        cmocka_unit_test(an_address_of_two_classes_is_ours),
        cmocka_unit_test(single_addresses_do_not_move_the_lead),
        cmocka_unit_test(drained_addresses_stay_led),
        cmocka_unit_test(cluster_ips_go_by_their_networks),
        cmocka_unit_test(real_addresses_are_never_led_away),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
