// SPDX-License-Identifier: Apache-2.0
/* What interfaces are found to be, without a name: as the common networks of pods have them. */
#include "linking.h"
#include "plan/nat/nat_roles.h"

struct fixture {
    struct planning planning;
    struct sorted links, paths;
    struct prefix pod_nets[2];
    size_t known;
};

static struct fixture begin(void)
{
    struct fixture fixture = { .links = SORTED(struct link, link_cmp),
                               .paths = SORTED(struct link_path, link_path_cmp),
                               .known = 2 };
    planning_begin(&fixture.planning);
    fixture.planning.config->services.uplinks_auto = true;
    fixture.planning.config->services.pod_interfaces_auto = true;
    assert_int_equal(prefix_parse("10.244.0.0/16", &fixture.pod_nets[0]), 0);
    assert_int_equal(prefix_parse("fd44::/48", &fixture.pod_nets[1]), 0);
    return fixture;
}

static void done(struct fixture *fixture)
{
    planning_done(&fixture->planning);
    sorted_done(&fixture->links);
    sorted_done(&fixture->paths);
}

#define AUTOFIXTURE CLEANUP(done)

static struct link *add(struct fixture *fixture, const char *name, const char *kind,
                        const char *net)
{
    struct link *link = put_link(&fixture->links, name, kind);
    if (net)
        put_way(&fixture->paths, link->ifindex, *net ? net : NULL);
    return link;
}

/* A veth whose other end is in another network namespace. */
static struct link *put_pod(struct fixture *fixture, const char *name, const char *net)
{
    struct link *link = add(fixture, name, "veth", net);
    link->peer_away = true;
    return link;
}

static void assert_role(const struct fixture *fixture, const char *name, enum nat_role role)
{
    const struct link_facts facts = {
        .config = fixture->planning.config,
        .links = &fixture->links,
        .paths = &fixture->paths,
        .pod_nets = fixture->pod_nets,
        .pod_net_count = fixture->known,
    };
    const struct link *link = link_named(&fixture->links, name);
    assert_non_null(link);
    if (nat_found_role(&facts, link) != role)
        fail_msg("%s is %d", name, nat_found_role(&facts, link));
    assert_int_equal(nat_is_uplink(&facts, link), role == NAT_ROLE_UPLINK);
    assert_int_equal(nat_is_pods(&facts, link), role == NAT_ROLE_POD);
}

static void routed_pods(void **state) /* Calico, Cilium, Coil */
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    add(&fixture, "lo", "", NULL)->type = ARPHRD_LOOPBACK;
    add(&fixture, "eth0", "", "");
    add(&fixture, "eth1", "", "192.168.7.0/24");
    add(&fixture, "eth2", "", NULL);
    put_pod(&fixture, "cali1", "10.244.0.5/32");
    put_pod(&fixture, "cali2", "fd44::5/128");
    put_pod(&fixture, "lxc3", NULL);
    add(&fixture, "tap4", "tun", "10.244.0.6/32");
    add(&fixture, "dummy0", "dummy", "10.244.0.7/32");
    add(&fixture, "tunl0", "ipip", "")->type = ARPHRD_TUNNEL;
    assert_role(&fixture, "lo", NAT_ROLE_NONE);
    assert_role(&fixture, "eth0", NAT_ROLE_UPLINK);
    assert_role(&fixture, "eth1", NAT_ROLE_UPLINK);
    assert_role(&fixture, "eth2", NAT_ROLE_NONE);
    assert_role(&fixture, "cali1", NAT_ROLE_POD);
    assert_role(&fixture, "cali2", NAT_ROLE_POD);
    assert_role(&fixture, "lxc3", NAT_ROLE_POD);
    assert_role(&fixture, "tap4", NAT_ROLE_POD);
    assert_role(&fixture, "dummy0", NAT_ROLE_NONE);
    assert_role(&fixture, "tunl0", NAT_ROLE_UPLINK);
    put_way(&fixture.paths, link_named(&fixture.links, "cali1")->ifindex, NULL);
    assert_role(&fixture, "cali1", NAT_ROLE_POD); /* it routes for others, and is a pod */
}

static void without_ethernet_headers(void **state)
{
    static const struct {
        const char *kind, *net; /* NULL: no route leads by it */
        uint16_t type;
        bool one_peer;
        enum nat_role role;
    } rows[] = {
        { "ipip", "10.244.3.0/24", ARPHRD_TUNNEL, false, NAT_ROLE_UPLINK },
        { "ip6tnl", "fd44::30/124", ARPHRD_TUNNEL6, true, NAT_ROLE_UPLINK },
        { "sit", NULL, ARPHRD_SIT, false, NAT_ROLE_NONE },
        { "wireguard", "10.244.3.7/32", ARPHRD_NONE, true, NAT_ROLE_UPLINK },
        { "tun", "", ARPHRD_NONE, true, NAT_ROLE_UPLINK },
        { "ppp", "192.168.9.1/32", ARPHRD_PPP, true, NAT_ROLE_UPLINK },
        { "gre", "10.244.3.0/24", ARPHRD_IPGRE, true, NAT_ROLE_UPLINK },
        { "gre", "10.244.3.0/24", ARPHRD_IPGRE, false, NAT_ROLE_NONE },
        { "can", "10.244.3.0/24", ARPHRD_CAN, true, NAT_ROLE_NONE },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        AUTOFIXTURE struct fixture fixture = begin();
        struct link *link = add(&fixture, "over1", rows[i].kind, rows[i].net);
        link->type = rows[i].type;
        link->one_peer = rows[i].one_peer;
        assert_role(&fixture, "over1", rows[i].role);
    }
}

