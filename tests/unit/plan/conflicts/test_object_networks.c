// SPDX-License-Identifier: Apache-2.0
/* Pools, blocks, Namespaces and destinations that lie where something else is, or name what is not
 * there. */
#include "plan/conflicts/object_networks.h"

#include "plan/conflicts/block_conflicts.h"
#include "plan/link_table.h"

#include "planning.h"
#include "raised.h"

#define COIL "apiVersion: coil.cybozu.com/v2\n"

static void put_pool(struct planning *planning, const char *name, const char *subnet)
{
    AUTOFREE char *yaml =
        text_format(COIL "kind: AddressPool\nmetadata: {name: %s}\nspec: {subnets: [{ipv4: %s}]}\n",
                    name, subnet);
    put(planning, yaml);
}

static void put_block(struct planning *planning, const char *name, const char *labels,
                      const char *net)
{
    AUTOFREE char *yaml =
        text_format(COIL "kind: AddressBlock\nmetadata: {name: %s, labels: {%s}}\nindex: "
                         "0\nipv4: %s\n",
                    name, labels, net);
    put(planning, yaml);
}

static void put_ip_pool(struct planning *planning, const char *range)
{
    AUTOFREE char *yaml = text_format("apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\n"
                                      "metadata: {name: p, namespace: lb}\n"
                                      "spec: {addresses: [%s]}\n",
                                      range);
    put(planning, yaml);
}

static void put_egress(struct planning *planning, const char *destination)
{
    AUTOFREE char *yaml = text_format(COIL "kind: Egress\nmetadata: {name: nat, namespace: i}\n"
                                           "spec: {destinations: [%s]}\n",
                                      destination);
    put(planning, yaml);
}

static void assert_conflicts(struct planning *planning, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    object_networks(planning->store, planning->config, &faults);
    block_conflicts(planning->store, planning->config, &faults);
    assert_told(&faults, expected);
}

static void begin(struct planning *planning)
{
    planning_begin(planning);
    planning->config->services.enabled = true;
    add_range(&planning->config->services.service_cidrs, "10.96.0.0/16");
    add_range(&planning->config->services.cluster_cidrs, "10.244.0.0/16");
    put(planning, "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n"
                  "status: {addresses: [{type: InternalIP, address: 192.0.2.1}]}\n");
}

static void pools_in_networks_of_the_cluster(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_ip_pool(&planning, "203.0.113.0/24");
    put_pool(&planning, "default", "10.244.0.0/16");
    assert_conflicts(&planning, "");
    put_ip_pool(&planning, "10.95.0.0-10.96.0.9");
    put_pool(&planning, "default", "10.96.128.0/20");
    assert_conflicts(
        &planning,
        "pool-in-cluster-ips at IPAddressPool lb/p: 10.95.0.0-10.96.0.9 overlaps 10.96.0.0/16 of services.serviceCIDRs, where ClusterIPs are\n"
        "pool-in-cluster-ips at AddressPool default: 10.96.128.0-10.96.143.255 overlaps 10.96.0.0/16 of services.serviceCIDRs, where ClusterIPs are\n");
    put_pool(&planning, "default", "10.244.0.0/16");
    put_ip_pool(&planning, "203.0.113.9, 10.244.7.0/24");
    assert_conflicts(
        &planning,
        "pool-in-pod-networks at IPAddressPool lb/p: 10.244.7.0-10.244.7.255 overlaps 10.244.0.0/16 of services.clusterCIDRs, where pods are\n");
    put_ip_pool(&planning, "192.0.2.0/24");
    assert_conflicts(
        &planning,
        "pool-has-node-address at IPAddressPool lb/p: has 192.0.2.1, the address of Node node-1\n");
}

static void destinations_in_the_cluster(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_egress(&planning, "0.0.0.0/0");
    assert_conflicts(&planning, "");
    put_egress(&planning, "198.51.100.0/24, 10.96.0.0/16");
    assert_conflicts(
        &planning,
        "egress-destination-in-cluster-ips at Egress i/nat: destination 10.96.0.0/16 is inside of 10.96.0.0/16 of services.serviceCIDRs, where ClusterIPs are\n");
    put_egress(&planning, "10.244.3.0/24");
    assert_conflicts(
        &planning,
        "egress-destination-in-pod-networks at Egress i/nat: destination 10.244.3.0/24 is inside of 10.244.0.0/16 of services.clusterCIDRs, where pods are\n");
}

#define HERE "coil.cybozu.com/node: node-1, coil.cybozu.com/pool: default"

static void blocks_that_do_not_fit(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_block(&planning, "b0", HERE, "10.244.0.0/27");
    assert_conflicts(&planning, "");
    put_block(&planning, "b1", HERE, "10.244.0.16/28");
    assert_conflicts(
        &planning,
        "block-overlaps-own at AddressBlock b1: 10.244.0.16/28 overlaps AddressBlock b0 of the same node\n");
    put_block(&planning, "b1", HERE, "10.245.0.0/27");
    assert_conflicts(
        &planning,
        "block-outside-setting at AddressBlock b1: 10.245.0.0/27 is outside of services.clusterCIDRs, where other blocks of the node are: its pods count as clients from outside\n");
    planning.config->services.cluster_cidrs.count = 0;
    assert_conflicts(&planning, "");
    put_block(&planning, "b1", HERE, "192.0.2.0/28");
    assert_conflicts(
        &planning,
        "block-has-node-address at AddressBlock b1: has 192.0.2.1, the address of Node node-1: a pod may get it\n");
    put_block(&planning, "b1", "coil.cybozu.com/node: vm", "192.0.2.0/28");
    assert_conflicts(
        &planning,
        "block-node-missing at AddressBlock b1: its node vm is not there: nobody announces it\n");
    put_block(&planning, "b1", "", "10.244.1.0/27");
    assert_conflicts(&planning,
                     "block-without-node at AddressBlock b1: has no node: nobody announces it\n");
}

