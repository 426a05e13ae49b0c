// SPDX-License-Identifier: Apache-2.0
/* The whole plan of a node: what is in it, whose faults come when, and Services planned again. */
#include "failing_heap.h"
#include "nat_planning.h"
#include "plan/node_plan.h"

/* A fault of each sort. */
static void fill(struct planning *planning)
{
    static const char spec[] = "externalTrafficPolicy: Cluster,\n"
                               "ports: [{name: h, port: 80, nodePort: 30080}]";
    planning_begin(planning);
    add_range(&planning->config->services.service_cidrs, "10.0.0.0/8");
    put_node(planning, "node-1", "zone-a", "{type: InternalIP, address: 192.0.2.1}");
    put_served(planning, "a", "LoadBalancer", "10.96.0.1", spec, "{ip: 198.51.100.1}");
    put_served(planning, "b", "LoadBalancer", "10.96.0.2", spec, "{ip: 198.51.100.1}");
    put_slice(planning, "a-1", "{addresses: [10.0.0.1], nodeName: node-1}");
    planning->config->services.cluster_cidrs_set = true;
    for (uint8_t i = 0; i <= NAT_MAX_POD_NETS; i++) {
        struct prefix net = { { IP_V4, { 100, 64, (uint8_t)(2 * i) } }, 24 };
        assert_int_equal(vec_push(&planning->config->services.cluster_cidrs, net), 0);
    }
}

static const struct nat_svc0 svc0 = { .ifindex = 7, .v4 = { IP_V4, { 192, 0, 2, 1 } } };

static void assert_places(const struct faults *faults, const char *const *places, size_t count)
{
    assert_int_equal(faults->list.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(faults->list.items[i].place, places[i]);
}

static void faults_come_part_by_part(void **state)
{
    (void)state;
    static const char *const places[] = { "Service d/b", "services.serviceCIDRs", "Service d/b",
                                          "services.clusterCIDRs" };
    for (int enabled = 0; enabled < 2; enabled++) {
        AUTOPLANNING struct planning planning;
        CLEANUP(node_plan_done) struct node_plan plan;
        AUTOSORTED struct sorted prefixes = SORTED(struct prefix, (compare_fn)prefix_cmp);
        struct prefix local;
        fill(&planning);
        assert_int_equal(prefix_parse("10.1.0.0/16", &local), 0);
        assert_int_equal(sorted_put(&prefixes, &local), 0);
        planning.facts.local_prefixes = planning.facts.local_networks = &prefixes;
        planning.facts.nat_svc0 = &svc0;
        planning.config->services.enabled = enabled;
        assert_int_equal(plan_node(&planning.inputs, &plan, &planning.faults), 0);
        assert_places(&planning.faults, places, enabled ? 4 : 2);
        assert_int_equal(plan.routes.addresses.count, 3);
        assert_int_equal(plan.services.count, 2);
        assert_int_equal(plan.settings.pod_net_count, NAT_MAX_POD_NETS);
    }
}

static void without_memory_there_is_no_plan(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    fill(&planning);
    int failures = 0;
    for (int n = 0;; n++) {
        AUTOFAULTS struct faults faults = { 0 };
        CLEANUP(node_plan_done) struct node_plan plan = { 0 };
        int r = with_heap(n, plan_node(&planning.inputs, &plan, &faults));
        assert_true(r == 0 || (r == -ENOMEM && heap_missed));
        assert_int_equal(plan.routes.addresses.count, r == 0 ? 3 : 0);
        assert_int_equal(plan.services.count, r == 0 ? 2 : 0);
        assert_int_equal(plan.settings.service_net_count, r == 0 ? 1 : 0);
        if (!heap_missed)
            break;
        failures += r < 0;
    }
    assert_true(failures > 20);
}

/* Writes "NAME before after" of each Service; takes nothing. */
static int tell(void *context, struct nat_planned *planned)
{
    text_addf(context, "%s %d %d\n", planned->key.name, planned->before != NULL,
              planned->after != NULL);
    return strcmp(planned->key.name, "stop") == 0 ? 7 : 0;
}

static void assert_update(struct planning *planning, const struct sorted *rows, bool all,
                          nat_key_list *keys, int result, const char *expected)
{
    AUTOTEXT struct text got = { 0 };
    assert_int_equal(plan_nat_update(&planning->facts, rows, all, keys, tell, &got), result);
    assert_string_equal(text_str(&got), expected);
}

static void services_are_planned_in_order_and_once(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    CLEANUP(nat_rows_done) struct sorted rows = { 0 };
    fill(&planning);
    assert_int_equal(plan_nat(&planning.facts, &rows, &planning.faults), 0);
    put_served(&planning, "c", "ClusterIP", "10.96.0.3", "ports: [{port: 80}]", "");
    assert_int_equal(store_remove(planning.store, "t", KIND_SERVICE, "d", "b"), 1);

    AUTOVEC nat_key_list all = { 0 };
    assert_update(&planning, &rows, true, &all, 0, "a 1 1\nb 1 0\nc 0 1\n");
    static const char *const names[] = { "c", "stop", "b", "c", "never", "x" };
    AUTOVEC nat_key_list some = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_int_equal(vec_push(&some, (struct nat_key){ "d", names[i] }), 0);
    assert_update(&planning, &rows, false, &some, 7, "b 1 0\nc 0 1\nnever 0 0\nstop 0 0\n");
    AUTOVEC nat_key_list none = { 0 };
    assert_update(&planning, &rows, false, &none, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_come_part_by_part),
        cmocka_unit_test(without_memory_there_is_no_plan),
        cmocka_unit_test(services_are_planned_in_order_and_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
