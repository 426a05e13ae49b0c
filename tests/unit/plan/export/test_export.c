// SPDX-License-Identifier: Apache-2.0
/*
 * Documents of Services: the tests of kube-service-exporter (exportable_service_test.go) asked
 * here, and every row of its table of annotations.
 */
#include "exporting.h"
#include "plan/export/export_hash.h"
#include "plan/export/exported.h"

/* TestIsExportableService */
static void is_exported_if_it_asks_and_can_be(void **state)
{
    (void)state;
    static const struct {
        const char *type, *value;
        bool exported;
    } cases[] = {
        { "LoadBalancer", "true", true },   { "NodePort", "true", true },
        { "ClusterIP", "true", false },     { "LoadBalancer", "false", false },
        { "LoadBalancer", "pants", false }, { "LoadBalancer", "yes", false },
        { "LoadBalancer", "1", true },      { "LoadBalancer", "t", true },
        { "LoadBalancer", "T", true },      { "LoadBalancer", "TRUE", true },
        { "LoadBalancer", "True", true },   { "LoadBalancer", "tRUE", false },
        { "LoadBalancer", "", false },      { "LoadBalancer", "0", false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOEXPORTS struct exports exports;
        exports_begin(&exports);
        AUTOFREE char *yaml = text_format(
            "apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {" KSE
            "exported: '%s'}}\nspec: {type: %s, clusterIP: 10.0.0.1, ports: [{port: 80}]}\n",
            cases[i].value, cases[i].type);
        put(&exports.objects, yaml);
        export_at(&exports, 0);
        if (exports.plan.services != (size_t)cases[i].exported)
            fail_msg("case %zu", i);
    }
}

static void is_not_exported_without_annotation(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    put(&exports.objects, INGRESS);
    export_at(&exports, 0);
    assert_int_equal(exports.plan.services, 0);
    assert_int_equal(exports.plan.documents.count, 1);
}

/* TestJSON, and the first of "both upstream hash values": 17 fields, of 2024. */
static void has_defaults(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    assert_string_equal(http_of(&exports, ""),
                        "{\"hash\":\"14b57b8383342234\",\"ClusterName\":\"cluster\",\"port\":32123,"
                        "\"service_per_cluster\":true,\"health_check_port\":32123,"
                        "\"backend_protocol\":\"http\",\"custom_attrs\":{}}");
    assert_int_equal(exports.plan.documents.count, 3);
    assert_true(faults_none(&exports.faults));
}

static uint64_t field(uint64_t hash, const char *name, uint64_t value)
{
    return export_hash_field(hash, name, value);
}

/* Two versions of the same struct, with the values that upstream's tests had: 13 fields, and 15. */
static void hashes_as_upstream(void **state)
{
    (void)state;
    uint64_t hash = export_hash_struct("ExportedService");
    uint64_t empty = export_hash_text(""), port = export_hash_int32(32123);
    hash = field(hash, "ClusterId", export_hash_text("cluster"));
    hash = field(hash, "Namespace", export_hash_text("default"));
    hash = field(hash, "Name", export_hash_text("service1"));
    hash = field(hash, "PortName", export_hash_text("http"));
    hash = field(hash, "Port", port);
    hash = field(hash, "DNSName", empty);
    hash = field(hash, "ServicePerCluster", export_hash_bool(true));
    hash = field(hash, "HealthCheckPath", empty);
    hash = field(hash, "HealthCheckPort", port);
    hash = field(hash, "BackendProtocol", export_hash_text("http"));
    hash = field(hash, "ProxyProtocol", export_hash_bool(false));
    hash = field(hash, "LoadBalancerClass", empty);
    hash = field(hash, "LoadBalancerListenPort", export_hash_int32(0));
    assert_true(hash == UINT64_C(0xcdc3e2e77a74ebc8));
    hash = field(hash, "CustomAttrs", export_hash_json(NULL));
    hash = field(hash, "Version", export_hash_int64(1));
    hash = field(hash, "IngressSNI", empty);
    hash = field(hash, "IdPrefix", empty);
    assert_true(hash == UINT64_C(0x14b57b8383342234));
}

/* TestNewExportedService, "Overridden defaults"; the order of members. */
static void takes_annotations(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    put(&exports.objects, INGRESS);
    put_service1(&exports,
                 ", " KSE "load-balancer-proxy-protocol: '*', " KSE
                 "load-balancer-class: internal, " KSE "load-balancer-backend-protocol: tcp, " KSE
                 "load-balancer-health-check-path: /foo/bar, " KSE
                 "load-balancer-health-check-port: '32001', " KSE
                 "load-balancer-service-per-cluster: 'false', " KSE
                 "load-balancer-listen-port: '32768', " KSE
                 "load-balancer-dns-name: robots.example.net, " KSE
                 "custom-attrs: '{\"foo\":\"bar\", \"baz\":[\"qux\"]}', " KSE
                 "ingress-service-namespace: ingress-namespace, " KSE
                 "ingress-service-name: ingress-svc, " KSE
                 "ingress-service-port-name: ingress-port");
    export_at(&exports, 0);
    const char *value = document_at(
        &exports, "kube-service-exporter/services/default-service1-http/clusters/cluster");
    assert_non_null(value);
    assert_string_equal(strstr(value, "\"ClusterName\""),
                        "\"ClusterName\":\"cluster\",\"port\":33333,"
                        "\"dns_name\":\"robots.example.net\","
                        "\"health_check_path\":\"/foo/bar\",\"health_check_port\":32001,"
                        "\"backend_protocol\":\"tcp\",\"proxy_protocol\":true,"
                        "\"load_balancer_class\":\"internal\","
                        "\"load_balancer_listen_port\":32768,"
                        "\"ingress_sni\":\"http.service1.default.local\","
                        "\"custom_attrs\":{\"baz\":[\"qux\"],\"foo\":\"bar\"}}");
    assert_true(faults_none(&exports.faults));
}

/* Values that are not among the words count as the default, as they always did; a fault says so. */
static void doubts_unknown_words(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    const char *value = http_of(&exports, ", " KSE "load-balancer-backend-protocol: TCP, " KSE
                                          "load-balancer-proxy-protocol: 'true'");
    assert_non_null(strstr(value, "\"backend_protocol\":\"http\""));
    assert_null(strstr(value, "proxy_protocol"));
    assert_int_equal(exports.faults.list.count, 2);
    assert_string_equal(exports.faults.list.items[0].message,
                        "annotation " KSE "load-balancer-backend-protocol is \"TCP\", which counts "
                        "as \"http\"");
}

static void refuses_what_cannot_be_read(void **state)
{
    (void)state;
    static const struct {
        const char *annotations, *message;
    } cases[] = {
        { ", " KSE "load-balancer-service-per-cluster: pants",
          "annotation " KSE "load-balancer-service-per-cluster is \"pants\"" },
        { ", " KSE "load-balancer-listen-port: http",
          "annotation " KSE "load-balancer-listen-port is \"http\"" },
        { ", " KSE "load-balancer-listen-port: '2147483648'",
          "annotation " KSE "load-balancer-listen-port is \"2147483648\"" },
        { ", " KSE "load-balancer-listen-port: ''",
          "annotation " KSE "load-balancer-listen-port is \"\"" },
        { ", " KSE "load-balancer-health-check-port: ' 1'",
          "annotation " KSE "load-balancer-health-check-port is \" 1\"" },
        { ", " KSE "custom-attrs: '[1]'", "annotation " KSE "custom-attrs is no JSON object" },
        { ", " KSE "custom-attrs: '{\"a\": 1e999}'",
          "annotation " KSE "custom-attrs has a number that is too large" },
        { ", " KSE "ingress-service-namespace: a, " KSE "ingress-service-name: b, " KSE
          "ingress-service-port-name: c",
          "ingress service a/b not found for service default/service1" },
        { ", fingerpost.io/export-addresses: clusterIPs",
          "annotation fingerpost.io/export-addresses is \"clusterIPs\"" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOEXPORTS struct exports exports;
        exports_begin(&exports);
        assert_refused(&exports, cases[i].annotations, cases[i].message);
    }
}

static void refuses_broken_attributes(void **state)
{
    (void)state;
    static const char *const broken[] = { "{", "{\"a\": 1, \"a\": 2}", "" };
    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        AUTOEXPORTS struct exports exports;
        AUTOFREE char *annotation = text_format(", " KSE "custom-attrs: '%s'", broken[i]);
        exports_begin(&exports);
        put_service1(&exports, annotation);
        export_at(&exports, 0);
        assert_int_equal(exports.plan.refusals.count, 1);
    }
}

/* Numbers go through a double; names are sorted; Go escapes what HTML would take for its own. */
static void writes_attributes_as_go(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        { "{}", "{}" },
        { "null", "null" },
        { "{\"b\": 1.0, \"a\": -0.5e1, \"A\": null}", "{\"A\":null,\"a\":-5,\"b\":1}" },
        { "{\"n\": [1e20, 1e21, 123456789012345678901234]}",
          "{\"n\":[100000000000000000000,1e+21,1.2345678901234569e+23]}" },
        { "{\"n\": [0.000001, 0.0000001, 0.1, 1e-10, -0]}",
          "{\"n\":[0.000001,1e-7,0.1,1e-10,-0]}" },
        { "{\"n\": [9007199254740993, 12345678912345678]}",
          "{\"n\":[9007199254740992,12345678912345678]}" },
        { "{\"s\": \"<a href=\\\"x\\\">&\\n\\t\\\\\"}",
          "{\"s\":\"\\u003ca href=\\\"x\\\"\\u003e\\u0026\\n\\t\\\\\"}" },
        { "{\"s\": \"\\u0001\\u2028\\u00e4/\"}", "{\"s\":\"\\u0001\\u2028\xc3\xa4/\"}" },
        { "{\"t\": [true, false, \"true\", \"1\"]}", "{\"t\":[true,false,\"true\",\"1\"]}" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOEXPORTS struct exports exports;
        AUTOFREE char *annotation = text_format(", " KSE "custom-attrs: '%s'", cases[i].in);
        AUTOFREE char *end = text_format("\"custom_attrs\":%s}", cases[i].out);
        exports_begin(&exports);
        const char *value = http_of(&exports, annotation);
        assert_non_null(value);
        assert_string_equal(strstr(value, "\"custom_attrs\""), end);
    }
}

/* Each attribute counts in the hash, by its kind; values computed by hashstructure's rules. */
static void hashes_attributes(void **state)
{
    (void)state;
    static const char *const values[] = { "1",      "\"1\"",      "true", "[1]", "[1, 2]",
                                          "[2, 1]", "{\"b\": 1}", "null", "[]",  "0.5" };
    VEC(char *) hashes = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        AUTOEXPORTS struct exports exports;
        AUTOFREE char *annotation = text_format(", " KSE "custom-attrs: '{\"a\": %s}'", values[i]);
        exports_begin(&exports);
        const char *value = http_of(&exports, annotation);
        assert_int_equal(vec_push(&hashes, strndup(value, 26)), 0);
        for (size_t j = 0; j < i; j++) {
            /* A list of nothing has the hash 0, by which an empty map has it, too. */
            assert_string_not_equal(hashes.items[i], hashes.items[j]);
        }
    }
    vec_each(char *, hash, &hashes)
        free(*hash);
    vec_done(&hashes);
}

