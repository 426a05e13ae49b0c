// SPDX-License-Identifier: Apache-2.0
/* Services: every field that is used, what is skipped with a warning and what refuses the object.
 */
#include "base/macro.h"
#include "base/text.h"
#include "decoded.h"
#include "model/services/service.h"

#define SERVICE_HEAD "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n" /* 3 */

static void assert_address(const struct service *service, uint32_t i, const char *ip,
                           enum address_origin origin, bool proxy_mode)
{
    char text[IP_STRLEN];
    assert_true(i < service->address_count);
    assert_string_equal(ip_str(&service->addresses[i].ip, text), ip);
    assert_int_equal(service->addresses[i].origin, origin);
    assert_int_equal(service->addresses[i].proxy_mode, proxy_mode);
}

static void reads_what_kubectl_prints(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded = decode_yaml(
        "apiVersion: v1\n"
        "kind: Service\n"
        "metadata:\n"
        "  annotations:\n"
        "    fingerpost.io/announce: \"false\"\n"
        "    fingerpost.io/route-class: \"29\"\n"
        "    kubectl.kubernetes.io/last-applied-configuration: |\n"
        "      {\"apiVersion\":\"v1\",\"kind\":\"Service\"}\n"
        "  creationTimestamp: \"2026-11-20T07:33:00Z\"\n"
        "  labels:\n"
        "    app: web\n"
        "    service.kubernetes.io/service-proxy-name: \"\"\n"
        "  name: web\n"
        "  namespace: shop\n"
        "  resourceVersion: \"4711\"\n"
        "  uid: 0d2d1f5e-5a0d-4f4e-8a53-6f6a9d1c2b3a\n"
        "spec:\n"
        "  allocateLoadBalancerNodePorts: true\n"
        "  clusterIP: 10.96.0.10\n"
        "  clusterIPs: [10.96.0.10, \"fd00:96::a\"]\n"
        "  externalIPs: [192.0.2.7]\n"
        "  externalTrafficPolicy: Local\n"
        "  healthCheckNodePort: 30099\n"
        "  internalTrafficPolicy: Cluster\n"
        "  ipFamilies: [IPv4, IPv6]\n"
        "  loadBalancerClass: example.com/lb\n"
        "  loadBalancerSourceRanges: [198.51.100.0/24]\n"
        "  ports:\n"
        "  - {appProtocol: http, name: http, nodePort: 30080, port: 80, protocol: TCP, targetPort: "
        "8080}\n"
        "  - {name: dns, nodePort: 0, port: 53, protocol: UDP, targetPort: dns}\n"
        "  - {name: sig, nodePort: 5, port: 80, protocol: SCTP, targetPort: sig}\n"
        "  selector: {app: web}\n"
        "  sessionAffinity: None\n"
        "  type: LoadBalancer\n"
        "status:\n"
        "  conditions: []\n"
        "  loadBalancer:\n"
        "    ingress:\n"
        "    - {ip: 10.0.0.1, ipMode: VIP}\n"
        "    - {ip: 10.0.0.2, ipMode: Proxy, ports: [{port: 80, protocol: TCP}]}\n"
        "    - hostname: lb.example.com\n");
    assert_decoded(&decoded, 0);
    const struct service *service = to_service(decoded.object);
    assert_string_equal(service->object.namespace, "shop");
    assert_string_equal(service->object.name, "web");
    assert_true(service->object.created_ms == INT64_C(1795159980000));
    assert_int_equal(service->type, SERVICE_LOAD_BALANCER);
    assert_false(service->headless);
    assert_int_equal(service->address_count, 5);
    assert_address(service, 0, "10.96.0.10", ADDRESS_CLUSTER, false);
    assert_address(service, 1, "fd00:96::a", ADDRESS_CLUSTER, false);
    assert_address(service, 2, "192.0.2.7", ADDRESS_EXTERNAL, false);
    assert_address(service, 3, "10.0.0.1", ADDRESS_LOAD_BALANCER, false);
    assert_address(service, 4, "10.0.0.2", ADDRESS_LOAD_BALANCER, true);
    assert_int_equal(service->port_count, 3);
    assert_string_equal(service->ports[0].name, "http");
    assert_int_equal(service->ports[0].protocol, PROTOCOL_TCP);
    assert_int_equal(service->ports[0].port, 80);
    assert_int_equal(service->ports[0].node_port, 30080);
    assert_int_equal(service->ports[1].protocol, PROTOCOL_UDP);
    assert_int_equal(service->ports[1].node_port, 0);
    assert_int_equal(service->ports[2].protocol, PROTOCOL_SCTP);
    assert_int_equal(service->ports[2].node_port, 5);
    assert_true(service->external_local);
    assert_false(service->internal_local);
    assert_string_equal(service->load_balancer_class, "example.com/lb");
    assert_string_equal(service->proxy_name, "");
    assert_false(service->headless_label);
    assert_false(service->announce);
    assert_int_equal(service->route_class, 29);
    assert_int_equal(service->health_check_node_port, 30099);
    assert_int_equal(service->source_range_count, 1);
    assert_int_equal(service->affinity_seconds, 0);
}

