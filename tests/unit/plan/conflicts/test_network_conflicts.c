// SPDX-License-Identifier: Apache-2.0
/* Networks of the configuration that lie in each other, or where nothing of theirs is. */
#include "plan/conflicts/network_conflicts.h"
#include "planning.h"
#include "raised.h"

static void put_cluster_ip(struct planning *planning, const char *name, const char *ip)
{
    AUTOFREE char *yaml = text_format("apiVersion: v1\nkind: Service\n"
                                      "metadata: {name: %s, namespace: d}\n"
                                      "spec: {clusterIP: '%s', ports: [{port: 80}]}\n",
                                      name, ip);
    put(planning, yaml);
}

/* The ClusterIPs that are told of, by words of the message. */
static size_t told(struct planning *planning, const char *words)
{
    AUTOFAULTS struct faults faults = { 0 };
    const prefix_list own = { 0 };
    size_t count = 0;
    network_conflicts(planning->store, planning->config, &own, &faults);
    for (size_t i = 0; i < faults.list.count; i++)
        count += strcmp(code_of(&faults.list.items[i]), "network-cluster-ips-outside") == 0 &&
                 strstr(faults.list.items[i].message, words);
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

static void assert_networks(struct planning *planning, const char *own, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOVEC prefix_list nets = { 0 };
    if (own)
        add_range(&nets, own);
    network_conflicts(planning->store, planning->config, &nets, &faults);
    assert_raised(&faults, expected);
}

static void networks_lie_in_each_other(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    struct config *config = planning.config;
    config->services.enabled = true;
    add_range(&config->services.service_cidrs, "10.96.0.0/12");
    add_range(&config->services.cluster_cidrs, "10.244.0.0/16");
    assert_networks(&planning, "10.244.1.0/24", "");
    add_range(&config->services.cluster_cidrs, "10.97.0.0/16");
    add_range(&config->services.load_balancer_ips, "10.98.0.0/24");
    add_range(&config->services.load_balancer_ips, "10.244.7.0/24");
    add_range(&config->services.external_ips, "10.99.0.0/24");
    assert_networks(&planning, NULL,
                    "network-pods-in-services at services.clusterCIDRs\n"
                    "network-load-balancers-in-services at services.loadBalancerIPs\n"
                    "network-load-balancers-in-pods at services.loadBalancerIPs\n"
                    "network-external-in-services at services.externalIPs\n");
}

static void networks_where_nothing_of_theirs_is(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    struct config *config = planning.config;
    config->services.enabled = true;
    add_range(&config->services.cluster_cidrs, "10.244.0.0/16");
    assert_networks(&planning, "10.9.1.0/24", "network-pods-outside at services.clusterCIDRs\n");
    add_range(&config->services.cluster_cidrs, "0.0.0.0/0");
    assert_networks(&planning, "10.9.1.0/24", "network-all-are-pods at services.clusterCIDRs\n");
    add_range(&config->services.service_cidrs, "127.0.0.0/8");
    config->egress.enabled = true;
    add_range(&config->egress.in_cluster, "0.0.0.0/0");
    add_range(&config->egress.in_cluster, "::/0");
    assert_networks(&planning, NULL,
                    "network-all-in-cluster at egress.inCluster\n"
                    "network-all-in-cluster at egress.inCluster\n"
                    "network-special at services.serviceCIDRs\n"
                    "network-all-are-pods at services.clusterCIDRs\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_network_is_told),
        cmocka_unit_test(a_second_network_is_none),
        cmocka_unit_test(networks_lie_in_each_other),
        cmocka_unit_test(networks_where_nothing_of_theirs_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
