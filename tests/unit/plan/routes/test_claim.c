// SPDX-License-Identifier: Apache-2.0
/*
 * Claims on addresses: one cause at a time, each with its reason; what decides between services;
 * and what holds where Kubernetes' own documents are silent or disagree (docs/architecture.md).
 */
#include "planning.h"

/* A service that is announced, but for the one thing that a test adds. */
static void put_web(struct planning *planning, const char *metadata, const char *spec,
                    const char *ingress)
{
    put_service(planning, "web", metadata, spec, ingress);
    put_endpoint(planning, "web-1", "web", "10.0.0.1", "node-1", "ready: true");
    put_endpoint(planning, "web-6", "web", "fd00::1", "node-1", "ready: true");
}

static void one_cause_at_a_time(void **state)
{
    (void)state;
    static const struct {
        const char *metadata, *spec, *ingress, *address, *reason;
    } cases[] = {
        { "", "", "{ip: 198.51.100.1}", "198.51.100.1", "announced" },
        { "", "", "{ip: \"2001:db8::1\"}", "2001:db8::1", "announced" },
        { "", "", "{ip: 198.51.100.1, ipMode: VIP}", "198.51.100.1", "announced" },
        { "", "", "{ip: 198.51.100.1, ipMode: Proxy}", "198.51.100.1", "proxy-mode" },
        { "", "", "{hostname: x}", "198.51.100.1", "none" },
        { "", "clusterIP: None", "{ip: 198.51.100.1}", "198.51.100.1", "headless" },
        { "labels: {service.kubernetes.io/headless: \"\"}", "", "{ip: 198.51.100.1}",
          "198.51.100.1", "other-proxy" },
        { "labels: {service.kubernetes.io/service-proxy-name: \"\"}", "", "{ip: 198.51.100.1}",
          "198.51.100.1", "other-proxy" },
        { "", "loadBalancerClass: x", "{ip: 198.51.100.1}", "198.51.100.1", "other-class" },
        { "annotations: {fingerpost.io/announce: \"false\"}", "", "{ip: 198.51.100.1}",
          "198.51.100.1", "opted-out" },
        { "", "externalIPs: [192.0.2.1]", "", "192.0.2.1", "announced" },
        { "", "externalIPs: [8.8.8.8]", "", "8.8.8.8", "outside-ranges" },
        { "", "clusterIP: 10.96.0.1", "", "10.96.0.1", "not-advertised" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        add_range(&planning.config->services.external_ips, "192.0.2.0/24");
        put_web(&planning, cases[i].metadata, cases[i].spec, cases[i].ingress);
        if (strcmp(reason_of(&planning, cases[i].address), cases[i].reason) != 0)
            fail_msg("case %zu: %s is %s, not %s", i, cases[i].address,
                     reason_of(&planning, cases[i].address), cases[i].reason);
    }
}

/* What can't be in a good manifest: the type is read before the addresses are judged. */
static void types_have_their_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *type, *cluster, *external, *balancer;
    } cases[] = {
        { "ClusterIP", "announced", "announced", "wrong-type" },
        { "NodePort", "announced", "announced", "wrong-type" },
        { "LoadBalancer", "announced", "announced", "announced" },
        { "ExternalName", "wrong-type", "wrong-type", "wrong-type" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        planning.config->services.advertise =
            ADVERTISE_CLUSTER | ADVERTISE_EXTERNAL | ADVERTISE_LOAD_BALANCER;
        add_range(&planning.config->services.external_ips, "192.0.2.0/24");
        AUTOFREE char *spec =
            text_format("type: %s, clusterIP: 10.96.0.1, externalIPs: [192.0.2.1]", cases[i].type);
        AUTOFREE char *yaml =
            text_format("apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: d}\n"
                        "spec: {ports: [{name: h, port: 80}], %s}\n"
                        "status: {loadBalancer: {ingress: [{ip: 198.51.100.1}]}}\n",
                        spec);
        put(&planning, yaml);
        put_endpoint(&planning, "web-1", "web", "10.0.0.1", "node-2", "ready: true");
        assert_string_equal(reason_of(&planning, "10.96.0.1"), cases[i].cluster);
        assert_string_equal(reason_of(&planning, "192.0.2.1"), cases[i].external);
        assert_string_equal(reason_of(&planning, "198.51.100.1"), cases[i].balancer);
    }
}

