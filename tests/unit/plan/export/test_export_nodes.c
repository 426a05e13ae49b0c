// SPDX-License-Identifier: Apache-2.0
/*
 * The list of nodes: the tests of kube-service-exporter (node_watcher_test.go) asked here, with its
 * documented minimum instead of the one it had by mistake.
 */
#include "base/clock.h"
#include "exporting.h"

enum { NOW_S = 1763969580 }; /* 2025-11-24T07:33:00Z */

#define KEY "kube-service-exporter/nodes/cluster"

static void put_node(struct exports *exports, const char *name, const char *metadata,
                     const char *spec, const char *ready)
{
    AUTOFREE char *yaml = text_format(
        "apiVersion: v1\nkind: Node\nmetadata: {name: %s%s}\nspec: {%s}\nstatus: {addresses: "
        "[{type: InternalIP, address: 192.168.10.10}, {type: ExternalIP, address: 198.51.100.1}, "
        "{type: Hostname, address: h}], conditions: [{type: Ready, status: '%s'}]}\n",
        name, metadata, spec, ready);
    put(&exports->objects, yaml);
}

static void assert_nodes(struct exports *exports, const char *expected)
{
    export_at(exports, NOW_S * SECOND_MS);
    assert_string_equal(document_at(exports, KEY), expected);
}

static void select_by(struct exports *exports, const char *selector)
{
    assert_int_equal(vec_push(&exports->config.node_selectors, strdup(selector)), 0);
}

/* TestAddNodes; the form of the list. */
static void lists_usable_nodes(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    assert_nodes(&exports, "[]");
    select_by(&exports, "role=node");
    put_node(&exports, "0.example.net", ", labels: {role: node}", "", "True");
    put_node(&exports, "1.example.net", ", labels: {role: node}", "unschedulable: true", "True");
    put_node(&exports, "2.example.net", ", labels: {role: node}", "", "False");
    put_node(&exports, "3.example.net", ", labels: {role: api}", "", "True");
    put_node(&exports, "4.example.net", ", labels: {role: node}", "", "Unknown");
    assert_nodes(&exports, "[{\"Name\":\"0.example.net\",\"Address\":\"192.168.10.10\"}]");
    assert_int_equal(exports.plan.nodes, 1);
}

/* TestEmptySelectorAddNodes; both families of a node, in the order of names. */
static void lists_all_by_an_empty_selector(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    select_by(&exports, "");
    put_node(&exports, "b", "", "", "True");
    put(&exports.objects,
        "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {addresses: [{type: InternalIP, "
        "address: 10.0.0.1}, {type: InternalIP, address: 'fd00::1'}], conditions: [{type: Ready, "
        "status: 'True'}]}\n");
    assert_nodes(&exports, "[{\"Name\":\"a\",\"Address\":\"10.0.0.1\"},{\"Name\":\"a\","
                           "\"Address\":\"fd00::1\"},{\"Name\":\"b\",\"Address\":"
                           "\"192.168.10.10\"}]");
    assert_int_equal(exports.plan.nodes, 2);
}

/* TestAddNodesMultipleSelectors, and one that is exactly enough. */
static void takes_the_first_selector_with_enough(void **state)
{
    (void)state;
    static const struct {
        uint32_t min_nodes;
        int nodes, apis;
        const char *expected;
    } cases[] = {
        { 1, 2, 2, "n" }, { 2, 1, 2, "a" }, { 2, 1, 1, "a" }, { 2, 1, 0, "n" },
        { 1, 1, 1, "n" }, { 2, 2, 3, "n" }, { 1, 0, 0, "" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOEXPORTS struct exports exports;
        AUTOTEXT struct text expected = { 0 };
        exports_begin(&exports);
        select_by(&exports, "role=node");
        select_by(&exports, "role=api");
        exports.config.min_nodes = cases[i].min_nodes;
        for (int j = 0; j < cases[i].nodes + cases[i].apis; j++) {
            AUTOFREE char *name = text_format("%c%d", j < cases[i].nodes ? 'n' : 'a', j);
            put_node(&exports, name,
                     j < cases[i].nodes ? ", labels: {role: node}" : ", labels: {role: api}", "",
                     "True");
            if (name[0] == cases[i].expected[0])
                text_addf(&expected, "%s{\"Name\":\"%s\",\"Address\":\"192.168.10.10\"}",
                          expected.length ? "," : "", name);
        }
        AUTOFREE char *list = text_format("[%s]", text_str(&expected));
        assert_nodes(&exports, list);
    }
}

#define PRETEND(time) ", annotations: {" KSE "pretend-ready-until: '" time "'}"

/* TestUpdateNodes; the plan says when it ends. */
static void pretends_to_be_ready(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    put_node(&exports, "a", PRETEND("2025-11-24T07:33:02Z"), "unschedulable: true", "False");
    assert_nodes(&exports, "[{\"Name\":\"a\",\"Address\":\"192.168.10.10\"}]");
    assert_true(exports.plan.until_wall_ms == (NOW_S + 2) * SECOND_MS);
    put_node(&exports, "b", PRETEND("2025-11-24T09:33:01+02:00"), "", "False");
    export_at(&exports, NOW_S * SECOND_MS);
    assert_true(exports.plan.until_wall_ms == (NOW_S + 1) * SECOND_MS);
    export_at(&exports, (NOW_S + 2) * SECOND_MS);
    assert_string_equal(document_at(&exports, KEY), "[]");
    assert_true(exports.plan.until_wall_ms == 0);
    assert_true(faults_none(&exports.faults));
}

static void ignores_a_time_that_is_none(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    put_node(&exports, "a", PRETEND("soon"), "", "False");
    put_node(&exports, "b", PRETEND("soon"), "", "True");
    assert_nodes(&exports, "[{\"Name\":\"b\",\"Address\":\"192.168.10.10\"}]");
    assert_raised(&exports.faults, "export-pretend-ready-unreadable at Node a\n"
                                   "export-pretend-ready-unreadable at Node b\n");
}

/* What the configuration says is looked at before any object is. */
static void a_selector_and_a_template_that_are_none(void **state)
{
    (void)state;
    AUTOEXPORTS struct exports exports;
    exports_begin(&exports);
    plan_export_check(&exports.config, &exports.faults);
    assert_true(faults_none(&exports.faults));
    select_by(&exports, "app in (web");
    put_text(&exports.config.key_template, "{{ .Nobody }}");
    plan_export_check(&exports.config, &exports.faults);
    assert_raised(&exports.faults, "export-selector-wrong at consul.nodeSelectors\n"
                                   "export-template-wrong at consul.keyTemplate\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_selector_and_a_template_that_are_none),
        cmocka_unit_test(lists_usable_nodes),
        cmocka_unit_test(lists_all_by_an_empty_selector),
        cmocka_unit_test(takes_the_first_selector_with_enough),
        cmocka_unit_test(pretends_to_be_ready),
        cmocka_unit_test(ignores_a_time_that_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
