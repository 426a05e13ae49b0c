// SPDX-License-Identifier: Apache-2.0
/* Whose ClusterIP an address is: ours to refuse free ports of, another proxy's, or an older one's.
 */
#include "nat_planning.h"

#define THEIRS "labels: {service.kubernetes.io/service-proxy-name: theirs}"
#define PORT   "ports: [{name: h, port: 80}]"

static void put_aged(struct planning *planning, const char *name, int minute, const char *metadata,
                     const char *spec)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: d,\n"
                    "  creationTimestamp: \"2026-11-20T07:%02d:00Z\"%s%s}\nspec: {%s}\n"
                    "status: {loadBalancer: {ingress: [{ip: 198.51.100.1}]}}\n",
                    name, minute, *metadata ? ", " : "", metadata, spec);
    put(planning, yaml);
}

static void add_ips(struct text *out, const ip_list *list)
{
    char buffer[IP_STRLEN];
    vec_each(const struct ip, ip, list)
        text_addf(out, " %s", ip_str(ip, buffer));
}

/* "IPv4 10.96.0.1; foreign": the families of a row with their ClusterIPs; "" without a row. */
static void assert_owned(struct planning *planning, const char *name, const char *expected)
{
    AUTONAT struct nat_row *row = nat_of(planning, name);
    AUTOTEXT struct text out = { 0 };
    for (uint32_t i = 0; row && i < row->family_count; i++) {
        text_addf(&out, "%sIPv%u", i ? ", " : "", row->families[i].family);
        add_ips(&out, &row->families[i].cluster_ips);
    }
    if (row && row->foreign.count) {
        text_add(&out, "foreign");
        add_ips(&out, &row->foreign);
    }
    assert_string_equal(text_str(&out), expected);
}

static void each_family_has_its_own(void **state)
{
    (void)state;
    static const struct {
        const char *cluster_ips, *owned;
    } cases[] = {
        { "10.96.0.1", "IPv4 10.96.0.1" },
        { "\"fd00:96::1\", 10.96.0.1", "IPv4 10.96.0.1, IPv6 fd00:96::1" },
        { "10.96.0.2, 10.96.0.1", "IPv4 10.96.0.1 10.96.0.2" },
        { "None", "" },
        { "127.0.0.1", "" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        put_served(&planning, "web", "ClusterIP", cases[i].cluster_ips, PORT, "");
        assert_owned(&planning, "web", cases[i].owned);
    }
}

/* Free ports are refused on a ClusterIP only: other addresses may be anyone's. */
static void other_addresses_are_not_among_them(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    add_range(&planning.config->services.external_ips, "203.0.113.0/24");
    put_served(&planning, "web", "LoadBalancer", "10.96.0.1", "externalIPs: [203.0.113.1], " PORT,
               "{ip: 198.51.100.1}");
    assert_owned(&planning, "web", "IPv4 10.96.0.1");
}

static void a_service_without_frontends_keeps_its_cluster_ip(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    /* Its port went to an older Service's load balancer address. */
    put_aged(&planning, "old", 1, "",
             "type: LoadBalancer, clusterIPs: [10.96.0.9], ports: [{name: h, port: 80}]");
    put_aged(&planning, "new", 2, "", "clusterIPs: [198.51.100.1], ports: [{name: h, port: 80}]");
    assert_owned(&planning, "new", "IPv4 198.51.100.1");
    assert_frontends(&planning, "new", "");
    struct sorted rows;
    assert_int_equal(plan_nat(&planning.facts, &rows, &planning.faults), 0);
    assert_int_equal(rows.count, 2);
    nat_rows_done(&rows);
}

static void the_older_service_has_the_cluster_ip(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_aged(&planning, "old", 1, "", "clusterIPs: [10.96.0.1], " PORT);
    put_aged(&planning, "new", 2, "", "clusterIPs: [10.96.0.1], ports: [{name: g, port: 81}]");
    put_aged(&planning, "last", 3, "", "clusterIPs: [10.96.0.1], " PORT);
    assert_owned(&planning, "old", "IPv4 10.96.0.1");
    assert_owned(&planning, "new", "IPv4");
    assert_frontends(&planning, "new", "10.96.0.1:81/TCP clusterIP");
    assert_owned(&planning, "last", "");
    /* Whoever is no Service of any proxy has nothing. */
    put_aged(&planning, "old", 1, "", "type: ExternalName, clusterIPs: [10.96.0.1], " PORT);
    assert_owned(&planning, "old", "");
    assert_owned(&planning, "new", "IPv4 10.96.0.1");
}

static void other_proxies_cluster_ips_are_foreign(void **state)
{
    (void)state;
    static const char *const labels[] = {
        THEIRS,
        "labels: {service.kubernetes.io/service-proxy-name: \"\"}",
        "labels: {service.kubernetes.io/headless: \"\"}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        put_aged(&planning, "web", 1, labels[i],
                 "type: LoadBalancer, externalIPs: [203.0.113.1],\n"
                 "clusterIPs: [\"fd00:96::1\", 10.96.0.1], " PORT);
        assert_owned(&planning, "web", "foreign 10.96.0.1 fd00:96::1");
        put_aged(&planning, "web", 1, labels[i], "clusterIP: None, " PORT);
        assert_owned(&planning, "web", "");
        put_aged(&planning, "web", 1, labels[i], "type: ExternalName, clusterIPs: [10.96.0.1]");
        assert_owned(&planning, "web", "");
        put_aged(&planning, "web", 1, labels[i], "clusterIPs: [169.254.0.1], " PORT);
        assert_owned(&planning, "web", "");
    }
}

static void ours_and_theirs_go_by_age(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_aged(&planning, "ours", 2, "", "clusterIPs: [10.96.0.1], " PORT);
    put_aged(&planning, "theirs", 1, THEIRS, "clusterIPs: [10.96.0.1, \"fd00:96::1\"], " PORT);
    assert_owned(&planning, "theirs", "foreign 10.96.0.1 fd00:96::1");
    assert_owned(&planning, "ours", "IPv4");
    put_aged(&planning, "theirs", 3, THEIRS, "clusterIPs: [10.96.0.1, \"fd00:96::1\"], " PORT);
    assert_owned(&planning, "theirs", "foreign fd00:96::1");
    assert_owned(&planning, "ours", "IPv4 10.96.0.1");
    /* The name configured as ours makes it so. */
    free(planning.config->services.proxy_name);
    planning.config->services.proxy_name = strdup("theirs");
    assert_owned(&planning, "theirs", "IPv6 fd00:96::1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_family_has_its_own),
        cmocka_unit_test(other_addresses_are_not_among_them),
        cmocka_unit_test(a_service_without_frontends_keeps_its_cluster_ip),
        cmocka_unit_test(the_older_service_has_the_cluster_ip),
        cmocka_unit_test(other_proxies_cluster_ips_are_foreign),
        cmocka_unit_test(ours_and_theirs_go_by_age),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
