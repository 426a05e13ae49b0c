// SPDX-License-Identifier: Apache-2.0
/* Who is a pod, which networks are for ClusterIPs, and how they are reduced. */
#include "bpf/abi.h"
#include "nat_planning.h"

#define CONFIG planning.config->services

static void put_pool(struct planning *planning, const char *name, const char *subnets)
{
    AUTOFREE char *yaml = text_format("apiVersion: coil.cybozu.com/v2\nkind: AddressPool\n"
                                      "metadata: {name: %s}\nspec: {subnets: [%s]}\n",
                                      name, subnets);
    put(planning, yaml);
}

static void put_block(struct planning *planning, const char *name, const char *nets)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nmetadata: {name: %s,\n"
                    "  labels: {coil.cybozu.com/node: node-9, coil.cybozu.com/pool: p}}\n"
                    "index: 0\n%s\n",
                    name, nets);
    put(planning, yaml);
}

static void add_nets(struct text *out, const struct prefix *nets, size_t count)
{
    char buffer[PREFIX_STRLEN];
    for (size_t i = 0; i < count; i++)
        text_addf(out, " %s", prefix_str(&nets[i], buffer));
}

/* "pods 10.0.0.0/8, services 10.96.0.0/12" */
static void assert_settings(struct planning *planning, const char *expected)
{
    AUTOTEXT struct text out = { 0 };
    CLEANUP(nat_settings_done) struct nat_settings settings = { 0 };
    assert_int_equal(plan_nat_settings(&planning->facts, &settings, &planning->faults), 0);
    text_add(&out, "pods");
    add_nets(&out, settings.pod_nets, settings.pod_net_count);
    text_add(&out, ", services");
    add_nets(&out, settings.service_nets, settings.service_net_count);
    assert_string_equal(text_str(&out), expected);
}

static void put_pod_nets(struct planning *planning, const char *name, const char *nets)
{
    AUTOFREE char *yaml = text_format(
        "apiVersion: v1\nkind: Node\nmetadata: {name: %s}\nspec: {podCIDRs: [%s]}\n", name, nets);
    put(planning, yaml);
}

static void peers_are_the_other_nodes(void **state)
{
    (void)state;
    static const char *const nodes[][2] = {
        { "node-1", "192.0.2.1" },
        { "node-2", "192.0.2.2" },
        { "node-3", "2001:db8::3" },
        { "node-4", "192.0.2.4" },
    };
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
        AUTOFREE char *yaml = text_format("apiVersion: v1\nkind: Node\nmetadata: {name: %s}\n"
                                          "status: {addresses: [{type: InternalIP, address: "
                                          "\"%s\"}]}\n",
                                          nodes[i][0], nodes[i][1]);
        put(&planning, yaml);
    }
    CLEANUP(nat_settings_done) struct nat_settings settings = { 0 };
    assert_int_equal(plan_nat_settings(&planning.facts, &settings, &planning.faults), 0);
    AUTOTEXT struct text out = { 0 };
    for (size_t i = 0; i < settings.peer_count; i++) {
        char buffer[IP_STRLEN];
        text_addf(&out, " %s", ip_str(&settings.peers[i], buffer));
    }
    assert_string_equal(text_str(&out), " 192.0.2.2 192.0.2.4 2001:db8::3");
}

/* A pool alone is nobody's yet. */
static void pods_are_what_is_in_blocks_and_of_nodes(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    assert_settings(&planning, "pods, services");
    put_pool(&planning, "p",
             "{ipv4: 10.224.0.0/16, ipv6: \"fd00:224::/112\"}, {ipv4: 10.8.0.0/16}");
    assert_settings(&planning, "pods, services");
    put_block(&planning, "b1", "ipv4: 10.224.0.0/27\nipv6: fd00:224::/123");
    assert_settings(&planning, "pods 10.224.0.0/27 fd00:224::/123, services");
    put_pod_nets(&planning, "node-1", "10.244.1.0/24, \"fd00:244:1::/64\"");
    put_pod_nets(&planning, "node-2", "10.244.0.0/24");
    assert_settings(&planning, "pods 10.224.0.0/27 10.244.0.0/23 fd00:224::/123 fd00:244:1::/64, "
                               "services");
}

/* Where they are too many to be looked at one by one; a pool without a block stays out. */
static void pools_stand_for_their_blocks(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_pool(&planning, "p", "{ipv4: 10.0.0.0/8}, {ipv4: 172.16.0.0/12}");
    put_pod_nets(&planning, "node-1", "192.168.0.0/24");
    for (int i = 0; i < NAT_MAX_POD_NETS; i++) {
        AUTOFREE char *name = text_format("b%d", i);
        AUTOFREE char *net = text_format("ipv4: 10.%d.0.0/27", i);
        put_block(&planning, name, net);
    }
    assert_settings(&planning, "pods 10.0.0.0/8 192.168.0.0/24, services");
    assert_int_equal(planning.faults.list.count, 0);
}

static void the_configuration_goes_before_objects(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    put_block(&planning, "b1", "ipv4: 10.224.0.0/27");
    put_pod_nets(&planning, "node-1", "10.244.1.0/24");
    CONFIG.cluster_cidrs_set = true;
    add_range(&CONFIG.service_cidrs, "10.96.0.0/12");
    assert_settings(&planning, "pods, services 10.96.0.0/12");
    add_range(&CONFIG.cluster_cidrs, "10.244.0.0/16");
    assert_settings(&planning, "pods 10.244.0.0/16, services 10.96.0.0/12");
}