static void fills_in_defaults(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml(SERVICE_HEAD "spec: {clusterIP: 10.96.0.1, ports: [{port: 443}]}\n"
                                 "status: {loadBalancer: {}}\n");
    assert_decoded(&decoded, 0);
    const struct service *service = to_service(decoded.object);
    assert_string_equal(service->object.namespace, "default");
    assert_int_equal(service->type, SERVICE_CLUSTER_IP);
    assert_int_equal(service->address_count, 1);
    assert_address(service, 0, "10.96.0.1", ADDRESS_CLUSTER, false);
    assert_string_equal(service->ports[0].name, "");
    assert_int_equal(service->ports[0].protocol, PROTOCOL_TCP);
    assert_false(service->external_local);
    assert_false(service->internal_local);
    assert_null(service->load_balancer_class);
    assert_null(service->proxy_name);
    assert_true(service->announce);
    assert_int_equal(service->route_class, -1);
    assert_int_equal(service->health_check_node_port, 0);
    assert_int_equal(service->source_range_count, 0);
}

static void headless_is_none_or_nothing_to_serve(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        bool headless;
        size_t warnings;
    } cases[] = {
        { "spec: {clusterIP: None, clusterIPs: [None]}", true },
        { "spec: {clusterIP: None, clusterIPs: [10.96.0.1], ports: [{port: 1}]}", true },
        { "spec: {clusterIP: None, ports: [{port: 1}]}", true },
        { "spec: {clusterIP: \"\"}", true },
        { "spec: {ports: null}", true },
        { "spec: {clusterIPs: [], clusterIP: 10.96.0.1, ports: [{port: 1}]}", false },
        { "spec: {clusterIPs: null, clusterIP: 10.96.0.1, ports: [{port: 1}]}", false },
        { "spec: {type: ExternalName, clusterIP: 10.96.0.1}", false, 2 },
        { "spec: {type: ExternalName, externalName: a.example.com}", false },
        { "spec: {type: LoadBalancer, ports: [{port: 1}]}", false },
        { "spec: {type: NodePort, clusterIP: \"\", ports: [{port: 1}]}", false },
        { "spec: {type: LoadBalancer, clusterIP: None, ports: [{port: 1}]}", true, 1 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[256];
        snprintf(text, sizeof(text), SERVICE_HEAD "%s\n", cases[i].spec);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_decoded(&decoded, cases[i].warnings);
        assert_int_equal(to_service(decoded.object)->headless, cases[i].headless);
    }
}

static void skips_bad_addresses_one_by_one(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml(SERVICE_HEAD "spec:\n"
                                 "  clusterIPs: [10.96.0.300, 10.96.0.1]\n"
                                 "  externalIPs:\n"
                                 "  - 192.0.2.1\n"
                                 "  - example.com\n" /* 8 */
                                 "  - 127.0.0.1\n"
                                 "  - 192.0.2.0/24\n"
                                 "  - fe80::1\n"
                                 "  - fe80::1%eth0\n"
                                 "  - 192.0.2.2\n"
                                 "  ports: [{port: 80}]\n"
                                 "status:\n"
                                 "  loadBalancer:\n"
                                 "    ingress:\n"
                                 "    - ip: 0.0.0.0\n"
                                 "    - ip: \"\"\n"
                                 "    - ip: 10.0.0.1\n"
                                 "      ipMode: Magic\n"); /* 21 */
    assert_decoded(&decoded, 8);
    assert_fault(&decoded.warnings, "test:5:16", "spec.clusterIPs[0]: \"10.96.0.300\" is not");
    assert_fault(&decoded.warnings, "test:8:5", "spec.externalIPs[1]: \"example.com\" is not");
    assert_fault(&decoded.warnings, "test:9:5", "loopback");
    assert_fault(&decoded.warnings, "test:10:5", "is not an IP address");
    assert_fault(&decoded.warnings, "test:11:5", "link-local");
    assert_fault(&decoded.warnings, "test:12:5", "is not an IP address");
    assert_fault(&decoded.warnings, "test:18:11", "unspecified");
    assert_fault(&decoded.warnings, "test:21:15", "ipMode");
    const struct service *service = to_service(decoded.object);
    assert_int_equal(service->address_count, 4);
    assert_address(service, 0, "10.96.0.1", ADDRESS_CLUSTER, false);
    assert_address(service, 1, "192.0.2.1", ADDRESS_EXTERNAL, false);
    assert_address(service, 2, "192.0.2.2", ADDRESS_EXTERNAL, false);
    assert_address(service, 3, "10.0.0.1", ADDRESS_LOAD_BALANCER, true);
}

