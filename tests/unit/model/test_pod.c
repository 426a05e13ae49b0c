// SPDX-License-Identifier: Apache-2.0
/* Pods and Namespaces. */
#include "base/macro.h"
#include "decoded.h"
#include "model/pod.h"

static void reads_a_running_pod(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded = decode_yaml(
        "apiVersion: v1\n"
        "kind: Pod\n"
        "metadata: {name: web-1, deletionTimestamp: \"2026-11-20T07:33:00Z\"}\n"
        "spec: {containers: [{name: c, image: i}], hostNetwork: true, nodeName: node-1}\n"
        "status: {phase: Running, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: \"fd00::1\"}]}\n");
    assert_decoded(&decoded, 0);
    const struct pod *pod = to_pod(decoded.object);
    char text[IP_STRLEN];
    assert_string_equal(pod->object.namespace, "default");
    assert_true(pod->object.deleting);
    assert_string_equal(pod->node_name, "node-1");
    assert_int_equal(pod->ip_count, 2);
    assert_string_equal(ip_str(&pod->ips[1], text), "fd00::1");
    assert_true(pod->host_network);
    assert_false(pod->finished);
}

static void knows_when_it_has_finished(void **state)
{
    (void)state;
    static const struct {
        const char *phase;
        bool finished;
    } cases[] = { { "Succeeded", true }, { "Failed", true }, { "Pending", false } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {}\nstatus: {phase: %s}\n",
                 cases[i].phase);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_decoded(&decoded, 0);
        assert_int_equal(to_pod(decoded.object)->finished, cases[i].finished);
        assert_string_equal(to_pod(decoded.object)->node_name, "");
        assert_false(to_pod(decoded.object)->object.deleting);
    }
}

static void a_pod_needs_a_spec(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {podIPs: {}}\n");
    assert_refused(&decoded, 2);
    assert_fault(&decoded.errors, "test:1:1", "spec is missing");
    assert_fault(&decoded.errors, "test:4:18", "status.podIPs: expected a list");
}

static void namespaces_choose_pools(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: "
                    "{coil.cybozu.com/pool: global}}\nspec: {finalizers: [kubernetes]}\n");
    assert_decoded(&decoded, 0);
    assert_string_equal(to_namespace(decoded.object)->pool, "global");
    assert_string_equal(decoded.object->namespace, "");

    AUTODECODED struct decoded plain =
        decode_yaml("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    assert_decoded(&plain, 0);
    assert_string_equal(to_namespace(plain.object)->pool, "default");
    assert_false(object_equal(decoded.object, plain.object));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_running_pod),
        cmocka_unit_test(knows_when_it_has_finished),
        cmocka_unit_test(a_pod_needs_a_spec),
        cmocka_unit_test(namespaces_choose_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