/* TestId */
static void makes_ids(void **state)
{
    (void)state;
    static const struct {
        const char *annotations, *id;
    } cases[] = {
        { "", "cluster-default-service1-http" },
        { ", " KSE "load-balancer-service-per-cluster: 'false'", "default-service1-http" },
        { ", " KSE "load-balancer-service-per-cluster: 'true'", "cluster-default-service1-http" },
        { ", " KSE "id-prefix: myprefix", "myprefix-cluster-default-service1-http" },
        { ", " KSE "id-prefix: myprefix, " KSE "load-balancer-service-per-cluster: '0'",
          "myprefix-default-service1-http" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOEXPORTS struct exports exports;
        AUTOFREE char *key =
            text_format("kube-service-exporter/services/%s/clusters/cluster", cases[i].id);
        exports_begin(&exports);
        put_service1(&exports, cases[i].annotations);
        export_at(&exports, 0);
        assert_non_null(document_at(&exports, key));
    }
}

static void names_a_port_by_its_number(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    put(&exports.objects, "apiVersion: v1\nkind: Service\nmetadata: {name: service1, namespace: "
                          "default, annotations: {" KSE "exported: 'true', " KSE
                          "ingress-service-namespace: ingress-namespace, " KSE
                          "ingress-service-name: ingress-svc, " KSE
                          "ingress-service-port-name: ingress-port}}\nspec: {type: LoadBalancer, "
                          "clusterIP: 10.0.0.1, ports: [{port: 80, nodePort: 32123, protocol: "
                          "UDP}]}\n");
    put(&exports.objects, INGRESS);
    export_at(&exports, 0);
    const char *value = document_at(
        &exports, "kube-service-exporter/services/cluster-default-service1-80/clusters/cluster");
    assert_non_null(value);
    assert_non_null(strstr(value, "\"port\":33333"));
    assert_non_null(strstr(value, "\"ingress_sni\":\"default.service1.default.local\""));
}

#define BEHIND_INGRESS                                            \
    ", " KSE "ingress-service-namespace: ingress-namespace, " KSE \
    "ingress-service-name: ingress-svc, " KSE "ingress-service-port-name: "

/* "IngressSNI, Port, HealthCheckPort"; a port that the ingress does not have changes nothing. */
static void goes_behind_an_ingress(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    put(&exports.objects, INGRESS);
    const char *value = http_of(&exports, BEHIND_INGRESS "ingress-port");
    assert_non_null(strstr(value, "\"port\":33333"));
    assert_non_null(strstr(value, "\"health_check_port\":33333"));
    assert_non_null(strstr(value, "\"ingress_sni\":\"http.service1.default.local\""));
    value = http_of(&exports, BEHIND_INGRESS "other");
    assert_non_null(strstr(value, "\"port\":32123"));
    assert_null(strstr(value, "ingress_sni"));
    assert_int_equal(exports.faults.list.count, 1);
    value = http_of(&exports, BEHIND_INGRESS "''");
    assert_non_null(strstr(value, "\"port\":32123"));
    assert_true(faults_none(&exports.faults));
}

/* "invalid port name": the label is too long. */
static void refuses_a_name_that_is_no_domain(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    put(&exports.objects, INGRESS);
    AUTOFREE char *label = malloc(65);
    memset(label, 'o', 64);
    label[64] = '\0';
    AUTOFREE char *yaml =
        text_format("apiVersion: v1\nkind: Service\nmetadata: {name: service1, namespace: default, "
                    "annotations: {" KSE "exported: 'true'" BEHIND_INGRESS "ingress-port}}\n"
                    "spec: {type: NodePort, clusterIP: 10.0.0.1, ports: [{name: %s, port: 80}]}\n",
                    label);
    put(&exports.objects, yaml);
    export_at(&exports, 0);
    assert_int_equal(exports.plan.refusals.count, 1);
    assert_non_null(strstr(exports.plan.refusals.items[0].message, "is not a valid domain name"));
}

static void makes_keys_by_template(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *key;
    } cases[] = {
        { "{{ .LoadBalancerClass }}/{{ id }}",
          "kube-service-exporter/services/internal/cluster-default-service1-http/clusters/cluster" },
        { "{{.Namespace}}-{{.Name}}-{{.PortName}}-{{.Port}}-{{.ServicePerCluster}}-{{.Version}}",
          "kube-service-exporter/services/default-service1-http-32123-true-1/clusters/cluster" },
        { "x{{id}}", "kube-service-exporter/services/xcluster-default-service1-http/clusters/"
                     "cluster" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOEXPORTS struct exports exports;
        exports_begin(&exports);
        put_text(&exports.config.key_template, cases[i].pattern);
        put_service1(&exports, ", " KSE "load-balancer-class: internal");
        export_at(&exports, 0);
        if (!document_at(&exports, cases[i].key))
            fail_msg("no %s", cases[i].key);
    }
}

static void refuses_templates(void **state)
{
    (void)state;
    static const char *const templates[] = { "{{ .Nothing }}", "{{ .CustomAttrs }}",
                                             "{{ id",          "{{ if .Name }}",
                                             "{{}}",           "same" };
    for (size_t i = 0; i < ARRAY_SIZE(templates); i++) {
        AUTOEXPORTS struct exports exports;
        exports_begin(&exports);
        put_text(&exports.config.key_template, templates[i]);
        put_service1(&exports, "");
        export_at(&exports, 0);
        assert_int_equal(exports.plan.refusals.count, 1);
        assert_int_equal(exports.plan.documents.count, 1);
    }
}

/* "a-b"/"c" and "a"/"b-c" ask for one key: the older one has it. */
static void gives_a_key_to_the_older(void **state)
{
    (void)state;
#define NAMED(namespace, name, created)                                                \
    "apiVersion: v1\nkind: Service\nmetadata: {name: " name                            \
    ", namespace: " namespace ", creationTimestamp: '" created "', annotations: {" KSE \
                              "exported: 'true'}}\n"                                   \
                              "spec: {type: NodePort, clusterIP: 10.0.0.1, ports: [{name: h, port: 80}, {name: " namespace ", port: 81}]}\n"
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    put(&exports.objects, NAMED("a", "b-c", "2026-11-20T07:33:01Z"));
    put(&exports.objects, NAMED("a-b", "c", "2026-11-20T07:33:00Z"));
    export_at(&exports, 0);
    assert_int_equal(exports.plan.services, 1);
    assert_int_equal(exports.plan.documents.count, 3);
    assert_string_equal(exports.plan.documents.items[2].owner, "a-b/c");
    assert_int_equal(exports.plan.refusals.count, 1);
    assert_string_equal(exports.plan.refusals.items[0].owner, "a/b-c");
}

static void takes_only_its_namespaces(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    assert_int_equal(vec_push(&exports.config.namespaces, strdup("shop")), 0);
    put_service1(&exports, "");
    export_at(&exports, 0);
    assert_int_equal(exports.plan.services, 0);
    assert_int_equal(vec_push(&exports.config.namespaces, strdup("default")), 0);
    export_at(&exports, 0);
    assert_int_equal(exports.plan.services, 1);
}

#define SLICE                                                                                 \
    "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: s, labels: "      \
    "{kubernetes.io/service-name: service1}}\naddressType: IPv4\nports: [{name: http, port: " \
    "8080}, {name: thing, port: 99}]\nendpoints: [{addresses: [10.2.0.2]}, {addresses: "      \
    "[10.2.0.1]}, {addresses: [10.2.0.3], conditions: {ready: false}}]\n"

/* What kube-service-exporter has not: the truth about endpoints, and their addresses. */
static void tells_of_endpoints_where_asked(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    exports.config.details = true;
    put(&exports.objects, SLICE);
    const char *value = http_of(&exports, "");
    assert_string_equal(strstr(value, "\"custom_attrs\""),
                        "\"custom_attrs\":{},\"protocol\":\"TCP\",\"ready_endpoints\":2}");
    exports.config.details = false;
    value = http_of(&exports, ", fingerpost.io/export-addresses: pods");
    assert_string_equal(
        strstr(value, "\"custom_attrs\""),
        "\"custom_attrs\":{},\"addresses\":[{\"Address\":\"10.2.0.1\",\"Port\":8080}"
        ",{\"Address\":\"10.2.0.2\",\"Port\":8080}]}");
    assert_true(export_plan_depends_on(&exports.plan, KIND_ENDPOINT_SLICE));
    value = http_of(&exports, "");
    assert_non_null(strstr(value, "\"custom_attrs\":{}}"));
    assert_false(export_plan_depends_on(&exports.plan, KIND_ENDPOINT_SLICE));
}

static void tells_of_addresses_where_asked(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    exports.config.addresses = EXPORT_LOAD_BALANCER;
    exports.config.details = true;
    put(&exports.objects,
        "apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {" KSE
        "exported: 'true'}}\nspec: {type: LoadBalancer, clusterIP: 10.0.0.1, "
        "externalTrafficPolicy: Local, healthCheckNodePort: 30999, ports: [{name: h, port: 80, "
        "nodePort: 30001}]}\nstatus: {loadBalancer: {ingress: [{ip: 'fd00::1'}, {ip: 192.0.2.1}]}}"
        "\n");
    export_at(&exports, 0);
    const char *value = document_at(
        &exports, "kube-service-exporter/services/cluster-default-a-h/clusters/cluster");
    assert_non_null(strstr(value, "\"health_check_port\":30999"));
    assert_string_equal(strstr(value, "\"external_traffic_policy\""),
                        "\"external_traffic_policy\":\"Local\",\"addresses\":[{\"Address\":"
                        "\"192.0.2.1\",\"Port\":80},{\"Address\":\"fd00::1\",\"Port\":80}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_exported_if_it_asks_and_can_be),
        cmocka_unit_test(is_not_exported_without_annotation),
        cmocka_unit_test(has_defaults),
        cmocka_unit_test(hashes_as_upstream),
        cmocka_unit_test(takes_annotations),
        cmocka_unit_test(doubts_unknown_words),
        cmocka_unit_test(refuses_what_cannot_be_read),
        cmocka_unit_test(refuses_broken_attributes),
        cmocka_unit_test(writes_attributes_as_go),
        cmocka_unit_test(hashes_attributes),
        cmocka_unit_test(makes_ids),
        cmocka_unit_test(names_a_port_by_its_number),
        cmocka_unit_test(goes_behind_an_ingress),
        cmocka_unit_test(refuses_a_name_that_is_no_domain),
        cmocka_unit_test(makes_keys_by_template),
        cmocka_unit_test(refuses_templates),
        cmocka_unit_test(gives_a_key_to_the_older),
        cmocka_unit_test(takes_only_its_namespaces),
        cmocka_unit_test(tells_of_endpoints_where_asked),
        cmocka_unit_test(tells_of_addresses_where_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
