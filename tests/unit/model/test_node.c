// SPDX-License-Identifier: Apache-2.0
/* Nodes: addresses, the exclusion label, the network's condition, and the marks of a removal. */
#include "base/macro.h"
#include "decoded.h"
#include "model/node.h"

static void reads_what_kubectl_prints(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded = decode_yaml(
        "apiVersion: v1\n"
        "kind: Node\n"
        "metadata:\n"
        "  annotations: {volumes.kubernetes.io/controller-managed-attach-detach: \"true\"}\n"
        "  labels:\n"
        "    kubernetes.io/hostname: node-1\n"
        "    topology.kubernetes.io/zone: zone-a\n"
        "    node.kubernetes.io/exclude-from-external-load-balancers: \"\"\n"
        "  name: node-1\n"
        "  namespace: ignored\n"
        "spec: {podCIDR: 10.244.0.0/24, podCIDRs: [10.244.0.0/24, \"fd00:244::/64\"], taints: null}\n"
        "status:\n"
        "  addresses:\n"
        "  - {address: node-1.example.com, type: Hostname}\n"
        "  - {address: 198.51.100.9, type: ExternalIP}\n"
        "  - {address: 192.0.2.11, type: InternalIP}\n"
        "  - {address: 192.0.2.12, type: InternalIP}\n"
        "  - {address: \"fd00::b\", type: InternalIP}\n"
        "  - {address: nowhere, type: ExternalIP}\n" /* 19 */
        "  - {address: 198.51.100.1, type: ExternalIP}\n"
        "  - {address: not-ours, type: ExternalDNS}\n"
        "  conditions:\n"
        "  - {type: Ready, status: \"True\"}\n"
        "  - {type: NetworkUnavailable, status: \"True\", reason: NoRoute}\n");
    assert_decoded(&decoded, 1);
    assert_fault(&decoded.warnings, "test:19:15", "\"nowhere\" is not an IP address");
    const struct node *node = to_node(decoded.object);
    char text[IP_STRLEN];
    assert_string_equal(node->object.namespace, "");
    assert_int_equal(node->address_count, 5);
    assert_string_equal(ip_str(&node->addresses[0], text), "198.51.100.9");
    assert_string_equal(ip_str(&node->addresses[3], text), "fd00::b");
    assert_string_equal(ip_str(&node->addresses[4], text), "198.51.100.1");
    assert_string_equal(ip_str(&node->primary_v4, text), "192.0.2.11");
    assert_string_equal(ip_str(&node->primary_v6, text), "fd00::b");
    char net[PREFIX_STRLEN];
    assert_int_equal(node->pod_net_count, 2);
    assert_string_equal(prefix_str(&node->pod_nets[0], net), "10.244.0.0/24");
    assert_string_equal(prefix_str(&node->pod_nets[1], net), "fd00:244::/64");
    assert_string_equal(node->zone, "zone-a");
    assert_int_equal(node->label_count, 3);
    assert_string_equal(node->labels[0].name, "kubernetes.io/hostname");
    assert_string_equal(node->labels[0].value, "node-1");
    assert_string_equal(node->labels[2].name, "topology.kubernetes.io/zone");
    assert_true(node->excluded);
    assert_true(node->network_unavailable);
    assert_true(node->ready && node->ready_is_said);
}

/* As with addresses: one that can't be used takes nothing else with it. */
static void bad_pod_networks_are_skipped(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml("apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
                    "spec:\n  podCIDRs:\n  - 10.244.0.0/240\n  - null\n  - 10.244.1.9/24\n");
    assert_decoded(&decoded, 3);
    assert_fault(&decoded.warnings, "test:6:5", "\"10.244.0.0/240\" is not a CIDR; skipped");
    char net[PREFIX_STRLEN];
    assert_int_equal(to_node(decoded.object)->pod_net_count, 1);
    assert_string_equal(prefix_str(&to_node(decoded.object)->pod_nets[0], net), "10.244.1.0/24");
}

