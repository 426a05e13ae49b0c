// SPDX-License-Identifier: Apache-2.0
/* What is wrong between pools, and between pools and the networks of Nodes and Services. */
#include "plan/conflicts/pool_conflicts.h"

#include "planning.h"
#include "raised.h"

static void put_pool(struct planning *planning, const char *name, const char *created,
                     const char *subnets)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: coil.cybozu.com/v2\nkind: AddressPool\nmetadata: {name: %s, "
                    "creationTimestamp: '2026-11-%sT00:00:00Z'}\nspec: {subnets: [%s]}\n",
                    name, created, subnets);
    put(planning, yaml);
}

static void assert_conflicts(struct planning *planning, const char *expected)
{
    AUTOVEC object_list pools = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    assert_int_equal(store_list(planning->store, KIND_ADDRESS_POOL, &pools), 0);
    pool_conflicts(planning->store, &pools, &faults);
    assert_told(&faults, expected);
}

static void the_younger_of_two_pools_that_overlap_is_told(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_pool(&planning, "b", "02", "{ipv4: 10.2.0.0/16}, {ipv4: 10.9.0.0/24}");
    put_pool(&planning, "c", "03", "{ipv4: 10.3.0.0/16, ipv6: 'fd02::/112'}");
    assert_conflicts(&planning, "");
    put_pool(&planning, "a", "05", "{ipv4: 10.9.0.0/16}");
    put_pool(&planning, "d", "06", "{ipv6: 'fd02::ff00/120'}");
    assert_conflicts(
        &planning,
        "address-pool-overlaps at AddressPool a: 10.9.0.0/24 is also of AddressPool b\n"
        "address-pool-overlaps at AddressPool d: fd02::ff00/120 is also of AddressPool c\n");
}

static void subnets_of_one_pool_may_overlap_past_validation(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_pool(&planning, "a", "02", "{ipv4: 10.2.0.0/16}, {ipv4: 10.2.8.0/24}");
    assert_conflicts(
        &planning,
        "address-pool-overlaps-itself at AddressPool a: 10.2.8.0/24 is in two of its subnets\n");
}

static void a_pool_must_not_have_the_address_of_a_node(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_pool(&planning, "a", "02", "{ipv4: 10.2.0.0/16}");
    put_pool(&planning, "b", "03", "{ipv6: 'fd02::/112'}");
    put(&planning, "apiVersion: v1\nkind: Node\nmetadata: {name: n2}\nstatus: {addresses: [{type: "
                   "InternalIP, address: 10.2.0.12}, {type: InternalIP, address: 'fd03::12'}]}\n");
    put(&planning, "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {addresses: [{type: "
                   "InternalIP, address: 192.0.2.11}, {type: ExternalIP, address: 10.2.0.11}]}\n");
    assert_conflicts(
        &planning,
        "address-pool-has-node at AddressPool a: has 10.2.0.11, the address of Node n1\n");
}

static void put_cluster_service(struct planning *planning, const char *name,
                                const char *cluster_ips)
{
    AUTOFREE char *yaml = text_format(
        "apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: default}\nspec: {type: "
        "LoadBalancer, clusterIPs: [%s], ports: [{port: 80}]}\n",
        name, cluster_ips);
    put(planning, yaml);
}

static void a_pool_must_not_have_the_address_of_a_service(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_pool(&planning, "a", "02", "{ipv4: 10.2.0.0/16}");
    put_cluster_service(&planning, "web", "10.2.3.4");
    put_cluster_service(&planning, "api", "10.96.0.1");
    assert_conflicts(
        &planning,
        "address-pool-has-service at AddressPool a: has 10.2.3.4, the clusterIP of Service default/web\n");
}

