// SPDX-License-Identifier: Apache-2.0
/* What a Service lacks, by itself and by its slices and Nodes. */
#include "plan/nat/service_lacks.h"

#include "planning.h"
#include "raised.h"

static void put_slice(struct planning *planning, const char *ports, const char *endpoints)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: "
                    "web-1, namespace: d, labels: {kubernetes.io/service-name: web}}\n"
                    "addressType: IPv4\nports: [%s]\nendpoints: [%s]\n",
                    ports, endpoints);
    put(planning, yaml);
}

static void put_node(struct planning *planning, const char *name)
{
    AUTOFREE char *yaml = text_format("apiVersion: v1\nkind: Node\nmetadata: {name: %s}\n", name);
    put(planning, yaml);
}

/* The code of the only fault of d/web; NULL: it lacks nothing. */
static void assert_lacks(const struct planning *planning, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct object *web = store_get(planning->store, KIND_SERVICE, "d", "web");
    service_lacks(planning->store, planning->config, to_service(web), &faults);
    assert_int_equal(faults.list.count, expected ? 1 : 0);
    if (!expected)
        return;
    assert_string_equal(faults.list.items[0].place, "Service d/web");
    assert_string_equal(code_of(&faults.list.items[0]), expected);
    assert_non_null(faults.list.items[0].remedy);
}

#define CLUSTER_IP "clusterIP: 10.96.0.1"
#define HERE       "{addresses: [10.1.0.1], nodeName: node-1}"

static void a_port_that_no_slice_has(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_service(&planning, "web", "", CLUSTER_IP, "");
    assert_lacks(&planning, NULL);
    put_slice(&planning, "{name: web, port: 8080}", HERE);
    assert_lacks(&planning, "service-port-unserved");
    put_slice(&planning, "{name: h, port: 8080, protocol: UDP}", HERE);
    assert_lacks(&planning, "service-port-unserved");
    put_slice(&planning, "{name: h}", HERE);
    assert_lacks(&planning, "service-port-unnumbered");
    put_slice(&planning, "", HERE);
    assert_lacks(&planning, "service-slice-without-ports");
    put_slice(&planning, "{name: h, port: 8080}", HERE);
    assert_lacks(&planning, NULL);
}

/* A rollout, and a headless Service, whose ports nobody forwards. */
static void without_endpoints_nothing_is_lacking(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_service(&planning, "web", "", CLUSTER_IP, "");
    put_slice(&planning, "{name: web, port: 8080}",
              "{addresses: [10.1.0.1], conditions: {ready: false, serving: false}}");
    assert_lacks(&planning, NULL);
    put_slice(&planning, "{name: web, port: 8080}", HERE);
    put_service(&planning, "web", "", "clusterIP: None", "");
    assert_lacks(&planning, NULL);
    put_service(&planning, "web", "labels: {service.kubernetes.io/service-proxy-name: x}",
                CLUSTER_IP, "");
    assert_lacks(&planning, NULL);
}

static void endpoints_that_are_local_nowhere(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_node(&planning, "node-1");
    put_slice(&planning, "{name: h, port: 8080}", "{addresses: [10.1.0.1], nodeName: Node-1}");
    put_service(&planning, "web", "", CLUSTER_IP, "");
    assert_lacks(&planning, NULL);
    put_service(&planning, "web", "", CLUSTER_IP ", externalTrafficPolicy: Local", "");
    assert_lacks(&planning, "service-endpoint-node-unknown");
    put_slice(&planning, "{name: h, port: 8080}", "{addresses: [10.1.0.1]}");
    assert_lacks(&planning, "service-endpoints-without-node");
    put_slice(&planning, "{name: h, port: 8080}", "{addresses: [10.1.0.2]}, " HERE);
    assert_lacks(&planning, NULL);
}

static void a_cluster_ip_is_missing(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_service(&planning, "web", "", "", "");
    assert_lacks(&planning, NULL);
    planning.config->services.enabled = true;
    assert_lacks(&planning, "service-without-cluster-ip");
    put_service(&planning, "web", "", CLUSTER_IP, "");
    assert_lacks(&planning, NULL);
}

