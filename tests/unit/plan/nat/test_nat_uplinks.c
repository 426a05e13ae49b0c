// SPDX-License-Identifier: Apache-2.0
/* What is wrong with uplinks and pods' interfaces, by the codes of the faults. */
#include "linking.h"
#include "raised.h"

struct fixture {
    struct planning planning;
    struct sorted links, paths, addresses;
    struct prefix pod_net;
};

static void begin(struct fixture *fixture)
{
    *fixture = (struct fixture){ .links = SORTED(struct link, link_cmp),
                                 .paths = SORTED(struct link_path, link_path_cmp),
                                 .addresses = SORTED(struct link_address, link_address_cmp) };
    planning_begin(&fixture->planning);
    assert_int_equal(prefix_parse("10.244.0.0/16", &fixture->pod_net), 0);
    fixture->planning.config->services.uplinks_auto = false;
    fixture->planning.config->services.pod_interfaces_auto = false;
}

static void done(struct fixture *fixture)
{
    planning_done(&fixture->planning);
    sorted_done(&fixture->links);
    sorted_done(&fixture->paths);
    sorted_done(&fixture->addresses);
}

static void assert_planned(struct fixture *fixture, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOVEC nat_attachment_list wanted = { 0 };
    const struct link_facts facts = {
        .config = fixture->planning.config,
        .links = &fixture->links,
        .paths = &fixture->paths,
        .addresses = &fixture->addresses,
        .pod_nets = &fixture->pod_net,
        .pod_net_count = 1,
    };
    assert_int_equal(plan_nat_hooks(&facts, &wanted, &faults), 0);
    assert_told(&faults, expected);
}

static void no_name_and_a_name_of_nothing(void **state)
{
    (void)state;
    CLEANUP(done) struct fixture fixture;
    begin(&fixture);
    assert_planned(&fixture, "nat-uplinks-empty at services.uplinks: is an empty list: "
                             "nobody outside of this node is served\n");
    put_pattern(&fixture.planning.config->services.uplinks, "bond0");
    assert_planned(&fixture,
                   "nat-uplink-unmatched at services.uplinks: no interface matches \"bond0\"\n");
}

static void an_uplink_without_arp(void **state)
{
    (void)state;
    CLEANUP(done) struct fixture fixture;
    begin(&fixture);
    put_pattern(&fixture.planning.config->services.uplinks, "eth*");
    struct link *eth0 = put_link(&fixture.links, "eth0", "");
    put_address(&fixture.addresses, eth0->ifindex, "192.0.2.1");
    assert_planned(&fixture, "");
    eth0->no_arp = true;
    assert_planned(
        &fixture,
        "nat-uplink-without-arp at interface eth0: eth0 has no ARP (NOARP): nothing comes in or leaves by this uplink\n");
}

/* As docker's bridge, where Docker was let choose a network of pods. */
static void a_network_of_pods_at_a_bridge(void **state)
{
    (void)state;
    CLEANUP(done) struct fixture fixture;
    begin(&fixture);
    put_pattern(&fixture.planning.config->services.uplinks, "eth*");
    put_link(&fixture.links, "eth0", "");
    const struct link *docker0 = put_link(&fixture.links, "docker0", "bridge");
    put_way(&fixture.paths, docker0->ifindex, "10.244.3.0/24");
    put_address(&fixture.addresses, docker0->ifindex, "10.244.3.1")->length = 24;
    assert_planned(
        &fixture,
        "nat-pod-network-elsewhere at services.clusterCIDRs: 10.244.0.0/16, a network of pods, has the network 10.244.3.0/24 of interface docker0, which is no pod's\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_name_and_a_name_of_nothing),
        cmocka_unit_test(an_uplink_without_arp),
        cmocka_unit_test(a_network_of_pods_at_a_bridge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
