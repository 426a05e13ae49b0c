// SPDX-License-Identifier: Apache-2.0
/* EndpointSlices: conditions' defaults, what is skipped, and that none slips through cut short. */
#include "base/macro.h"
#include "decoded.h"
#include "model/services/endpoint_slice.h"

#define SLICE_HEAD                                           \
    "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n" \
    "metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}\n" /* 3 */

static void reads_what_kubectl_prints(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml("addressType: IPv4\n"
                    "apiVersion: discovery.k8s.io/v1\n"
                    "endpoints:\n"
                    "- addresses: [10.224.0.5, 10.224.0.99]\n"
                    "  conditions: {ready: true, serving: true, terminating: false}\n"
                    "  hints: {forZones: [{name: a}, {name: b}], forNodes: [{name: node-1}]}\n"
                    "  nodeName: node-1\n"
                    "  targetRef: {kind: Pod, name: web-abc, namespace: shop, uid: f00}\n"
                    "  zone: a\n"
                    "- addresses: [\"10.224.001.05\"]\n"
                    "kind: EndpointSlice\n"
                    "metadata:\n"
                    "  creationTimestamp: null\n"
                    "  generateName: web-\n"
                    "  labels:\n"
                    "    endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io\n"
                    "    kubernetes.io/service-name: web\n"
                    "  name: web-x7\n"
                    "  namespace: shop\n"
                    "  ownerReferences: [{apiVersion: v1, kind: Service, name: web, uid: f01}]\n"
                    "ports:\n"
                    "- {appProtocol: null, name: http, port: 8080, protocol: TCP}\n"
                    "- {name: \"\", port: 53, protocol: UDP}\n"
                    "- {name: all, port: null}\n"
                    "- {name: unset, port: 0}\n");
    assert_decoded(&decoded, 0);
    const struct endpoint_slice *slice = to_endpoint_slice(decoded.object);
    assert_string_equal(slice->service, "web");
    assert_int_equal(slice->family, IP_V4);
    assert_false(slice->headless_label);
    assert_true(slice->object.created_ms == 0);
    assert_int_equal(slice->port_count, 4);
    assert_string_equal(slice->ports[0].name, "http");
    assert_int_equal(slice->ports[0].port, 8080);
    assert_string_equal(slice->ports[1].name, "");
    assert_int_equal(slice->ports[1].protocol, PROTOCOL_UDP);
    assert_int_equal(slice->ports[2].port, 0);
    assert_int_equal(slice->ports[2].protocol, PROTOCOL_TCP);
    assert_int_equal(slice->ports[3].port, 0);
    assert_int_equal(slice->endpoint_count, 2);
    char text[IP_STRLEN];
    assert_string_equal(ip_str(&slice->endpoints[0].ip, text), "10.224.0.5");
    assert_string_equal(slice->endpoints[0].node_name, "node-1");
    assert_string_equal(ip_str(&slice->endpoints[1].ip, text), "10.224.1.5");
    assert_string_equal(slice->endpoints[1].node_name, "");
    const struct endpoint_hints *hints = slice->endpoints[0].hints;
    assert_int_equal(hints->zone_count, 2);
    assert_string_equal(hints->zones[0], "a");
    assert_string_equal(hints->zones[1], "b");
    assert_int_equal(hints->node_count, 1);
    assert_string_equal(hints->nodes[0], "node-1");
    assert_null(slice->endpoints[1].hints);
}

static void condition_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *conditions;
        bool ready, serving, terminating;
    } cases[] = {
        { "", true, true, false },
        { "conditions: null", true, true, false },
        { "conditions: {}", true, true, false },
        { "conditions: {ready: null, serving: null, terminating: null}", true, true, false },
        { "conditions: {ready: false}", false, true, false },
        { "conditions: {ready: false, serving: null}", false, true, false },
        { "conditions: {ready: false, terminating: true}", false, true, true },
        { "conditions: {ready: false, serving: true, terminating: true}", false, true, true },
        { "conditions: {serving: false}", true, false, false },
        { "conditions: {terminating: true}", true, true, true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 SLICE_HEAD "addressType: IPv6\nports: []\n"
                            "endpoints: [{addresses: [\"fd00::5\"], %s}]\n",
                 cases[i].conditions);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_decoded(&decoded, 0);
        const struct endpoint_slice *slice = to_endpoint_slice(decoded.object);
        assert_int_equal(slice->endpoint_count, 1);
        assert_int_equal(slice->endpoints[0].ready, cases[i].ready);
        assert_int_equal(slice->endpoints[0].serving, cases[i].serving);
        assert_int_equal(slice->endpoints[0].terminating, cases[i].terminating);
    }
}

static void skips_what_cannot_be_reached(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded = decode_yaml(SLICE_HEAD "addressType: IPv4\n"
                                                                "ports: []\n"
                                                                "endpoints:\n"
                                                                "- {}\n" /* 7 */
                                                                "- addresses: []\n"
                                                                "- addresses: null\n"
                                                                "- addresses: [\"fd00::5\"]\n"
                                                                "- addresses: [pod-1]\n"
                                                                "- addresses: [127.0.0.1]\n"
                                                                "  conditions: {ready: false}\n"
                                                                "- addresses: [10.0.0.9]\n"
                                                                "  nodeName: n\n");
    assert_decoded(&decoded, 6);
    assert_fault(&decoded.warnings, "test:7:3", "has no addresses");
    assert_fault(&decoded.warnings, "test:8:3", "has no addresses");
    assert_fault(&decoded.warnings, "test:10:15", "endpoints[3].addresses[0]: ");
    assert_fault(&decoded.warnings, "test:11:15", "\"pod-1\" is not an IP address");
    assert_fault(&decoded.warnings, "test:12:15", "loopback");
    const struct endpoint_slice *slice = to_endpoint_slice(decoded.object);
    assert_int_equal(slice->endpoint_count, 1);
    assert_string_equal(slice->endpoints[0].node_name, "n");
    assert_true(slice->endpoints[0].ready);
}