static void assert_range(const struct service *service, uint32_t i, const char *expected)
{
    char text[PREFIX_STRLEN];
    assert_true(i < service->source_range_count);
    assert_string_equal(prefix_str(&service->source_ranges[i], text), expected);
}

static void skips_bad_ranges_one_by_one(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded = decode_yaml(SERVICE_HEAD "spec:\n"
                                                                  "  loadBalancerSourceRanges:\n"
                                                                  "  - \" 198.51.100.0/24\\t\"\n"
                                                                  "  - 10.0.0.1\n" /* 7 */
                                                                  "  - 10.1.2.3/8\n"
                                                                  "  - null\n"
                                                                  "  - \"  \"\n"
                                                                  "  - 010.001.0.0/16\n"
                                                                  "  - 2001:db8::/32\n"
                                                                  "  type: LoadBalancer\n"
                                                                  "  ports: [{port: 80}]\n");
    assert_decoded(&decoded, 4);
    assert_fault(&decoded.warnings, "test:7:5", "\"10.0.0.1\" is not a CIDR; skipped");
    assert_fault(&decoded.warnings, "test:8:5", "beyond its length; read as 10.0.0.0/8");
    assert_fault(&decoded.warnings, "test:9:5", "is not a CIDR");
    assert_fault(&decoded.warnings, "test:10:5", "is not a CIDR");
    const struct service *service = to_service(decoded.object);
    assert_int_equal(service->source_range_count, 4);
    assert_range(service, 0, "198.51.100.0/24");
    assert_range(service, 1, "10.0.0.0/8");
    assert_range(service, 2, "10.1.0.0/16");
    assert_range(service, 3, "2001:db8::/32");

    char text[512];
    snprintf(
        text, sizeof(text),
        SERVICE_HEAD
        "spec: {ports: [{port: 80}], loadBalancerSourceRanges: [\" %0100d/0 \"], type: LoadBalancer}\n",
        0);
    AUTODECODED struct decoded none = decode_yaml(text);
    assert_decoded(&none, 2);
    assert_fault(&none.warnings, "test:4:55", "no usable range: open to all sources");
    assert_int_equal(to_service(none.object)->source_range_count, 0);
}

static void affinity_has_a_default(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        uint32_t seconds;
        size_t warnings;
    } cases[] = {
        { "sessionAffinity: None", 0 },
        { "sessionAffinity: null", 0 },
        { "sessionAffinity: ClientIP", 10800 },
        { "sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: null}", 10800 },
        { "sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 1}}", 1 },
        { "sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 86400}}",
          86400 },
        { "sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}", 0, 1 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), SERVICE_HEAD "spec: {ports: [{port: 80}], %s}\n",
                 cases[i].spec);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_decoded(&decoded, cases[i].warnings);
        assert_int_equal(to_service(decoded.object)->affinity_seconds, cases[i].seconds);
    }
}

static void a_bad_cluster_ip_does_not_make_it_headless(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml(SERVICE_HEAD "spec: {clusterIP: bad, ports: [{port: 80}]}\n");
    assert_decoded(&decoded, 1);
    assert_false(to_service(decoded.object)->headless);
    assert_int_equal(to_service(decoded.object)->address_count, 0);
}

static void normalises_and_unites_addresses(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded = decode_yaml(
        SERVICE_HEAD
        "spec:\n"
        "  clusterIPs: [010.096.000.001]\n"
        "  externalIPs: [192.0.2.9, 192.0.2.1, \"::ffff:192.0.2.9\", 192.0.2.001, 192.0.2.5]\n"
        "  ports: [{port: 80}]\n"
        "status: {loadBalancer: {ingress: [{ip: 192.0.2.9}, {ip: 192.0.2.9, ipMode: Proxy}]}}\n");
    assert_decoded(&decoded, 0);
    const struct service *service = to_service(decoded.object);
    assert_int_equal(service->type, SERVICE_CLUSTER_IP); /* its ingress is read all the same */
    assert_int_equal(service->address_count, 5);
    assert_address(service, 0, "10.96.0.1", ADDRESS_CLUSTER, false);
    assert_address(service, 1, "192.0.2.9", ADDRESS_EXTERNAL, false);
    assert_address(service, 2, "192.0.2.1", ADDRESS_EXTERNAL, false);
    assert_address(service, 3, "192.0.2.5", ADDRESS_EXTERNAL, false);
    assert_address(service, 4, "192.0.2.9", ADDRESS_LOAD_BALANCER, false);
}