static void a_family_is_missing(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_slice(&planning, "{name: h, port: 8080}", HERE);
    put_service(&planning, "web", "", "clusterIP: 'fd00:96::1'", "");
    assert_lacks(&planning, "service-family-missing");
    put_service(&planning, "web", "",
                "clusterIP: 'fd00:96::1', clusterIPs: ['fd00:96::1', 10.96.0.1]", "");
    assert_lacks(&planning, NULL);
}

/* Beside a slice of addresses, names do no harm. */
static void names_are_no_endpoints(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_service(&planning, "web", "", CLUSTER_IP, "");
    put(&planning, "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: FQDN\n"
                   "metadata: {name: names, namespace: d, labels: {kubernetes.io/service-name: "
                   "web}}\nendpoints: [{addresses: [db.example.org]}]\n"
                   "ports: [{name: h, port: 8080}]\n");
    assert_lacks(&planning, "service-endpoints-are-names");
    put_slice(&planning, "{name: h, port: 8080}", HERE);
    assert_lacks(&planning, NULL);
}

static void ranges_leave_external_ips_open(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    planning.config->services.enabled = true;
    put_service(&planning, "web", "",
                CLUSTER_IP ", loadBalancerSourceRanges: [10.0.0.0/8], externalIPs: [198.51.100.7]",
                "{ip: 203.0.113.1}");
    assert_lacks(&planning, NULL); /* nobody serves it */
    add_range(&planning.config->services.external_ips, "198.51.100.0/24");
    assert_lacks(&planning, "service-ranges-miss-external-ips");
    put_service(&planning, "web", "", CLUSTER_IP ", externalIPs: [198.51.100.7]",
                "{ip: 203.0.113.1}");
    assert_lacks(&planning, NULL);
}

static void hints_are_for_nodes_of_a_zone(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    AUTOFAULTS struct faults faults = { 0 };
    planning_begin(&planning);
    planning.config->services.enabled = true;
    put_service(&planning, "web", "", CLUSTER_IP, "");
    put_slice(&planning, "{name: h, port: 8080}",
              "{addresses: [10.1.0.1], nodeName: node-1, hints: {forZones: [{name: a}]}}");
    assert_lacks(&planning, NULL); /* there is no Node that could have a label */
    put_node(&planning, "node-1");
    const struct object *web = store_get(planning.store, KIND_SERVICE, "d", "web");
    service_lacks(planning.store, planning.config, to_service(web), &faults);
    assert_raised(&faults, "node-zone-missing at Node node-1\n");
    put(&planning, "apiVersion: v1\nkind: Node\nmetadata: {name: node-1, labels: "
                   "{topology.kubernetes.io/zone: a}}\n");
    assert_lacks(&planning, NULL);
}

static void the_words_name_what_does_not_fit(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    AUTOFAULTS struct faults faults = { 0 };
    planning_begin(&planning);
    put_service(&planning, "web", "", CLUSTER_IP, "");
    put_slice(&planning, "{name: h}", HERE);
    const struct object *web = store_get(planning.store, KIND_SERVICE, "d", "web");
    service_lacks(planning.store, planning.config, to_service(web), &faults);
    assert_told(&faults, "service-port-unnumbered at Service d/web: port h (80/TCP) has no "
                         "endpoints: no EndpointSlice has a numbered port of its name and "
                         "protocol; web-1 has one h, without a number\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_that_no_slice_has),
        cmocka_unit_test(the_words_name_what_does_not_fit),
        cmocka_unit_test(without_endpoints_nothing_is_lacking),
        cmocka_unit_test(endpoints_that_are_local_nowhere),
        cmocka_unit_test(a_cluster_ip_is_missing),
        cmocka_unit_test(a_family_is_missing),
        cmocka_unit_test(names_are_no_endpoints),
        cmocka_unit_test(ranges_leave_external_ips_open),
        cmocka_unit_test(hints_are_for_nodes_of_a_zone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