/* From an API, where blocks are given by their indexes. */
static void put_given(struct planning *planning, const char *index, const char *nets)
{
    AUTOFREE char *yaml = text_format(COIL "kind: AddressBlock\nmetadata: {name: b0, labels: {" HERE
                                           "}}\nindex: %s\n%s",
                                      index, nets);
    struct object *object = object_of(yaml);
    object->file = "";
    assert_true(store_put(planning->store, "t", object) >= 0);
}

static void blocks_are_where_their_index_is(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_pool(&planning, "default", "10.244.0.0/24");
    put_given(&planning, "2", "ipv4: 10.244.0.64/27\n");
    assert_conflicts(&planning, "");
    put_given(&planning, "3", "ipv4: 10.244.0.64/27\n");
    assert_conflicts(
        &planning,
        "block-index-wrong at AddressBlock b0: is not what index 3 of its pool default is: 10.244.0.96/27\n");
    put_given(&planning, "4", "ipv4: 10.244.0.128/28\n");
    assert_conflicts(
        &planning,
        "block-index-wrong at AddressBlock b0: is not what index 4 of its pool default is: 10.244.0.128/27\n");
    put_given(&planning, "8", "ipv4: 10.244.0.64/27\n");
    assert_conflicts(&planning,
                     "block-index-unknown at AddressBlock b0: its pool default has no index 8\n");
    put_pool(&planning, "default", "10.244.0.0/24, ipv6: 'fd01::/120'");
    put_given(&planning, "2", "ipv4: 10.244.0.64/27\n");
    assert_conflicts(
        &planning,
        "block-index-wrong at AddressBlock b0: is not what index 2 of its pool default is: 10.244.0.64/27 and fd01::40/123\n");
}

static void one_cause_of_a_block_is_told(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_pool(&planning, "default", "10.244.0.0/24, ipv6: 'fd01::/120'");
    put_block(&planning, "b0", HERE, "10.244.0.0/27\nipv6: 'fd01::/123'");
    put_block(&planning, "b1", HERE, "10.244.0.0/27\nipv6: 'fd01::/123'");
    add_range(&planning.config->services.cluster_cidrs, "fd01::/64");
    assert_conflicts(
        &planning,
        "block-overlaps-own at AddressBlock b1: 10.244.0.0/27 overlaps AddressBlock b0 of the same node\n");
    put_block(&planning, "b1", HERE, "10.245.0.0/27");
    assert_conflicts(
        &planning,
        "block-outside-pool at AddressBlock b1: 10.245.0.0/27 is in no subnet of its pool default\n");
}

static void pools_that_are_not_there(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    begin(&planning);
    put_block(&planning, "b0", HERE, "10.244.0.0/27");
    put(&planning, "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: "
                   "{coil.cybozu.com/pool: gold}}\n");
    put(&planning, "apiVersion: v1\nkind: Namespace\nmetadata: {name: d}\n");
    assert_conflicts(&planning, "");
    planning.config->pods.enabled = true;
    assert_conflicts(
        &planning,
        "namespace-pool-unknown at Namespace shop: its annotation coil.cybozu.com/pool names gold, and no AddressPool is called so: its pods get no address\n");
    put_pool(&planning, "gold", "10.244.128.0/20");
    assert_conflicts(&planning,
                     "block-pool-unknown at AddressBlock b0: its pool default is not there\n");
    put_pool(&planning, "default", "10.244.64.0/20");
    assert_conflicts(
        &planning,
        "block-outside-pool at AddressBlock b0: 10.244.0.0/27 is in no subnet of its pool default\n");
    put_pool(&planning, "default", "10.244.0.0/20");
    assert_conflicts(&planning, "");
}

/* The network by which the node is reached; a bridge may have a block. */
static void a_block_is_the_network_of_the_uplink(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOSORTED struct sorted addresses = SORTED(struct link_address, link_address_cmp);
    AUTOSORTED struct sorted links = SORTED(struct link, link_cmp);
    struct link eth0 = { .ifindex = 2, .name = "eth0" };
    struct link_address uplink = { .ifindex = 2, .length = 24 },
                        bridge = { .ifindex = 3, .length = 27 };
    begin(&planning);
    assert_int_equal(ip_parse("192.0.2.1", &uplink.ip), 0);
    assert_int_equal(ip_parse("10.244.0.1", &bridge.ip), 0);
    assert_int_equal(sorted_put(&links, &eth0), 0);
    assert_int_equal(sorted_put(&addresses, &uplink), 0);
    assert_int_equal(sorted_put(&addresses, &bridge), 0);
    put_block(&planning, "b0", HERE, "10.244.0.0/27");
    block_link_conflicts(planning.store, planning.config, &addresses, &links, &faults);
    assert_true(faults_none(&faults));
    put_block(&planning, "b1", HERE, "192.0.2.0/24");
    block_link_conflicts(planning.store, planning.config, &addresses, &links, &faults);
    assert_told(
        &faults,
        "block-overlaps-link at AddressBlock b1: 192.0.2.0/24 overlaps 192.0.2.0/24, the network by which this node is "
        "reached (192.0.2.1 on eth0), and is announced all the same: what is for "
        "hosts and routers there is drawn to this node\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_in_networks_of_the_cluster),
        cmocka_unit_test(destinations_in_the_cluster),
        cmocka_unit_test(blocks_that_do_not_fit),
        cmocka_unit_test(a_block_is_the_network_of_the_uplink),
        cmocka_unit_test(pools_that_are_not_there),
        cmocka_unit_test(blocks_are_where_their_index_is),
        cmocka_unit_test(one_cause_of_a_block_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
