// SPDX-License-Identifier: Apache-2.0
/* Fields that nobody reads: misspelt ones and those in the wrong place are told, all others not. */
#include "base/macro.h"
#include "decoded.h"

static void assert_told_from(const char *file, const char *text, const char *place,
                             const char *part)
{
    AUTODECODED struct decoded decoded = decode_from(file, text, READER_YAML, KIND_COUNT);
    assert_int_equal(decoded.warnings.list.count, part ? 1 : 0);
    if (part)
        assert_fault(&decoded.warnings, place, part);
}

static void assert_told(const char *text, const char *place, const char *part)
{
    assert_told_from("test", text, place, part);
}

#define SERVICE "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"
#define SLICE                                                \
    "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n" \
    "metadata: {name: a, labels: {kubernetes.io/service-name: a}}\naddressType: IPv4\n"

static void a_misspelt_field_is_told(void **state)
{
    (void)state;
    assert_told(SERVICE
                "spec: {type: ExternalName, externalName: a, externalTrafficpolicy: Local}\n",
                "test:4:68", "did you mean \"externalTrafficPolicy\"?");
    assert_told(SERVICE
                "spec: {type: ExternalName, externalName: a, load_balancer_source_ranges: [a]}\n",
                "test:4:74", "did you mean \"loadBalancerSourceRanges\"?");
    assert_told(SERVICE "spec:\n  ports:\n  - port: 80\n  - {port: 81, nodeprot: 30080}\n",
                "test:7:26", "did you mean \"nodePort\"?");
    assert_told(SLICE "ports: []\nendpoints: [{addresses: [10.0.0.1], nodename: a}]\n", "test:6:47",
                "did you mean \"nodeName\"?");
    assert_told("apiVersion: coil.cybozu.com/v2\nkind: AddressPool\nmetadata: {name: a}\n"
                "spec: {blocksizeBits: 5, subnets: [{ipv4: 10.0.0.0/16}]}\n",
                "test:4:23", "did you mean \"blockSizeBits\"?");
}

static void a_field_in_the_wrong_place_is_told(void **state)
{
    (void)state;
    assert_told(SERVICE "spec: {type: ExternalName, externalName: a}\nexternalIPs: [192.0.2.1]\n",
                "test:5:14", "\"externalIPs\" is a field of spec");
    assert_told(SERVICE "spec: {type: ExternalName, externalName: a, annotations: {a: b}}\n",
                "test:4:58", "\"annotations\" is a field of metadata");
    assert_told("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
                "metadata: {name: a, addressType: IPv4, labels: {kubernetes.io/service-name: a}}\n"
                "addressType: IPv4\nports: []\nendpoints: []\n",
                "test:3:34", "\"addressType\" is a field of the object itself");
}

static void other_fields_are_silent(void **state)
{
    (void)state;
    assert_told(
        SERVICE
        "spec: {type: ExternalName, externalName: a, clusterIP: '', newField: 1}\nimmutable: true\n",
        "", NULL);
    assert_told(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
        "spec: {nodeName: a, hostname: b, nodeSelector: {}, priority: 0, os: {name: linux},\n"
        "  containers: [{name: a, ports: [{name: http}]}]}\n"
        "status: {phase: Running, podIP: 10.0.0.1, hostIP: 10.0.0.2, qosClass: Burstable}\n",
        "", NULL);
}

#define POOL                                              \
    "apiVersion: coil.cybozu.com/v2\nkind: AddressPool\n" \
    "metadata: {name: a, deletiontimestamp: '2026-11-26T12:00:00Z'}\n"

/* The API server drops what it does not know, so that a field that it does have is one of a later
 * Kubernetes. What a custom resource may have its CRD says, which may keep everything. */
static void of_the_api_only_custom_resources_are_told(void **state)
{
    static const char later[] = SERVICE
        "spec: {type: ExternalName, externalName: a, clusterIPS: [a], externalTrafficPolicys: {},\n"
        "  annotations: {a: b}, ports: [{port: 80, nodePorts: [1]}]}\n";
    AUTODECODED struct decoded written = decode_yaml(later);
    (void)state;
    assert_int_equal(written.warnings.list.count, 4);
    assert_told_from("", later, "", NULL);
    assert_told_from("", SLICE "ports: []\nendpoints: [{addresses: [10.0.0.1], zones: [a]}]\n", "",
                     NULL);
    assert_told_from("",
                     "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: a}\n"
                     "addressType: IPv4\nports: []\nendpoints: []\n", /* somebody else's */
                     "", NULL);
    assert_told_from("", POOL "spec: {blocksizeBits: 5, subnets: [{ipv4: 10.0.0.0/16}]}\n", ":4:23",
                     "did you mean \"blockSizeBits\"?");
    assert_told("apiVersion: v1\nkind: Node\nmetadata: {name: a, deletiontimestamp: '1'}\n",
                "test:3:40", "did you mean \"deletionTimestamp\"?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_misspelt_field_is_told),
        cmocka_unit_test(a_field_in_the_wrong_place_is_told),
        cmocka_unit_test(other_fields_are_silent),
        cmocka_unit_test(of_the_api_only_custom_resources_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