/* Whatever comes first in the list. */
static void of_both_modes_vip_counts(void **state)
{
    (void)state;
    static const char *const lists[] = {
        "{ip: 10.0.0.1, ipMode: Proxy}, {ip: 10.0.0.1}, {ip: 10.0.0.2}",
        "{ip: 10.0.0.1}, {ip: 10.0.0.1, ipMode: Proxy}, {ip: 10.0.0.2}",
        "{ip: 10.0.0.1, ipMode: Proxy}, {ip: 10.0.0.1, ipMode: VIP}, {ip: 10.0.0.2, ipMode: VIP}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 SERVICE_HEAD "spec: {clusterIP: 10.96.0.1, ports: [{port: 80}]}\n"
                              "status: {loadBalancer: {ingress: [%s]}}\n",
                 lists[i]);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_decoded(&decoded, 0);
        const struct service *service = to_service(decoded.object);
        assert_int_equal(service->address_count, 3);
        assert_address(service, 0, "10.96.0.1", ADDRESS_CLUSTER, false);
        assert_address(service, 1, "10.0.0.1", ADDRESS_LOAD_BALANCER, false);
        assert_address(service, 2, "10.0.0.2", ADDRESS_LOAD_BALANCER, false);
    }
}

static void refuses_what_decides_about_packets(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *place, *message;
    } cases[] = {
        { "", "test:1:1", "spec is missing" },
        { "spec: null\n", "test:1:1", "spec is missing" },
        { "spec: []\n", "test:4:7", "spec: expected a map" },
        { "spec: {clusterIP: 10.96.0.1}\n", "test:4:7", "ports are missing" },
        { "spec: {clusterIP: 10.96.0.1, ports: []}\n", "test:4:7", "ports are missing" },
        { "spec: {ports: {}}\n", "test:4:15", "spec.ports: expected a list" },
        { "spec: {ports: [80]}\n", "test:4:16", "spec.ports[0]: expected a map" },
        { "spec: {ports: [null]}\n", "test:4:16", "spec.ports[0]: is null" },
        { "spec: {ports: [{port: 70000}]}\n", "test:4:23", "spec.ports[0].port: 70000" },
        { "spec: {ports: [{port: 0}]}\n", "test:4:23", "port" },
        { "spec: {ports: [{port: -1}]}\n", "test:4:23", "port" },
        { "spec: {ports: [{port: http}]}\n", "test:4:23", "whole number" },
        { "spec: {ports: [{port: \"80\"}]}\n", "test:4:23", "whole number" },
        { "spec: {ports: [{name: http}]}\n", "test:4:16", "port is missing" },
        { "spec: {ports: [{port: 80, nodePort: 65536}]}\n", "test:4:37", "nodePort" },
        { "spec: {ports: [{port: 80, protocol: tcp}]}\n", "test:4:37",
          "\"tcp\", expected TCP, UDP or SCTP" },
        { "spec: {ports: [{port: 80}, {port: 81}, {port: 80, name: b}]}\n", "test:4:40",
          "80/TCP is there already" },
        { "spec: {type: Balancer}\n", "test:4:14", "spec.type: unknown word" },
        { "spec: {externalTrafficPolicy: local}\n", "test:4:31", "expected Cluster or Local" },
        { "spec: {internalTrafficPolicy: [Local]}\n", "test:4:31", "expected a single value" },
        { "spec: {loadBalancerClass: {}}\n", "test:4:27", "expected a single value" },
        { "spec: {sessionAffinity: clientip}\n", "test:4:25", "expected None or ClientIP" },
        { "spec: {sessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}}\n", "test:4:59",
          "timeoutSeconds" },
        { "spec: {sessionAffinityConfig: {clientIP: {timeoutSeconds: 86401}}}\n", "test:4:59",
          "timeoutSeconds" },
        { "spec: {healthCheckNodePort: 65536}\n", "test:4:29", "healthCheckNodePort" },
        { "spec: {loadBalancerSourceRanges: 10.0.0.0/8}\n", "test:4:34", "expected a list" },
        { "spec: {loadBalancerSourceRanges: [{}], ports: []}\n", "test:4:35",
          "expected a single value" },
        { "spec: {clusterIPs: 10.96.0.1}\n", "test:4:20", "expected a list" },
        { "spec: {externalIPs: [[10.0.0.1]]}\n", "test:4:22", "expected a single value" },
        { "spec: {}\nstatus: {loadBalancer: {ingress: {ip: 10.0.0.1}}}\n", "test:5:34",
          "status.loadBalancer.ingress: expected a list" },
        { "spec: {}\nstatus: {loadBalancer: {ingress: [10.0.0.1]}}\n", "test:5:35",
          "expected a map" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), SERVICE_HEAD "%s", cases[i].text);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_refused(&decoded, 1);
        assert_fault(&decoded.errors, cases[i].place, cases[i].message);
    }
}