static void a_proxy_name_of_our_own(void **state)
{
    (void)state;
    static const struct {
        const char *labels, *reason;
    } cases[] = {
        { "", "announced" },
        { "labels: {service.kubernetes.io/service-proxy-name: mine}", "announced" },
        { "labels: {service.kubernetes.io/service-proxy-name: \"\"}", "other-proxy" },
        { "labels: {service.kubernetes.io/service-proxy-name: theirs}", "other-proxy" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        free(planning.config->services.proxy_name);
        planning.config->services.proxy_name = strdup("mine");
        put_web(&planning, cases[i].labels, "", "{ip: 198.51.100.1}");
        assert_string_equal(reason_of(&planning, "198.51.100.1"), cases[i].reason);
    }
}

static void special_addresses(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    struct object *object =
        object_of("apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: d}\n"
                  "spec: {type: LoadBalancer, ports: [{port: 80}], externalIPs: [192.0.2.1]}\n");
    /* The decoder lets none through; another source might. */
    struct service_address *address = (struct service_address *)to_service(object)->addresses;
    assert_int_equal(ip_parse("127.0.0.1", &address->ip), 0);
    assert_true(store_put(planning.store, "t", object) >= 0);
    assert_string_equal(reason_of(&planning, "127.0.0.1"), "special-address");
}

/* Endpoints of policy Local and Cluster, ready here, elsewhere, leaving, or not of the port. */
static void endpoints_decide(void **state)
{
    (void)state;
    static const struct {
        const char *policy, *node, *conditions, *reason;
    } cases[] = {
        { "Cluster", "node-2", "ready: true", "announced" },
        { "Cluster", "node-2", "ready: false", "no-endpoints" },
        { "Cluster", "node-2", "ready: false, serving: true, terminating: true", "announced" },
        { "Cluster", "node-2", "ready: false, serving: true, terminating: false", "no-endpoints" },
        { "Cluster", "node-2", "ready: false, serving: false, terminating: true", "no-endpoints" },
        { "Cluster", "node-2", "", "announced" },
        { "Local", "node-1", "ready: true", "announced" },
        { "Local", "node-2", "ready: true", "no-local-endpoints" },
        { "Local", "node-2", "ready: false", "no-endpoints" },
        { "Local", "node-1", "ready: false, serving: true, terminating: true", "announced" },
        { "Local", "node-2", "ready: false, serving: true, terminating: true",
          "no-local-endpoints" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        AUTOFREE char *spec = text_format("externalTrafficPolicy: %s", cases[i].policy);
        put_service(&planning, "web", "", spec, "{ip: 198.51.100.1}");
        put_endpoint(&planning, "web-1", "web", "10.0.0.1", cases[i].node, cases[i].conditions);
        if (strcmp(reason_of(&planning, "198.51.100.1"), cases[i].reason) != 0)
            fail_msg("case %zu: %s", i, reason_of(&planning, "198.51.100.1"));
    }
}

static void slices_that_do_not_count(void **state)
{
    (void)state;
    static const char *const slices[] = {
        "labels: {kubernetes.io/service-name: web, service.kubernetes.io/headless: \"\"}}\n"
        "addressType: IPv4\nports: [{name: h, port: 80}]\nendpoints: [{addresses: [10.0.0.1]}]",
        "labels: {kubernetes.io/service-name: web}}\naddressType: IPv6\nports: [{name: h, port: "
        "80}]\nendpoints: [{addresses: [\"fd00::1\"]}]",
        "labels: {kubernetes.io/service-name: web}}\naddressType: IPv4\nports: [{name: x, port: "
        "80}]\nendpoints: [{addresses: [10.0.0.1]}]",
        "labels: {kubernetes.io/service-name: web}}\naddressType: IPv4\nports: [{name: h}]\n"
        "endpoints: [{addresses: [10.0.0.1]}]",
        "labels: {kubernetes.io/service-name: web}}\naddressType: IPv4\nports: [{name: h, port: "
        "80, protocol: UDP}]\nendpoints: [{addresses: [10.0.0.1]}]",
        "labels: {kubernetes.io/service-name: other}}\naddressType: IPv4\nports: [{name: h, port: "
        "80}]\nendpoints: [{addresses: [10.0.0.1]}]",
        "labels: {kubernetes.io/service-name: web}}\naddressType: IPv4\nports: [{name: h, port: "
        "80}]\nendpoints: [{addresses: []}, {addresses: [bad]}]",
    };
    for (size_t i = 0; i < ARRAY_SIZE(slices); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        put_service(&planning, "web", "", "", "{ip: 198.51.100.1}");
        AUTOFREE char *yaml = text_format("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
                                          "metadata: {name: s, namespace: d, %s\n",
                                          slices[i]);
        put(&planning, yaml);
        assert_string_equal(reason_of(&planning, "198.51.100.1"), "no-endpoints");
    }
}

static void this_node_decides(void **state)
{
    (void)state;
    static const struct {
        const char *node, *reason;
    } cases[] = {
        { "metadata: {name: node-1}\n", "announced" },
        { "metadata: {name: node-1, labels: "
          "{node.kubernetes.io/exclude-from-external-load-balancers: \"\"}}\n",
          "node-excluded" },
        { "metadata: {name: node-2, labels: "
          "{node.kubernetes.io/exclude-from-external-load-balancers: \"\"}}\n",
          "announced" },
        { "metadata: {name: node-1}\n"
          "status: {conditions: [{type: NetworkUnavailable, status: \"True\"}]}\n",
          "network-unavailable" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        put_web(&planning, "", "", "{ip: 198.51.100.1}");
        AUTOFREE char *yaml = text_format("apiVersion: v1\nkind: Node\n%s", cases[i].node);
        put(&planning, yaml);
        assert_string_equal(reason_of(&planning, "198.51.100.1"), cases[i].reason);
    }
}

/* The older one has the port, then namespace/name; without a timestamp comes last. */
static void the_older_service_has_the_port(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b, *owner;
    } cases[] = {
        { "creationTimestamp: \"2026-01-02T00:00:00Z\"",
          "creationTimestamp: \"2026-01-01T00:00:00Z\"", "b" },
        { "creationTimestamp: \"2026-01-01T00:00:00Z\"",
          "creationTimestamp: \"2026-01-01T00:00:00Z\"", "a" },
        { "", "creationTimestamp: \"2026-01-01T00:00:00Z\"", "b" },
        { "", "", "a" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        put_service(&planning, "a", cases[i].a, "", "{ip: 198.51.100.1}");
        put_service(&planning, "b", cases[i].b, "", "{ip: 198.51.100.1}");
        put_endpoint(&planning, "a-1", "a", "10.0.0.1", "node-1", "ready: true");
        put_endpoint(&planning, "b-1", "b", "10.0.0.2", "node-1", "ready: true");
        struct address_row *row = row_of(&planning, "198.51.100.1");
        assert_int_equal(row->claim_count, 2);
        assert_string_equal(row->claims[0].name, cases[i].owner);
        assert_int_equal(row->claims[0].reason, REASON_ANNOUNCED);
        assert_int_equal(row->claims[1].reason, REASON_PORTS_TAKEN);
        assert_int_equal(planning.faults.list.count, 1);
        AUTOFREE char *loser = text_format("Service d/%s", row->claims[1].name);
        assert_string_equal(planning.faults.list.items[0].place, loser);
        address_row_free(row);
    }
}

/* Another port, or another protocol, is nobody's loss; nor is an address named twice. */
static void ports_apart_are_shared(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    add_range(&planning.config->services.external_ips, "198.51.100.0/24");
    put_web(&planning, "", "externalIPs: [198.51.100.1]", "{ip: 198.51.100.1}");
    put(&planning, "apiVersion: v1\nkind: Service\nmetadata: {name: x, namespace: d}\n"
                   "spec: {type: LoadBalancer, ports: [{name: u, port: 80, protocol: UDP},\n"
                   "  {name: t, port: 81}]}\n"
                   "status: {loadBalancer: {ingress: [{ip: 198.51.100.1}]}}\n");
    struct address_row *row = row_of(&planning, "198.51.100.1");
    assert_true(faults_none(&planning.faults));
    assert_int_equal(row->reason, REASON_ANNOUNCED);
    address_row_free(row);
}

/* Such an external IP is a fault of its Service. */
static void an_external_ip_is_no_cluster_ip(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    add_range(&planning.config->services.external_ips, "0.0.0.0/0");
    add_range(&planning.config->services.service_cidrs, "10.96.0.0/12");
    put_web(&planning, "", "externalIPs: [10.96.7.7, 203.0.113.5]", "");
    put_service(&planning, "x", "", "clusterIP: 203.0.113.5", "");
    assert_string_equal(reason_of(&planning, "10.96.7.7"), "in-service-cidr");
    assert_int_equal(planning.faults.list.count, 1);
    assert_string_equal(planning.faults.list.items[0].place, "Service d/web");
    /* The row speaks of the claim that came furthest, the ClusterIP's own. */
    struct address_row *row = row_of(&planning, "203.0.113.5");
    assert_int_equal(row->claims[0].reason, REASON_IN_SERVICE_CIDR);
    assert_int_equal(row->claims[1].reason, REASON_NOT_ADVERTISED);
    assert_int_equal(planning.faults.list.count, 2);
    address_row_free(row);

    /* That of an ExternalName service is none. */
    put(&planning, "apiVersion: v1\nkind: Service\nmetadata: {name: x, namespace: d}\n"
                   "spec: {type: ExternalName, clusterIP: 203.0.113.5}\n");
    assert_string_equal(reason_of(&planning, "203.0.113.5"), "announced");
}

/* ClusterIPs follow the internal policy, others the external. */
static void each_address_follows_its_policy(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    planning.config->services.advertise = ADVERTISE_CLUSTER | ADVERTISE_LOAD_BALANCER;
    put_service(&planning, "web", "", "clusterIP: 10.96.0.1, internalTrafficPolicy: Local",
                "{ip: 198.51.100.1}");
    put_endpoint(&planning, "web-1", "web", "10.0.0.1", "node-2", "ready: true");
    assert_string_equal(reason_of(&planning, "10.96.0.1"), "no-local-endpoints");
    assert_string_equal(reason_of(&planning, "198.51.100.1"), "announced");
    put_endpoint(&planning, "web-1", "web", "10.0.0.1", "node-2", "ready: false");
    assert_string_equal(reason_of(&planning, "10.96.0.1"), "no-endpoints");
}

/* One bad address harms no other; leading zeros are decimal; NodePorts are as they are. */
static void odd_fields_are_taken(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put(&planning,
        "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: d}\n"
        "spec: {type: LoadBalancer, ports: [{name: h, port: 80, nodePort: 80}]}\n"
        "status: {loadBalancer: {ingress: [{ip: bad}, {ip: 198.051.100.010}, {ip: \"\"}]}}\n");
    put(&planning, "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
                   "metadata: {name: s, namespace: d, labels: {kubernetes.io/service-name: web}}\n"
                   "addressType: IPv4\nports: [{name: x}, {name: h, port: 8080}]\n"
                   "endpoints: [{addresses: []}, {}, {addresses: [010.000.00.1]}]\n");
    assert_string_equal(reason_of(&planning, "198.51.100.10"), "announced");
    ip_list addresses;
    assert_int_equal(store_addresses(planning.store, &addresses), 0);
    assert_int_equal(addresses.count, 1);
    vec_done(&addresses);
}

/* A class that is set decides over load balancer addresses only. */
static void classes_and_ranges_gate(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    add_range(&planning.config->services.external_ips, "192.0.2.0/24");
    free(planning.config->services.load_balancer_class);
    planning.config->services.load_balancer_class = strdup("example.com/mine");
    put_web(&planning, "", "externalIPs: [192.0.2.1]", "{ip: 198.51.100.1}");
    assert_string_equal(reason_of(&planning, "198.51.100.1"), "other-class");
    assert_string_equal(reason_of(&planning, "192.0.2.1"), "announced"); /* has no class */
    put_web(&planning, "", "loadBalancerClass: theirs", "{ip: 198.51.100.1}");
    assert_string_equal(reason_of(&planning, "198.51.100.1"), "other-class");
    put_web(&planning, "", "loadBalancerClass: example.com/mine", "{ip: 198.51.100.1}");
    assert_string_equal(reason_of(&planning, "198.51.100.1"), "announced");

    add_range(&planning.config->services.load_balancer_ips, "203.0.113.0/24");
    assert_string_equal(reason_of(&planning, "198.51.100.1"), "outside-ranges");
    add_range(&planning.config->services.load_balancer_ips, "198.51.100.0/24");
    assert_string_equal(reason_of(&planning, "198.51.100.1"), "announced");
    planning.config->services.advertise = ADVERTISE_EXTERNAL;
    assert_string_equal(reason_of(&planning, "198.51.100.1"), "not-advertised");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_cause_at_a_time),
        cmocka_unit_test(types_have_their_addresses),
        cmocka_unit_test(a_proxy_name_of_our_own),
        cmocka_unit_test(special_addresses),
        cmocka_unit_test(endpoints_decide),
        cmocka_unit_test(slices_that_do_not_count),
        cmocka_unit_test(this_node_decides),
        cmocka_unit_test(the_older_service_has_the_port),
        cmocka_unit_test(ports_apart_are_shared),
        cmocka_unit_test(an_external_ip_is_no_cluster_ip),
        cmocka_unit_test(each_address_follows_its_policy),
        cmocka_unit_test(odd_fields_are_taken),
        cmocka_unit_test(classes_and_ranges_gate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