static void a_pool_of_services_must_not_have_what_nodes_and_services_have(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    CLEANUP(pool_table_done) struct pool_table table = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    planning_begin(&planning);
    put(&planning, "apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata: {name: lb, "
                   "namespace: net}\nspec: {addresses: [10.96.0.0/24, 192.0.2.0/28]}\n");
    put(&planning, "apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata: {name: ok, "
                   "namespace: net}\nspec: {addresses: [203.0.113.0/24]}\n");
    put(&planning, "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {addresses: [{type: "
                   "InternalIP, address: 192.0.2.11}]}\n");
    put_cluster_service(&planning, "web", "10.96.0.9");
    put_cluster_service(&planning, "api", "10.96.0.10");
    put_cluster_service(&planning, "far", "10.97.0.1");
    assert_int_equal(pool_table_make(planning.store, &table, &faults), 0);
    ip_pool_conflicts(planning.store, &table, &faults);
    assert_told(
        &faults,
        "pool-has-node-address at IPAddressPool net/lb: has 192.0.2.11, the address of Node n1\n"
        "pool-has-cluster-ip at IPAddressPool net/lb: has 10.96.0.10, the clusterIP of Service default/api\n");
}

static void a_block_of_no_node_is_nobodys(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_pool(&planning, "a", "02", "{ipv4: 10.2.0.0/16}");
    put(&planning,
        "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nmetadata: {name: a-1, labels: "
        "{coil.cybozu.com/pool: a}}\nindex: 1\nipv4: 10.2.0.32/27\n");
    assert_conflicts(&planning,
                     "block-without-node at AddressBlock a-1: has no node: nobody announces it\n");
}

static void put_ip_pool(struct planning *planning, const char *spec)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata: {name: lb, "
                    "namespace: net}\nspec: {addresses: [203.0.113.0/28]%s}\n",
                    spec);
    put(planning, yaml);
}

static void assert_ip_conflicts(struct planning *planning, const char *expected)
{
    CLEANUP(pool_table_done) struct pool_table table = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    assert_int_equal(pool_table_make(planning->store, &table, &faults), 0);
    ip_pool_conflicts(planning->store, &table, &faults);
    assert_told(&faults, expected);
}

static void a_pool_of_services_may_not_have_pods_addresses(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_ip_pool(&planning, "");
    put_pool(&planning, "a", "02", "{ipv4: 203.0.112.0/24, ipv6: 'fd02::/120'}");
    assert_ip_conflicts(&planning, "");
    put_pool(&planning, "a", "02", "{ipv4: 203.0.113.0/27}");
    assert_ip_conflicts(
        &planning,
        "pool-overlaps-address-pool at IPAddressPool net/lb: 203.0.113.0-203.0.113.15 overlaps 203.0.113.0/27 of AddressPool a: a pod and a Service get one address\n");
}

#define FOR(what) ", serviceAllocation: {" what "}"

static void a_pool_is_for_namespaces_that_are_there(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_ip_pool(&planning, FOR("namespaces: [shop]"));
    assert_ip_conflicts(&planning, ""); /* none is known yet */
    put(&planning, "apiVersion: v1\nkind: Namespace\nmetadata: {name: d, labels: {team: a}}\n");
    assert_ip_conflicts(
        &planning,
        "pool-namespace-unknown at IPAddressPool net/lb: serviceAllocation.namespaces names shop, and no Namespace is called so\n");
    put_ip_pool(&planning, FOR("namespaces: [d]"));
    assert_ip_conflicts(&planning, "");
    put_ip_pool(&planning, FOR("namespaceSelectors: [{matchLabels: {team: b}}]"));
    assert_ip_conflicts(
        &planning,
        "pool-selects-no-namespace at IPAddressPool net/lb: serviceAllocation.namespaceSelectors select no Namespace\n");
    put_ip_pool(&planning, FOR("namespaceSelectors: [{matchLabels: {team: a}}]"));
    assert_ip_conflicts(&planning, "");
    put_ip_pool(&planning, FOR("serviceSelectors: [{matchLabels: {team: b}}]"));
    assert_ip_conflicts(&planning, ""); /* the Service may come */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_of_no_node_is_nobodys),
        cmocka_unit_test(a_pool_of_services_may_not_have_pods_addresses),
        cmocka_unit_test(a_pool_is_for_namespaces_that_are_there),
        cmocka_unit_test(the_younger_of_two_pools_that_overlap_is_told),
        cmocka_unit_test(subnets_of_one_pool_may_overlap_past_validation),
        cmocka_unit_test(a_pool_must_not_have_the_address_of_a_node),
        cmocka_unit_test(a_pool_must_not_have_the_address_of_a_service),
        cmocka_unit_test(a_pool_of_services_must_not_have_what_nodes_and_services_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