static void same_port_of_two_protocols_is_fine(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded = decode_yaml(
        SERVICE_HEAD "spec: {clusterIP: 10.96.0.1, ports: [{name: a, port: 53},"
                     " {name: b, port: 53, protocol: UDP}, {name: c, port: 53, protocol: SCTP}]}");
    assert_decoded(&decoded, 0);
    assert_int_equal(to_service(decoded.object)->port_count, 3);
}

static void names_every_error_at_once(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded = decode_yaml("apiVersion: v1\n"
                                                     "kind: Service\n"
                                                     "metadata: {}\n"
                                                     "spec:\n"
                                                     "  type: Fancy\n"
                                                     "  externalTrafficPolicy: Near\n"
                                                     "  ports:\n"
                                                     "  - port: 70000\n"
                                                     "  - port: 80\n"
                                                     "    protocol: ICMP\n");
    assert_refused(&decoded, 5);
    assert_fault(&decoded.errors, "test:3:11", "name is missing");
    assert_fault(&decoded.errors, "test:5:9", "spec.type");
    assert_fault(&decoded.errors, "test:6:26", "spec.externalTrafficPolicy");
    assert_fault(&decoded.errors, "test:8:11", "spec.ports[0].port");
    assert_fault(&decoded.errors, "test:10:15", "spec.ports[1].protocol");
}

static void a_flood_of_faults_is_cut_short(void **state)
{
    (void)state;
    struct text text = { 0 };
    text_add(&text, SERVICE_HEAD "spec:\n  externalIPs:\n");
    for (int i = 0; i < 5000; i++)
        text_add(&text, "  - none\n");
    text_add(&text, "  - 192.0.2.1\n");
    {
        AUTODECODED struct decoded decoded = decode_yaml(text_str(&text));
        assert_decoded(&decoded, 21);
        assert_string_equal(decoded.warnings.list.items[20].message,
                            "further warnings are not listed");
        assert_int_equal(to_service(decoded.object)->address_count, 1);
    }
    text_add(&text, "  ports:\n");
    for (int i = 0; i < 5000; i++)
        text_add(&text, "  - port: 0\n");
    {
        AUTODECODED struct decoded decoded = decode_yaml(text_str(&text));
        assert_refused(&decoded, 21);
        assert_string_equal(decoded.errors.list.items[20].message, "further errors are not listed");
    }
    text_done(&text);
}

static void names_of_values(void **state)
{
    (void)state;
    assert_string_equal(protocol_name(PROTOCOL_TCP), "TCP");
    assert_string_equal(protocol_name(PROTOCOL_UDP), "UDP");
    assert_string_equal(protocol_name(PROTOCOL_SCTP), "SCTP");
    assert_string_equal(service_type_name(SERVICE_EXTERNAL_NAME), "ExternalName");
    assert_string_equal(service_type_name(SERVICE_CLUSTER_IP), "ClusterIP");
    assert_string_equal(address_origin_name(ADDRESS_CLUSTER), "clusterIP");
    assert_string_equal(address_origin_name(ADDRESS_LOAD_BALANCER), "loadBalancer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_kubectl_prints),
        cmocka_unit_test(fills_in_defaults),
        cmocka_unit_test(headless_is_none_or_nothing_to_serve),
        cmocka_unit_test(skips_bad_addresses_one_by_one),
        cmocka_unit_test(skips_bad_ranges_one_by_one),
        cmocka_unit_test(affinity_has_a_default),
        cmocka_unit_test(a_bad_cluster_ip_does_not_make_it_headless),
        cmocka_unit_test(normalises_and_unites_addresses),
        cmocka_unit_test(of_both_modes_vip_counts),
        cmocka_unit_test(refuses_what_decides_about_packets),
        cmocka_unit_test(same_port_of_two_protocols_is_fine),
        cmocka_unit_test(names_every_error_at_once),
        cmocka_unit_test(a_flood_of_faults_is_cut_short),
        cmocka_unit_test(names_of_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
