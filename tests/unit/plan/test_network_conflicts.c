// SPDX-License-Identifier: Apache-2.0
/* ClusterIPs outside of services.serviceCIDRs: a mistake, or a second network of Services. */
#include "plan/network_conflicts.h"
#include "planning.h"

static void put_cluster_ip(struct planning *planning, const char *name, const char *ip)
{
    AUTOFREE char *yaml = text_format("apiVersion: v1\nkind: Service\n"
                                      "metadata: {name: %s, namespace: d}\n"
                                      "spec: {clusterIP: '%s', ports: [{port: 80}]}\n",
                                      name, ip);
    put(planning, yaml);
}

/* The messages of faults about the key. */
static size_t told(struct planning *planning, const char *words)
{
    AUTOFAULTS struct faults faults = { 0 };
    const prefix_list own = { 0 };
    size_t count = 0;
    network_conflicts(planning->store, planning->config, &own, &faults);
    for (size_t i = 0; i < faults.list.count; i++)
        count += strstr(faults.list.items[i].message, words) != NULL;
    return count;
}

static void a_wrong_network_is_told(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    planning.config->services.enabled = true;
    add_range(&planning.config->services.service_cidrs, "10.43.0.0/16");
    put_cluster_ip(&planning, "a", "10.96.0.1");
    put_cluster_ip(&planning, "b", "10.96.0.2");
    assert_int_equal(told(&planning, "10.96.0.1, the ClusterIP of Service d/a, lies in none"), 1);
}

/* A ServiceCIDR object makes one in a cluster that runs, and no configuration is wrong by that. */
static void a_second_network_is_none(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    planning.config->services.enabled = true;
    add_range(&planning.config->services.service_cidrs, "10.96.0.0/16");
    put_cluster_ip(&planning, "kubernetes", "10.96.0.1");
    put_cluster_ip(&planning, "second", "10.200.0.1");
    put_cluster_ip(&planning, "six", "fd00:96::1"); /* no network of its family is named */
    assert_int_equal(told(&planning, "lies in none"), 0);
    add_range(&planning.config->services.service_cidrs, "fd00:43::/112");
    assert_int_equal(told(&planning, "fd00:96::1, the ClusterIP of Service d/six, lies in none"),
                     1);
    put_cluster_ip(&planning, "seven", "fd00:43::1");
    assert_int_equal(told(&planning, "lies in none"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_network_is_told),
        cmocka_unit_test(a_second_network_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
