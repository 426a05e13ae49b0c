// SPDX-License-Identifier: Apache-2.0
/* What others have of what is node-1's. */
#include "plan/conflicts/node_conflicts.h"

#include "planning.h"
#include "raised.h"

static void put_node(struct planning *planning, const char *name, const char *address,
                     const char *nets)
{
    AUTOFREE char *yaml = text_format(
        "apiVersion: v1\nkind: Node\nmetadata: {name: %s}\nspec: {podCIDRs: [%s]}\nstatus: "
        "{addresses: [{type: InternalIP, address: %s}]}\n",
        name, nets, address);
    put(planning, yaml);
}

static void put_block(struct planning *planning, const char *name, const char *node,
                      const char *nets)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nmetadata: {name: %s, "
                    "labels: {coil.cybozu.com/node: %s}}\nindex: 0\n%s\n",
                    name, node, nets);
    put(planning, yaml);
}

static void assert_conflicts(struct planning *planning, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOVEC prefix_list own = { 0 };
    assert_int_equal(node_conflicts(planning->store, planning->config, &own, &faults), 0);
    assert_told(&faults, expected);
}

static void networks_of_two_nodes_overlap(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_node(&planning, "node-1", "192.0.2.1", "10.1.0.0/24, 'fd01::/64'");
    put_node(&planning, "node-2", "192.0.2.2", "10.2.0.0/24, 'fd02::/64'");
    put_block(&planning, "b1", "node-1", "ipv4: 10.9.1.0/27");
    put_block(&planning, "b2", "node-2", "ipv4: 10.9.2.0/27");
    assert_conflicts(&planning, "");
    put_node(&planning, "node-3", "192.0.2.3", "10.1.0.0/16");
    put_block(&planning, "b3", "node-3", "ipv4: 10.9.1.16/28");
    assert_conflicts(
        &planning,
        "node-network-overlaps at Node node-1: 10.1.0.0/24 overlaps a podCIDR of node node-3: both nodes take the same pods for theirs\n"
        "block-overlaps-other at AddressBlock b1: 10.9.1.0/27 overlaps AddressBlock b3 of node node-3: both nodes take the same pods for theirs\n");
}

static void a_block_in_a_podcidr_of_another_node_is_none(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_node(&planning, "node-1", "192.0.2.1", "10.1.0.0/24");
    put_node(&planning, "node-2", "192.0.2.2", "10.2.0.0/24");
    put_block(&planning, "b1", "node-1", "ipv4: 10.2.0.0/27");
    assert_conflicts(&planning, "");
}

static void two_nodes_have_one_address(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_node(&planning, "node-2", "192.0.2.1", "");
    assert_conflicts(&planning, "");
    put_node(&planning, "node-1", "192.0.2.1", "");
    assert_conflicts(
        &planning,
        "node-address-shared at Node node-1: its InternalIP 192.0.2.1 is also Node node-2's\n");
}

static void pods_and_services_share_a_network(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    struct prefix services;
    planning_begin(&planning);
    put_node(&planning, "node-1", "192.0.2.1", "10.96.8.0/24");
    assert_int_equal(prefix_parse("10.96.0.0/12", &services), 0);
    assert_int_equal(vec_push(&planning.config->services.service_cidrs, services), 0);
    assert_conflicts(
        &planning,
        "pod-network-overlaps-services at Node node-1: 10.96.8.0/24 overlaps 10.96.0.0/12 of services.serviceCIDRs: pods would get ClusterIPs\n");
}

static void a_service_has_an_address_of_a_block(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_node(&planning, "node-1", "192.0.2.1", "");
    put_block(&planning, "b1", "node-1", "ipv4: 10.9.1.0/27");
    put_block(&planning, "b2", "node-2", "ipv4: 10.9.2.0/27");
    put(&planning,
        "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: default}\nspec: {type: "
        "LoadBalancer, externalIPs: [10.9.2.9], ports: [{port: 80}]}\nstatus: {loadBalancer: "
        "{ingress: [{ip: 10.9.1.9}]}}\n");
    assert_conflicts(
        &planning,
        "block-has-service-address at AddressBlock b1: has 10.9.1.9, an address of Service default/web: a pod may get it, too\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_of_two_nodes_overlap),
        cmocka_unit_test(a_block_in_a_podcidr_of_another_node_is_none),
        cmocka_unit_test(two_nodes_have_one_address),
        cmocka_unit_test(pods_and_services_share_a_network),
        cmocka_unit_test(a_service_has_an_address_of_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