static void networks_are_reduced(void **state)
{
    (void)state;
    static const struct {
        const char *nets[6], *expected;
    } cases[] = {
        { { "10.1.0.0/16", "10.0.0.0/8", "10.2.0.0/16", "10.0.0.0/8" }, " 10.0.0.0/8" },
        { { "10.0.1.0/24", "10.0.0.0/24" }, " 10.0.0.0/23" },
        { { "10.0.1.0/24", "10.0.2.0/24" }, " 10.0.1.0/24 10.0.2.0/24" },
        { { "10.0.3.0/24", "10.0.2.0/24", "10.0.1.0/24", "10.0.0.0/24", "10.0.4.0/24" },
          " 10.0.0.0/22 10.0.4.0/24" },
        { { "10.0.0.0/24", "10.0.1.0/25" }, " 10.0.0.0/24 10.0.1.0/25" },
        { { "10.0.0.0/32", "10.0.0.1/32" }, " 10.0.0.0/31" },
        { { "128.0.0.0/1", "0.0.0.0/1" }, " 0.0.0.0/0" },
        { { "0.0.0.0/0", "::/0" }, " 0.0.0.0/0 ::/0" },
        { { "fd00::/64", "fd00:0:0:1::/64", "10.0.0.0/8" }, " 10.0.0.0/8 fd00::/63" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOPLANNING struct planning planning;
        planning_begin(&planning);
        CONFIG.cluster_cidrs_set = true;
        for (size_t j = 0; j < 6 && cases[i].nets[j]; j++) {
            add_range(&CONFIG.cluster_cidrs, cases[i].nets[j]);
            add_range(&CONFIG.service_cidrs, cases[i].nets[j]);
        }
        AUTOFREE char *expected =
            text_format("pods%s, services%s", cases[i].expected, cases[i].expected);
        assert_settings(&planning, expected);
        assert_int_equal(planning.faults.list.count, 0);
    }
}

static void too_many_networks_are_a_fault(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    for (int i = 0; i <= NAT_MAX_POD_NETS; i++) {
        AUTOFREE char *name = text_format("b%d", i);
        AUTOFREE char *net = text_format("ipv4: 10.%d.0.0/27", i);
        AUTOFREE char *cidr = text_format("10.%d.0.0/27", i);
        put_block(&planning, name, net);
        add_range(&CONFIG.service_cidrs, cidr);
    }
    CLEANUP(nat_settings_done) struct nat_settings settings = { 0 };
    assert_int_equal(plan_nat_settings(&planning.facts, &settings, &planning.faults), 0);
    assert_int_equal(settings.pod_net_count, NAT_MAX_POD_NETS);
    assert_int_equal(settings.service_net_count, NAT_MAX_SERVICE_NETS);
    assert_int_equal(planning.faults.list.count, 2);
    assert_string_equal(planning.faults.list.items[0].place, "services.clusterCIDRs");
    assert_string_equal(planning.faults.list.items[0].message,
                        "17 networks, of which only the first 16 count");
    assert_string_equal(planning.faults.list.items[1].place, "services.serviceCIDRs");
}

static void timeouts_are_whole_seconds(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    planning.config->services.timeouts.udp_ms = 2001;
    planning.config->egress.gateway.timeouts.udp_ms = 30001;
    planning.config->egress.gateway.icmp_ms = 4500;
    CLEANUP(nat_settings_done) struct nat_settings settings = { 0 };
    assert_int_equal(plan_nat_settings(&planning.facts, &settings, &planning.faults), 0);
    static const uint32_t wanted[NAT_STATES] = {
        [NAT_STATE_HALF_OPEN] = 60, [NAT_STATE_ANSWERED] = 60,      [NAT_STATE_ESTABLISHED] = 7440,
        [NAT_STATE_CLOSED] = 10,    [NAT_STATE_HALF_CLOSED] = 3600, [NAT_STATE_UNANSWERED] = 3,
        [NAT_STATE_EXCHANGE] = 3,   [NAT_STATE_STREAM] = 120,
    };
    assert_memory_equal(settings.timeouts_s, wanted, sizeof(wanted));
    assert_int_equal(settings.egress_timeouts_s[NAT_STATE_UNANSWERED], 31);
    assert_int_equal(settings.egress_timeouts_s[NAT_STATE_ESTABLISHED], 7440);
    assert_int_equal(settings.egress_icmp_s, 5);
}

static void ports_of_masquerading_are_carried(void **state)
{
    (void)state;
    AUTOPLANNING struct planning planning;
    planning_begin(&planning);
    CLEANUP(nat_settings_done) struct nat_settings settings = { 0 };
    assert_int_equal(plan_nat_settings(&planning.facts, &settings, &planning.faults), 0);
    assert_int_equal(settings.snat_first, 10000);
    assert_int_equal(settings.snat_last, 65535);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peers_are_the_other_nodes),
        cmocka_unit_test(pods_are_what_is_in_blocks_and_of_nodes),
        cmocka_unit_test(pools_stand_for_their_blocks),
        cmocka_unit_test(the_configuration_goes_before_objects),
        cmocka_unit_test(networks_are_reduced),
        cmocka_unit_test(too_many_networks_are_a_fault),
        cmocka_unit_test(ports_of_masquerading_are_carried),
        cmocka_unit_test(timeouts_are_whole_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
