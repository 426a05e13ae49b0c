// SPDX-License-Identifier: Apache-2.0
/* Each fault of an object as it is written: a manifest that has it, and the code that is raised. */
#include "base/text.h"
#include "decoded.h"
#include "model/fields/label_selector.h"
#include "model/pod.h"
#include "model/services/endpoints.h"
#include "model/services/service.h"
#include "raised.h"

#define OBJECT(version, kind, metadata, rest) \
    "apiVersion: " version "\nkind: " kind "\nmetadata: {name: a" metadata "}\n" rest "\n"
#define SERVICE(metadata, spec) OBJECT("v1", "Service", metadata, "spec: {" spec "}")

/* Every fault of an object is of the catalogue; the objects are refused by nothing below
 * "degraded". */
static void assert_typed(const struct faults *faults, enum fault_severity least)
{
    assert_false(faults->incomplete);
    vec_each(const struct fault, fault, &faults->list) {
        if (!fault->type || fault->type->severity < least)
            fail_msg("%s: %s", fault->place, fault->message);
    }
}

static void assert_code(const char *text, const char *code)
{
    AUTODECODED struct decoded decoded = decode_yaml(text);
    assert_typed(&decoded.errors, FAULT_DEGRADED);
    assert_typed(&decoded.warnings, FAULT_DEGRADED);
    if (find_raised(&decoded.errors, code) || find_raised(&decoded.warnings, code))
        return;
    vec_each(const struct fault, error, &decoded.errors.list)
        print_message("error %s: %s\n", error->type->code, error->message);
    vec_each(const struct fault, warning, &decoded.warnings.list)
        print_message("warning %s: %s\n", warning->type->code, warning->message);
    fail_msg("no %s of:\n%s", code, text);
}

