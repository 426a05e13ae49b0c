// SPDX-License-Identifier: Apache-2.0
/* Pods and Namespaces. */
#include "base/macro.h"
#include "base/text.h"
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

static struct decoded annotated(const char *annotations)
{
    AUTOFREE char *yaml = text_format("apiVersion: v1\nkind: Pod\nspec: {}\n"
                                      "metadata: {name: p, annotations: {%s}}\n",
                                      annotations);
    return decode_yaml(yaml);
}

static void its_annotations_name_egresses(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        annotated("egress.coil.cybozu.com/net: ' nat,b.c ,nat', a: b,\n"
                  "egress.coil.cybozu.com/lab: nat, coil.cybozu.com/net: x");
    assert_decoded(&decoded, 0);
    const struct pod *pod = to_pod(decoded.object);
    static const struct egress_ref expected[] = { { "lab", "nat" },
                                                  { "net", "b.c" },
                                                  { "net", "nat" } };
    assert_int_equal(pod->egress_count, ARRAY_SIZE(expected));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_int_equal(egress_ref_cmp(&pod->egresses[i], &expected[i]), 0);
    assert_false(pod->bad_egress);
}

static void what_names_no_egress_is_remembered(void **state)
{
    (void)state;
    static const struct {
        const char *annotations, *message;
        uint32_t count;
    } cases[] = {
        { "egress.coil.cybozu.com/net: Nat", "\"Nat\" names what no Egress can be called", 0 },
        { "egress.coil.cybozu.com/net: 'a,,b'", "names what no Egress can be called", 2 },
        { "egress.coil.cybozu.com/net: ''", "names what no Egress can be called", 0 },
        { "egress.coil.cybozu.com/net: null", "is for what no namespace can be called", 0 },
        { "egress.coil.cybozu.com/: nat", "is for what no namespace can be called", 0 },
        { "egress.coil.cybozu.com/a.b: nat", "is for what no namespace can be called", 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTODECODED struct decoded decoded = annotated(cases[i].annotations);
        assert_decoded(&decoded, 1);
        assert_non_null(strstr(decoded.warnings.list.items[0].message, cases[i].message));
        assert_int_equal(to_pod(decoded.object)->egress_count, cases[i].count);
        assert_true(to_pod(decoded.object)->bad_egress);
    }
}

static void annotations_that_are_no_map_refuse_it(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml("apiVersion: v1\nkind: Pod\nspec: {}\nmetadata: {name: p, annotations: [a]}\n");
    assert_refused(&decoded, 1);
}

static void it_names_no_more_than_are_taken(void **state)
{
    (void)state;
    AUTOTEXT struct text text = { 0 };
    text_add(&text, "egress.coil.cybozu.com/net: 'e0");
    for (int i = 1; i < POD_EGRESSES_MAX; i++)
        text_addf(&text, ",e%d", i);
    AUTOFREE char *most = text_format("%s'", text_str(&text));
    AUTODECODED struct decoded decoded = annotated(most);
    assert_decoded(&decoded, 0);
    assert_int_equal(to_pod(decoded.object)->egress_count, POD_EGRESSES_MAX);

    AUTOFREE char *more = text_format("%s,e'", text_str(&text));
    AUTODECODED struct decoded refused = annotated(more);
    assert_decoded(&refused, 1);
    assert_int_equal(to_pod(refused.object)->egress_count, POD_EGRESSES_MAX);
    assert_true(to_pod(refused.object)->bad_egress);
}

static void on_the_hosts_network_it_has_no_egress(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml("apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: "
                    "{egress.coil.cybozu.com/net: nat}}\nspec: {hostNetwork: true}\n");
    assert_decoded(&decoded, 1);
    assert_fault(&decoded.warnings, "test:3:63", "leaves as its Node does");
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
        cmocka_unit_test(its_annotations_name_egresses),
        cmocka_unit_test(what_names_no_egress_is_remembered),
        cmocka_unit_test(annotations_that_are_no_map_refuse_it),
        cmocka_unit_test(it_names_no_more_than_are_taken),
        cmocka_unit_test(namespaces_choose_pools),
        cmocka_unit_test(on_the_hosts_network_it_has_no_egress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
