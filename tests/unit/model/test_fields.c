// SPDX-License-Identifier: Apache-2.0
/* Fields that nobody reads: misspelt ones and those in the wrong place are told, all others not. */
#include "base/macro.h"
#include "decoded.h"

static void assert_told(const char *text, const char *place, const char *part)
{
    AUTODECODED struct decoded decoded = decode_yaml(text);
    assert_int_equal(decoded.warnings.list.count, part ? 1 : 0);
    if (part)
        assert_fault(&decoded.warnings, place, part);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_misspelt_field_is_told),
        cmocka_unit_test(a_field_in_the_wrong_place_is_told),
        cmocka_unit_test(other_fields_are_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
