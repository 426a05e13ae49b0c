// SPDX-License-Identifier: Apache-2.0
/* An address whose ports this node has in part: when it is left to a node that has them all. */
#include "base/macro.h"
#include "planning.h"

static void put_node(struct planning *planning, const char *name, const char *labels,
                     const char *taints, const char *ready)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {%s}}\n"
                    "spec: {taints: [%s]}\n"
                    "status: {conditions: [{type: Ready, status: \"%s\"}]}\n",
                    name, labels, taints, ready);
    put(planning, yaml);
}

/* Services a and b share an address; b's port has no endpoint on this node. */
static void begin(struct planning *planning)
{
    planning_begin(planning);
    put(planning, "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: d}\n"
                  "spec: {type: LoadBalancer, externalTrafficPolicy: Local, "
                  "ports: [{name: h, port: 80}]}\n"
                  "status: {loadBalancer: {ingress: [{ip: 198.51.100.1}]}}\n");
    put(planning, "apiVersion: v1\nkind: Service\nmetadata: {name: b, namespace: d}\n"
                  "spec: {type: LoadBalancer, externalTrafficPolicy: Local, "
                  "ports: [{name: h, port: 443}]}\n"
                  "status: {loadBalancer: {ingress: [{ip: 198.51.100.1}]}}\n");
    put_node(planning, "node-1", "", "", "True");
    put_node(planning, "node-2", "", "", "True");
    put_node(planning, "node-3", "", "", "True");
    put_endpoint(planning, "a1", "a", "10.0.0.1", "node-1", "");
}

static void put_full(struct planning *planning, const char *node)
{
    put_endpoint(planning, "a2", "a", "10.0.0.2", node, "");
    put_endpoint(planning, "b2", "b", "10.0.0.3", node, "");
}

/* Plans at a time on top of the row before, which it replaces. */
static const char *next_reason(struct planning *planning, int64_t now_ms, struct address_row **row)
{
    struct ip ip;
    struct address_row *after = NULL;
    assert_int_equal(ip_parse("198.51.100.1", &ip), 0);
    planning->inputs.now_ms = now_ms;
    assert_int_equal(plan_address(&planning->inputs, &ip, *row, &after, &planning->faults), 0);
    address_row_free(*row);
    *row = after;
    return address_reason_name(after->reason);
}

static void is_left_when_another_had_time(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    CLEANUP(address_row_freep) struct address_row *row = NULL;
    begin(&planning);
    assert_string_equal(next_reason(&planning, 1000, &row), "announced");
    assert_true(row->leaves_ms == 0);
    put_full(&planning, "node-2");
    assert_string_equal(next_reason(&planning, 2000, &row), "announced");
    assert_true(row->leaves_ms == 7000);
    assert_string_equal(next_reason(&planning, 6999, &row), "announced");
    assert_true(row->leaves_ms == 7000);
    assert_string_equal(next_reason(&planning, 7000, &row), "ports-elsewhere");
    assert_true(row->leaves_ms == 0);
    assert_string_equal(next_reason(&planning, 7001, &row), "ports-elsewhere");
}

/* The time is that of one node: another one begins anew. */
static void another_stand_in_begins_anew(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    CLEANUP(address_row_freep) struct address_row *row = NULL;
    begin(&planning);
    assert_string_equal(next_reason(&planning, 1000, &row), "announced");
    put_full(&planning, "node-3");
    assert_string_equal(next_reason(&planning, 2000, &row), "announced");
    put_full(&planning, "node-2");
    assert_string_equal(next_reason(&planning, 5000, &row), "announced");
    assert_true(row->leaves_ms == 10000);
    assert_string_equal(next_reason(&planning, 9999, &row), "announced");
    put_endpoint(&planning, "a3", "a", "10.0.0.4", "node-1", "");
    put_endpoint(&planning, "b2", "b", "10.0.0.3", "node-1", "");
    assert_string_equal(next_reason(&planning, 9999, &row), "announced");
    assert_true(row->leaves_ms == 0);
}

/* What was not announced is not announced for a while only. */
static void is_not_taken_for_a_while(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_full(&planning, "node-2");
    assert_string_equal(reason_of(&planning, "198.51.100.1"), "ports-elsewhere");
}

static void nodes_without_an_agent_do_not_count(void **state)
{
    (void)state;
    static const struct {
        const char *labels, *taints, *ready, *reason;
    } cases[] = {
        { "", "", "True", "ports-elsewhere" },
        { "", "", "False", "announced" },
        { "", "", "Unknown", "announced" },
        { "node.kubernetes.io/exclude-from-external-load-balancers: \"\"", "", "True",
          "announced" },
        { "", "{key: ToBeDeletedByClusterAutoscaler, effect: NoSchedule}", "True", "announced" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        begin(&planning);
        put_full(&planning, "node-2");
        put_node(&planning, "node-2", cases[i].labels, cases[i].taints, cases[i].ready);
        assert_string_equal(reason_of(&planning, "198.51.100.1"), cases[i].reason);
        /* Where none serves all, that is told. */
        const bool told = strcmp(cases[i].reason, "announced") == 0;
        assert_int_equal(planning.faults.list.count, told ? 1 : 0);
        if (told)
            assert_non_null(strstr(planning.faults.list.items[0].message,
                                   "no node that may announce it can serve all its ports"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_left_when_another_had_time),
        cmocka_unit_test(another_stand_in_begins_anew),
        cmocka_unit_test(is_not_taken_for_a_while),
        cmocka_unit_test(nodes_without_an_agent_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