static const struct {
    const char *code, *text;
} cases[] = {
    { "object-kind-unread", OBJECT("v1", "service", "", "spec: {}") },
    { "object-field-missing",
      OBJECT("discovery.k8s.io/v1", "EndpointSlice", ", labels: {kubernetes.io/service-name: a}",
             "addressType: IPv4") },
    { "object-field-empty",
      OBJECT("metallb.io/v1beta1", "IPAddressPool", "", "spec: {addresses: []}") },
    { "object-field-null", SERVICE("", "ports: [null]") },
    { "object-field-unknown", SERVICE("", "ports: [{port: 80}], exteralIPs: []") },
    { "object-field-misplaced",
      "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: 10.96.0.1, ports: [{port: 80}]}\nexternalIPs: []\n" },
    { "object-field-idle",
      SERVICE("", "clusterIP: 10.96.0.1, loadBalancerClass: a, ports: [{port: 80}]") },
    { "object-field-overruled", SERVICE(", annotations: {metallb.io/loadBalancerIPs: 192.0.2.8}",
                                        "loadBalancerIP: 192.0.2.9, ports: [{port: 80}]") },
    { "object-word-unknown", SERVICE("", "type: Balancer, ports: [{port: 80}]") },
    { "object-word-ignored",
      SERVICE("", "clusterIP: 10.96.0.1, trafficDistribution: PreferNear, ports: [{port: 80}]") },
    { "object-word-ignored",
      OBJECT("v1", "Node", "", "status: {addresses: [{type: internalIP, address: 192.0.2.1}]}") },
    { "object-word-replaced",
      "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: Odd}]}}\n" },
    { "object-number-replaced",
      SERVICE(", annotations: {fingerpost.io/route-class: '30'}", "ports: [{port: 80}]") },
    { "object-flag-replaced",
      SERVICE(", annotations: {fingerpost.io/announce: maybe}", "ports: [{port: 80}]") },
    { "object-flag-replaced",
      OBJECT("coil.cybozu.com/v2", "AddressBlock", ", labels: {coil.cybozu.com/reserved: maybe}",
             "index: 0\nipv4: 10.0.0.0/27") },
    { "object-time-unreadable", SERVICE(", creationTimestamp: today", "ports: [{port: 80}]") },
    { "object-time-ignored",
      OBJECT("discovery.k8s.io/v1", "EndpointSlice",
             ", annotations: {endpoints.kubernetes.io/last-change-trigger-time: today}",
             "addressType: IPv4\nports: []") },
    { "object-string-unquoted", SERVICE(", labels: {a: 7}", "ports: [{port: 80}]") },
    { "object-name-wrong",
      "apiVersion: v1\nkind: Service\nmetadata: {name: A}\nspec: {ports: [{port: 80}]}\n" },
    { "object-namespace-wrong", SERVICE(", namespace: A", "ports: [{port: 80}]") },
    { "object-selector-values-wrong",
      OBJECT(
          "metallb.io/v1beta1", "IPAddressPool", "",
          "spec: {addresses: [10.0.0.0/24], serviceAllocation: {serviceSelectors: [{matchExpressions: [{key: a, operator: In}]}]}}") },
    { "object-annotation-misspelt",
      SERVICE(", annotations: {metalb.io/address-pool: a}", "ports: [{port: 80}]") },
    { "object-label-misspelt",
      SERVICE(", labels: {service.kubernetes.io/service-proxyname: a}", "ports: [{port: 80}]") },
    { "object-annotation-unknown",
      SERVICE(", annotations: {fingerpost.io/nothing: a}", "ports: [{port: 80}]") },
    { "object-annotation-misplaced",
      SERVICE(", annotations: {fingerpost.io/gateway-nodes: a=b}", "ports: [{port: 80}]") },
    { "object-annotation-is-label",
      OBJECT("v1", "Node",
             ", annotations: {node.kubernetes.io/exclude-from-external-load-balancers: ''}",
             "spec: {}") },
    { "object-label-is-annotation",
      SERVICE(", labels: {fingerpost.io/announce: 'false'}", "ports: [{port: 80}]") },
    { "object-address-unreadable", SERVICE("", "ports: [{port: 80}], externalIPs: [x]") },
    { "object-address-special", SERVICE("", "ports: [{port: 80}], externalIPs: [127.0.0.1]") },
    { "object-cidr-unreadable",
      SERVICE("", "type: LoadBalancer, loadBalancerSourceRanges: [x], ports: [{port: 80}]") },
    { "object-prefix-unreadable",
      OBJECT("coil.cybozu.com/v2", "AddressBlock", "", "index: 0\nipv4: x") },
    { "object-host-bits",
      OBJECT("coil.cybozu.com/v2", "AddressBlock", "", "index: 0\nipv4: 10.0.0.1/27") },
    { "object-range-unreadable",
      OBJECT("metallb.io/v1beta1", "IPAddressPool", "", "spec: {addresses: [x]}") },
    { "object-range-special",
      OBJECT("metallb.io/v1beta1", "IPAddressPool", "", "spec: {addresses: [224.0.0.0/24]}") },
    { "service-ports-missing", SERVICE("", "clusterIP: 10.96.0.1") },
    { "service-port-twice", SERVICE("", "ports: [{name: a, port: 80}, {name: b, port: 80}]") },
    { "service-port-name-twice",
      SERVICE("", "clusterIP: 10.96.0.1, ports: [{port: 80}, {port: 81}]") },
    { "service-node-port-twice",
      SERVICE(
          "",
          "type: NodePort, clusterIP: 10.96.0.1, ports: [{name: a, port: 80, nodePort: 30080}, {name: b, port: 81, nodePort: 30080}]") },
    { "service-node-port-is-health-port",
      SERVICE(
          "",
          "type: LoadBalancer, clusterIP: 10.96.0.1, externalTrafficPolicy: Local, healthCheckNodePort: 30080, ports: [{port: 80, nodePort: 30080}]") },
    { "service-cluster-ip-second",
      SERVICE("", "clusterIPs: [10.96.0.1, 10.96.0.2], ports: [{port: 80}]") },
    { "service-families-disordered",
      SERVICE("", "clusterIPs: [10.96.0.1], ipFamilies: [IPv6], ports: [{port: 80}]") },
    { "service-family-policy-single",
      SERVICE(
          "",
          "clusterIPs: [10.96.0.1, 'fd00::1'], ipFamilyPolicy: SingleStack, ports: [{port: 80}]") },
    { "service-family-policy-dual",
      SERVICE("", "clusterIP: 10.96.0.1, ipFamilyPolicy: RequireDualStack, ports: [{port: 80}]") },
    { "service-cluster-ip-differs",
      SERVICE("", "clusterIP: 10.96.0.1, clusterIPs: [10.96.0.2], ports: [{port: 80}]") },
    { "service-headless-unserved",
      SERVICE("", "type: LoadBalancer, clusterIP: None, ports: [{port: 80}]") },
    { "service-external-name-missing", SERVICE("", "type: ExternalName") },
    { "service-external-name-addresses",
      SERVICE("", "type: ExternalName, externalName: a.example, clusterIP: 10.96.0.1") },
    { "service-sources-unusable",
      SERVICE("", "type: LoadBalancer, loadBalancerSourceRanges: [x], ports: [{port: 80}]") },
    { "service-address-unusable",
      SERVICE(", annotations: {metallb.io/loadBalancerIPs: x}", "ports: [{port: 80}]") },
    { "slice-endpoint-without-address",
      OBJECT("discovery.k8s.io/v1", "EndpointSlice", ", labels: {kubernetes.io/service-name: a}",
             "addressType: IPv4\nports: []\nendpoints: [{addresses: []}]") },
    { "slice-address-of-other-family",
      OBJECT("discovery.k8s.io/v1", "EndpointSlice", ", labels: {kubernetes.io/service-name: a}",
             "addressType: IPv4\nports: []\nendpoints: [{addresses: ['fd00::1']}]") },
    { "slice-of-no-service",
      OBJECT("discovery.k8s.io/v1", "EndpointSlice", "", "addressType: IPv4\nports: []") },
    { "node-pod-cidr-differs",
      OBJECT("v1", "Node", "", "spec: {podCIDR: 10.0.0.0/24, podCIDRs: [10.0.1.0/24]}") },
    { "pod-egress-name-wrong",
      OBJECT("v1", "Pod", ", annotations: {egress.coil.cybozu.com/net: A}", "spec: {}") },
    { "pod-egress-namespace-wrong",
      OBJECT("v1", "Pod", ", annotations: {egress.coil.cybozu.com/A: a}", "spec: {}") },
    { "pod-egress-of-host", OBJECT("v1", "Pod", ", annotations: {egress.coil.cybozu.com/net: a}",
                                   "spec: {hostNetwork: true}") },
    { "egress-destination-never-left-for",
      OBJECT("coil.cybozu.com/v2", "Egress", "",
             "spec: {replicas: 1, destinations: [127.0.0.0/8]}") },
    { "block-family-missing", OBJECT("coil.cybozu.com/v2", "AddressBlock", "", "index: 0") },
    { "block-families-differ",
      OBJECT("coil.cybozu.com/v2", "AddressPool", "",
             "spec: {subnets: [{ipv4: 10.0.0.0/16, ipv6: 'fd00::/96'}]}") },
    { "block-too-wide",
      OBJECT("coil.cybozu.com/v2", "AddressPool", "", "spec: {subnets: [{ipv4: 10.0.0.0/30}]}") },
    { "block-network-special",
      OBJECT("coil.cybozu.com/v2", "AddressPool", "", "spec: {subnets: [{ipv4: 127.0.0.0/16}]}") },
    { "block-subnet-of-other-families",
      OBJECT("coil.cybozu.com/v2", "AddressPool", "",
             "spec: {subnets: [{ipv4: 10.0.0.0/16}, {ipv6: 'fd00::/112'}]}") },
    { "pool-reserves-nothing", OBJECT("metallb.io/v1beta1", "IPAddressPool",
                                      ", annotations: {fingerpost.io/reserved: 10.0.1.1}",
                                      "spec: {addresses: [10.0.0.0/24]}") },
    { "advertisement-aggregation-undone",
      OBJECT("metallb.io/v1beta1", "BGPAdvertisement", "", "spec: {aggregationLength: 24}") },
    { "advertisement-attribute-undone",
      OBJECT("metallb.io/v1beta1", "BGPAdvertisement", "", "spec: {localPref: 7}") },
    { "advertisement-peers-undone",
      OBJECT("metallb.io/v1beta1", "BGPAdvertisement", "", "spec: {peers: [a]}") },
    { "advertisement-preference-undone", OBJECT("metallb.io/v1beta1", "BGPAdvertisement", "",
                                                "spec: {preferredNodeSelectors: [{}]}") },
};