static void bridged_pods(void **state) /* flannel, k3s, the bridge plugin */
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    add(&fixture, "eth0", "", "");
    add(&fixture, "flannel.1", "vxlan", "");
    uint32_t cni = add(&fixture, "cni0", "bridge", "10.244.1.0/24")->ifindex;
    uint32_t docker = add(&fixture, "docker0", "bridge", "172.17.0.0/16")->ifindex;
    uint32_t flat = add(&fixture, "br0", "bridge", "")->ifindex;
    put_way(&fixture.paths, flat, "10.244.2.0/24");
    assert_role(&fixture, "docker0", NAT_ROLE_UPLINK); /* a network, and nobody on it yet */
    put_pod(&fixture, "vethp", NULL)->master = cni;
    put_pod(&fixture, "vethd", NULL)->master = docker;
    add(&fixture, "eth1", "", NULL)->master = flat;
    put_pod(&fixture, "vethf", NULL)->master = flat;
    assert_role(&fixture, "flannel.1", NAT_ROLE_UPLINK);
    assert_role(&fixture, "cni0", NAT_ROLE_POD);
    assert_role(&fixture, "vethp", NAT_ROLE_NONE);
    assert_role(&fixture, "docker0", NAT_ROLE_POD);
    assert_role(&fixture, "br0", NAT_ROLE_UPLINK);
    assert_role(&fixture, "eth1", NAT_ROLE_NONE);
    fixture.known = 0;
    assert_role(&fixture, "cni0", NAT_ROLE_POD); /* by its port */
}

static void a_node_that_is_a_container(void **state) /* kind, and tests */
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    put_pod(&fixture, "eth0", "");
    put_pod(&fixture, "veth1", "10.244.0.5/32");
    assert_role(&fixture, "eth0", NAT_ROLE_UPLINK);
    assert_role(&fixture, "veth1", NAT_ROLE_POD);
    fixture.known = 0;
    assert_role(&fixture, "eth0", NAT_ROLE_UPLINK);
    assert_role(&fixture, "veth1", NAT_ROLE_POD);
}

/* A wire to another machine that is a container: no router is behind it. */
static void a_network_of_a_container(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    put_pod(&fixture, "eth1", "192.168.7.0/24");
    put_pod(&fixture, "eth2", "fd07::/64");
    put_pod(&fixture, "vetha", "192.168.7.9/32"); /* a second network of a pod */
    put_pod(&fixture, "vethb", "10.244.5.0/30");  /* a network of the pod's own */
    put_pod(&fixture, "vethc", NULL);
    assert_role(&fixture, "eth1", NAT_ROLE_UPLINK);
    assert_role(&fixture, "eth2", NAT_ROLE_UPLINK);
    assert_role(&fixture, "vetha", NAT_ROLE_POD);
    assert_role(&fixture, "vethb", NAT_ROLE_POD);
    assert_role(&fixture, "vethc", NAT_ROLE_POD);
    fixture.known = 1; /* of IPv4 alone: an IPv6 network may be a pod's */
    assert_role(&fixture, "eth1", NAT_ROLE_UPLINK);
    assert_role(&fixture, "eth2", NAT_ROLE_POD);
    fixture.known = 0;
    assert_role(&fixture, "eth1", NAT_ROLE_POD);
}

static void ports_of_a_bond_and_of_a_vrf(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    uint32_t bond = add(&fixture, "bond0", "bond", "")->ifindex;
    add(&fixture, "eth0", "", "")->master = bond;
    uint32_t vrf = add(&fixture, "red", "vrf", "")->ifindex;
    add(&fixture, "eth1", "", "")->master = vrf;
    add(&fixture, "bond0.7", "vlan", "");
    assert_role(&fixture, "bond0", NAT_ROLE_UPLINK);
    assert_role(&fixture, "eth0", NAT_ROLE_NONE);
    assert_role(&fixture, "red", NAT_ROLE_NONE);
    assert_role(&fixture, "eth1", NAT_ROLE_UPLINK);
    assert_role(&fixture, "bond0.7", NAT_ROLE_UPLINK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routed_pods),
        cmocka_unit_test(without_ethernet_headers),
        cmocka_unit_test(bridged_pods),
        cmocka_unit_test(a_node_that_is_a_container),
        cmocka_unit_test(a_network_of_a_container),
        cmocka_unit_test(ports_of_a_bond_and_of_a_vrf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