static void what_is_nearly_read_is_told(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml("apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
                    "spec: {podCIDR: 10.244.1.0/24, podCIDRs: [10.244.0.0/24]}\n"
                    "status: {addresses: [{type: InternalIp, address: 192.0.2.1}, {type: "
                    "InternalDNS, address: n}, {type: Hostname, address: n}]}\n");
    assert_decoded(&decoded, 2);
    assert_fault(&decoded.warnings, "test:4:17", "does not count: podCIDRs does");
    assert_fault(&decoded.warnings, "test:5:29", "did you mean \"InternalIP\"?");
}

static void without_status_it_is_available(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "status: {}\n",
        "status: {conditions: null, addresses: null}\n",
        "status: {conditions: [{type: NetworkUnavailable, status: \"False\"}]}\n",
        "status: {conditions: [{type: NetworkUnavailable, status: Unknown}, {}]}\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n%s",
                 cases[i]);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_decoded(&decoded, 0);
        assert_string_equal(to_node(decoded.object)->zone, "");
        assert_int_equal(to_node(decoded.object)->primary_v4.family, IP_NONE);
        assert_false(to_node(decoded.object)->network_unavailable);
        assert_false(to_node(decoded.object)->excluded);
        assert_int_equal(to_node(decoded.object)->address_count, 0);
    }
}

static void reads_the_marks_of_a_removal(void **state)
{
    (void)state;
    static const struct {
        const char *metadata, *spec;
        bool deleting, to_be_deleted;
    } cases[] = {
        { "", "{}", false, false },
        { "", "{taints: null, unschedulable: null}", false, false },
        { ", deletionTimestamp: null", "{}", false, false },
        { ", deletionTimestamp: \"2026-11-20T07:33:00Z\"", "{}", true, false },
        { "", "{taints: [{key: a, effect: NoSchedule}, {key: b}, {}]}", false, false },
        { "", "{taints: [{key: ToBeDeletedByClusterAutoscaler, effect: NoSchedule}]}", false,
          true },
        { "", "{taints: [{key: a}, {key: ToBeDeletedByClusterAutoscaler, value: x}]}", false,
          true },
        { "", "{taints: [{key: ToBeDeletedByClusterAutoscalerX}]}", false, false },
        { "", "{taints: [{key: DeletionCandidateOfClusterAutoscaler}]}", false, false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 "apiVersion: v1\nkind: Node\nmetadata: {name: n%s}\nspec: %s\n", cases[i].metadata,
                 cases[i].spec);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        AUTODECODED struct decoded plain =
            decode_yaml("apiVersion: v1\nkind: Node\nmetadata: {name: n}\n");
        assert_decoded(&decoded, 0);
        assert_int_equal(decoded.object->deleting, cases[i].deleting);
        assert_int_equal(to_node(decoded.object)->to_be_deleted, cases[i].to_be_deleted);
        assert_int_equal(object_equal(decoded.object, plain.object),
                         !cases[i].deleting && !cases[i].to_be_deleted);
    }
}

static void refuses_wrong_types(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml("apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
                    "status: {addresses: [a], conditions: {type: Ready}}\n");
    assert_refused(&decoded, 2);
    assert_fault(&decoded.errors, "test:4:22", "status.addresses[0]");
    assert_fault(&decoded.errors, "test:4:38", "status.conditions");

    AUTODECODED struct decoded tainted = decode_yaml(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nspec: {taints: [a, {key: {}}]}\n");
    assert_refused(&tainted, 2);
    assert_fault(&tainted.errors, "test:4:17", "spec.taints[0]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_kubectl_prints),
        cmocka_unit_test(bad_pod_networks_are_skipped),
        cmocka_unit_test(what_is_nearly_read_is_told),
        cmocka_unit_test(without_status_it_is_available),
        cmocka_unit_test(reads_the_marks_of_a_removal),
        cmocka_unit_test(refuses_wrong_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