static void what_is_written_wrong_has_a_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_code(cases[i].text, cases[i].code);
}

/* A text with so many copies of a pattern, which has the number of the copy in place of '#'. */
static void assert_many(const char *before, const char *pattern, int count, const char *after,
                        const char *code)
{
    AUTOTEXT struct text text = { 0 };
    const char *at = strchr(pattern, '#');
    text_add(&text, before);
    for (int i = 0; i < count; i++) {
        text_add_bytes(&text, pattern, (size_t)(at - pattern));
        text_addf(&text, "%d%s", i, at + 1);
    }
    text_add(&text, after);
    assert_code(text_str(&text), code);
}

static void what_is_too_much_has_a_code(void **state)
{
    (void)state;
    assert_many("apiVersion: v1\nkind: Service\nmetadata: {name: a, labels: {", "a#: b, ",
                LABELS_MAX + 1, "}}\nspec: {ports: [{port: 80}]}\n", "object-labels-cut");
    assert_many("apiVersion: metallb.io/v1beta1\nkind: L2Advertisement\nmetadata: {name: a}\n"
                "spec: {nodeSelectors: [{matchLabels: {",
                "a#: b, ", LABEL_SELECTOR_MAX_REQUIREMENTS + 1, "}}]}\n", "object-list-too-long");
    assert_many("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}], "
                "externalIPs: [",
                "x#, ", 21, "]}\n", "object-warnings-unlisted");
    assert_many("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [", "x#, ", 21,
                "]}\n", "object-errors-unlisted");
}