static void null_lists_and_foreign_slices_are_fine(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint8_t family;
    } cases[] = {
        { "addressType: IPv4\nports: null\nendpoints: null\n", IP_V4 },
        { "addressType: IPv4\nports: null\n", IP_V4 }, /* since Kubernetes 1.36 */
        { "addressType: IPv6\nports: []\nendpoints: []\n", IP_V6 },
        { "addressType: FQDN\nports: []\nendpoints: [{addresses: [a.example.com]}]\n", IP_NONE },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), SLICE_HEAD "%s", cases[i].text);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_decoded(&decoded, 0);
        const struct endpoint_slice *slice = to_endpoint_slice(decoded.object);
        assert_int_equal(slice->family, cases[i].family);
        assert_int_equal(slice->endpoint_count, 0);
        assert_int_equal(slice->port_count, 0);
    }

    AUTODECODED struct decoded decoded =
        decode_yaml("{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: x,"
                    " labels: {service.kubernetes.io/headless: \"\"}}, addressType: IPv4,"
                    " endpoints: [], ports: []}");
    assert_decoded(&decoded, 0);
    assert_string_equal(to_endpoint_slice(decoded.object)->service, "");
    assert_true(to_endpoint_slice(decoded.object)->headless_label);
}

static void refuses_what_is_cut_short_or_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *message;
    } cases[] = {
        { "endpoints: []\nports: []\n", "test:1:1", "addressType is missing" },
        { "addressType: null\nendpoints: []\nports: []\n", "test:1:1", "addressType is missing" },
        { "addressType: \"\"\nendpoints: []\nports: []\n", "test:4:14", "addressType: is empty" },
        { "addressType: ipv4\nendpoints: []\nports: []\n", "test:4:14",
          "expected IPv4, IPv6 or FQDN" },
        { "addressType: IPv4\nendpoints: []\n", "test:1:1", "ports is missing" },
        { "addressType: IPv4\nendpoints: {}\nports: []\n", "test:5:12", "expected a list" },
        { "addressType: IPv4\nendpoints: [null]\nports: []\n", "test:5:13", "is null" },
        { "addressType: IPv4\nports: []\nendpoints: [10.0.0.1]\n", "test:6:13", "expected a map" },
        { "addressType: IPv4\nports: []\nendpoints: [{addresses: 10.0.0.1}]\n", "test:6:25",
          "expected a list" },
        { "addressType: IPv4\nports: []\nendpoints: [{conditions: {ready: yes}}]\n", "test:6:34",
          "conditions.ready" },
        { "addressType: IPv4\nports: []\nendpoints: [{addresses: [10.0.0.1], nodeName: []}]\n",
          "test:6:47", "nodeName" },
        { "addressType: IPv4\nendpoints: []\nports: [{port: 70000}]\n", "test:6:16", "70000" },
        { "addressType: IPv4\nendpoints: []\nports: [{protocol: XTP}]\n", "test:6:20", "XTP" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), SLICE_HEAD "%s", cases[i].text);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_refused(&decoded, 1);
        assert_fault(&decoded.errors, cases[i].place, cases[i].message);
    }
}

static void reads_when_it_was_triggered(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int64_t wall_ms;
        size_t warnings;
    } cases[] = {
        { "\"1970-01-01T00:00:02.345678901Z\"", 2345, 0 },
        { "\"1970-01-01T01:00:03+01:00\"", 3000, 0 },
        { "null", 0, 0 },
        { "\"yesterday\"", 0, 1 },
        { "\"\"", 0, 1 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
                 "metadata:\n  name: web-1\n  annotations:\n"
                 "    endpoints.kubernetes.io/last-change-trigger-time: %s\n"
                 "  labels: {kubernetes.io/service-name: web}\n"
                 "addressType: IPv4\nports: []\nendpoints: []\n",
                 cases[i].value);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_decoded(&decoded, cases[i].warnings);
        assert_int_equal(to_endpoint_slice(decoded.object)->triggered_ms, cases[i].wall_ms);
        if (cases[i].warnings)
            assert_fault(&decoded.warnings, "test:6:55", "not a time");
    }
}

static void when_it_was_triggered_is_no_difference(void **state)
{
    (void)state;
    static const char head[] =
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: IPv4\nports: []\n"
        "endpoints: []\nmetadata: {name: web-1, labels: {kubernetes.io/service-name: web}, annotations: {endpoints.kubernetes.io/"
        "last-change-trigger-time: ";
    char text[2][512];
    for (size_t i = 0; i < ARRAY_SIZE(text); i++)
        snprintf(text[i], sizeof(text[i]), "%s\"2026-11-20T07:33:0%zuZ\"}}\n", head, i);
    AUTODECODED struct decoded before = decode_yaml(text[0]), after = decode_yaml(text[1]);
    assert_decoded(&before, 0);
    assert_decoded(&after, 0);
    assert_true(object_equal(before.object, after.object));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_kubectl_prints),
        cmocka_unit_test(condition_defaults),
        cmocka_unit_test(skips_what_cannot_be_reached),
        cmocka_unit_test(null_lists_and_foreign_slices_are_fine),
        cmocka_unit_test(reads_when_it_was_triggered),
        cmocka_unit_test(when_it_was_triggered_is_no_difference),
        cmocka_unit_test(refuses_what_is_cut_short_or_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