static void what_asks_for_too_much_has_a_code(void **state)
{
    (void)state;
    assert_many("apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: "
                "{metallb.io/loadBalancerIPs: '192.0.2.200",
                ",192.0.2.#", WISHED_ADDRESSES_MAX, "'}}\nspec: {ports: [{port: 80}]}\n",
                "service-addresses-too-many");
    assert_many("apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: "
                "{egress.coil.cybozu.com/net: 'a",
                ",a#", POD_EGRESSES_MAX, "'}}\nspec: {}\n", "pod-egresses-too-many");
}

static int refuse(void *context, struct object *slice)
{
    (void)context;
    object_free(slice);
    return 0;
}

static void endpoints_have_codes(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 }, errors = { 0 }, warnings = { 0 };
    AUTOTEXT struct text text = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    text_addf(&text, "apiVersion: v1\nkind: Endpoints\nmetadata: {name: %0200d}\n", 0);
    assert_int_equal(
        document_parse(text_str(&text), text.length, "test", READER_YAML, &document, &faults), 1);
    assert_int_equal(endpoints_decode(document, refuse, NULL, &errors, &warnings), -EBADMSG);
    assert_typed(&errors, FAULT_DEGRADED);
    assert_true(find_raised(&errors, "endpoints-name-too-long"));
}

/* All faults of an object of the API have one place: the key tells them apart. */
static void faults_of_one_place_differ_in_their_keys(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_from("",
                    OBJECT("metallb.io/v1beta1", "IPAddressPool",
                           ", annotations: {fingerpost.io/reserved: '10.0.1.1,10.0.2.1'}",
                           "spec: {addresses: [10.0.0.0/24]}"),
                    READER_YAML, KIND_COUNT);
    assert_decoded(&decoded, 2);
    assert_string_equal(decoded.warnings.list.items[0].place, decoded.warnings.list.items[1].place);
    assert_string_not_equal(decoded.warnings.list.items[0].key, decoded.warnings.list.items[1].key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_wrong_has_a_code),
        cmocka_unit_test(what_is_too_much_has_a_code),
        cmocka_unit_test(what_asks_for_too_much_has_a_code),
        cmocka_unit_test(endpoints_have_codes),
        cmocka_unit_test(faults_of_one_place_differ_in_their_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
