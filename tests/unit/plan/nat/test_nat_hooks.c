// SPDX-License-Identifier: Apache-2.0
/* Where NAT is attached: patterns, what can't be served, and svc0's MTU. */
#include "failing_heap.h"
#include "linking.h"

struct fixture {
    struct planning planning;
    struct sorted links, paths, addresses;
    struct prefix pod_net; /* IP_NONE: not known */
};

static struct link_facts facts_of(const struct fixture *fixture)
{
    return (struct link_facts){
        .config = fixture->planning.config,
        .links = &fixture->links,
        .paths = &fixture->paths,
        .addresses = &fixture->addresses,
        .pod_nets = &fixture->pod_net,
        .pod_net_count = fixture->pod_net.ip.family != IP_NONE,
    };
}

static struct fixture begin(void)
{
    struct fixture fixture = { .links = SORTED(struct link, link_cmp),
                               .paths = SORTED(struct link_path, link_path_cmp),
                               .addresses = SORTED(struct link_address, link_address_cmp) };
    planning_begin(&fixture.planning);
    assert_int_equal(prefix_parse("10.244.0.0/16", &fixture.pod_net), 0);
    fixture.planning.config->services.uplinks_auto = false;
    fixture.planning.config->services.pod_interfaces_auto = false;
    put_pattern(&fixture.planning.config->services.uplinks, "eth*");
    put_pattern(&fixture.planning.config->services.pod_interfaces, "veth*");
    put_link(&fixture.links, "lo", "")->type = ARPHRD_LOOPBACK;
    put_link(&fixture.links, "eth0", "");
    return fixture;
}

static void done(struct fixture *fixture)
{
    planning_done(&fixture->planning);
    sorted_done(&fixture->links);
    sorted_done(&fixture->paths);
    sorted_done(&fixture->addresses);
}

#define AUTOFIXTURE CLEANUP(done)

/* "lo:4 eth0:0": interfaces and hooks as planned (b: bare, r: by route), then the faults. */
static char *planned(struct fixture *fixture)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct text out = { 0 };
    nat_attachment_list wanted = { 0 };
    const struct link_facts facts = facts_of(fixture);
    assert_int_equal(plan_nat_hooks(&facts, &wanted, &faults), 0);
    vec_each(const struct nat_attachment, it, &wanted) {
        assert_true(it == wanted.items || nat_attachment_cmp(it - 1, it) < 0);
        text_addf(&out, "%s%s:%d%s%s", out.length ? " " : "", it->name, it->hook,
                  it->bare ? "b" : "", it->by_route ? "r" : "");
    }
    vec_each(const struct fault, fault, &faults.list)
        text_addf(&out, "; %s: %s -> %s", fault->place, fault->message,
                  fault->remedy ? fault->remedy : "-");
    vec_done(&wanted);
    return text_take(&out);
}

static void assert_planned(struct fixture *fixture, const char *expected)
{
    AUTOFREE char *got = planned(fixture);
    assert_string_equal(got, expected);
}

#define BASE "lo:4 eth0:0 eth0:1"

static void each_kind_has_its_hooks(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    assert_planned(&fixture, BASE);
    put_link(&fixture.links, "veth1", "veth")->up = false; /* before it comes up, too */
    put_link(&fixture.links, "other0", "");
    assert_planned(&fixture, BASE " veth1:2 veth1:3");
    struct link *svc0 = put_link(&fixture.links, "svc0", "veth");
    assert_planned(&fixture, BASE " veth1:2 veth1:3"); /* not ours */
    strcpy(svc0->alias, "fingerpost");
    assert_planned(&fixture, BASE " veth1:2 veth1:3 svc0:5");
    strcpy(svc0->kind, "bridge");
    assert_planned(&fixture, BASE " veth1:2 veth1:3");
}

/* The interfaces with programs that pods may be children of. */
static void assert_parents(struct fixture *fixture, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text out = { 0 };
    AUTOVEC nat_attachment_list wanted = { 0 };
    const struct link_facts facts = facts_of(fixture);
    uint32_t last = 0;
    assert_int_equal(plan_nat_hooks(&facts, &wanted, &faults), 0);
    vec_each(const struct nat_attachment, it, &wanted) {
        if (it->ifindex != last && nat_may_be_parent(wanted.items, wanted.count, it->ifindex))
            text_addf(&out, "%s ", it->name);
        last = it->ifindex;
    }
    assert_string_equal(text_str(&out), expected);
}

static void who_may_have_children(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    strcpy(put_link(&fixture.links, "svc0", "veth")->alias, "fingerpost");
    put_link(&fixture.links, "veth1", "veth");
    put_link(&fixture.links, "eth1", "veth"); /* of a node that is a container */
    put_link(&fixture.links, "eth2", "wireguard")->type = ARPHRD_NONE;
    put_link(&fixture.links, "veth2", "bond"); /* named as if it were pods' */
    put_link(&fixture.links, "veth3", "bridge");
    put_link(&fixture.links, "other", "");
    assert_parents(&fixture, "eth0 eth1 veth2 ");
}

/* By which interface routes lead back to who comes by each. */
static void assert_backs(struct fixture *fixture, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text out = { 0 };
    AUTOVEC nat_attachment_list wanted = { 0 };
    AUTOVEC nat_interface_list interfaces = { 0 };
    static const struct default_sources none = { 0 };
    const struct link_facts facts = facts_of(fixture);
    assert_int_equal(plan_nat_hooks(&facts, &wanted, &faults), 0);
    assert_int_equal(
        plan_nat_interfaces(&fixture->links, &fixture->addresses, &none, NULL, &interfaces), 0);
    plan_nat_backs(&fixture->links, &wanted, &interfaces);
    vec_each(const struct nat_interface, it, &interfaces) {
        const struct link *back = link_find(&fixture->links, it->back);
        text_addf(&out, "%s:%s ", link_find(&fixture->links, it->ifindex)->name,
                  back                       ? back->name
                  : it->back == NAT_BACK_ANY ? "any"
                                             : "-");
    }
    assert_string_equal(text_str(&out), expected);
}

static void where_routes_lead_back(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    strcpy(put_link(&fixture.links, "svc0", "veth")->alias, "fingerpost");
    put_link(&fixture.links, "veth1", "veth");
    put_link(&fixture.links, "veth2", "macvlan"); /* whose pods may come by its parent */
    put_link(&fixture.links, "other", "veth");
    assert_backs(&fixture, "lo:- eth0:any svc0:- veth1:veth1 veth2:any other:- ");
    const uint32_t bridge = put_link(&fixture.links, "cni0", "bridge")->ifindex;
    put_link(&fixture.links, "veth3", "veth")->master = bridge;
    assert_backs(&fixture, "lo:- eth0:any svc0:- veth1:veth1 veth2:any other:- cni0:cni0 "
                           "veth3:cni0 ");
    /* This node is itself behind a port: a gateway in a VLAN of the bridge. */
    struct link *port = put_link(&fixture.links, "veth4", "veth"), *gate;
    port->master = bridge;
    port->lower = port->ifindex + 1;
    gate = put_link(&fixture.links, "veth5", "veth");
    gate->lower = port->ifindex;
    put_link(&fixture.links, "veth6", "vlan")->lower = bridge;
    assert_backs(&fixture, "lo:- eth0:any svc0:- veth1:veth1 veth2:any other:- cni0:cni0 "
                           "veth3:cni0 veth4:- veth5:cni0 veth6:cni0 ");
    /* A network card among the ports: hosts of the fabric are behind it as well. */
    put_pattern(&fixture.planning.config->services.pod_interfaces, "cni0");
    put_link(&fixture.links, "ens1", "")->master = bridge;
    assert_backs(&fixture, "lo:- eth0:any svc0:- veth1:veth1 veth2:any other:- cni0:any veth3:- "
                           "veth4:- veth5:any veth6:any ens1:- ");
}

static void a_pattern_is_a_glob(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    put_pattern(&fixture.planning.config->services.pod_interfaces, "cali[0-9]?");
    put_link(&fixture.links, "cali1a", "veth");
    put_link(&fixture.links, "calixa", "veth");
    assert_planned(&fixture, BASE " cali1a:2 cali1a:3");
}

static void what_everything_matches_is_not_meant(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    put_pattern(&fixture.planning.config->services.pod_interfaces, "[!e]*");
    strcpy(put_link(&fixture.links, "svc0", "veth")->alias, "fingerpost");
    put_link(&fixture.links, "svc0p", "veth");
    put_link(&fixture.links, "x", "veth");
    assert_planned(&fixture, BASE " svc0:5 x:2 x:3");
}

static void without_ethernet_it_has_programs_of_its_own(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    put_link(&fixture.links, "eth1", "wireguard")->type = ARPHRD_NONE;
    put_link(&fixture.links, "vethtun", "tun")->type = ARPHRD_NONE;
    put_link(&fixture.links, "eth4", "ipip")->type = ARPHRD_TUNNEL;
    put_link(&fixture.links, "eth5", "ipip")->type = ARPHRD_TUNNEL;
    ((struct link *)sorted_at(&fixture.links, 5))->one_peer = true;
    assert_planned(&fixture, BASE " eth1:0b eth1:1b vethtun:2b vethtun:3b eth4:0br eth4:1br "
                                  "eth5:0b eth5:1b");
}

static void with_other_headers_it_is_refused(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    put_link(&fixture.links, "eth1", "gre")->type = ARPHRD_IPGRE;
    assert_planned(&fixture,
                   BASE "; interface eth1: NAT is not attached: its packets begin with neither "
                        "Ethernet nor IP (type 778) -> take it out of the configuration");
}

static void a_few_tunnels_may_go_by_routes(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    static const char *const names[] = { "eth1", "eth2", "eth3", "eth4", "eth5" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        put_link(&fixture.links, names[i], "sit")->type = ARPHRD_SIT;
    assert_planned(&fixture,
                   BASE " eth1:0br eth1:1br eth2:0br eth2:1br eth3:0br eth3:1br eth4:0br eth4:1br; "
                        "interface eth5: NAT is not attached: there are 4 tunnels without a fixed "
                        "other end before it -> give some of them a fixed other end");
}

static void a_ports_master_is_named(void **state)
{
    (void)state;
    static const char *const kinds[] = { "bridge", "bond" };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        AUTOFIXTURE struct fixture fixture = begin();
        uint32_t master = put_link(&fixture.links, "up0", kinds[i])->ifindex;
        put_link(&fixture.links, "eth1", "")->master = master;
        AUTOFREE char *expected =
            text_format(BASE "; interface eth1: NAT is not attached: it is a port of %s up0 -> "
                             "name up0 instead",
                        kinds[i]);
        assert_planned(&fixture, expected);
    }
}

static void masters_vlans_and_ports_of_a_vrf_are_served(void **state)
{
    (void)state;
    static const char *const kinds[] = { "bridge", "bond", "vlan", "vxlan" };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        AUTOFIXTURE struct fixture fixture = begin();
        put_link(&fixture.links, "eth7", kinds[i]);
        assert_planned(&fixture, BASE " eth7:0 eth7:1");
    }
    AUTOFIXTURE struct fixture fixture = begin();
    uint32_t vrf = put_link(&fixture.links, "red", "vrf")->ifindex;
    put_link(&fixture.links, "eth7", "")->master = vrf;
    assert_planned(&fixture, BASE " eth7:0 eth7:1");
}

static void a_bridge_of_pods_is_served_at_its_ports(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    uint32_t bridge = put_link(&fixture.links, "cni0", "bridge")->ifindex;
    put_link(&fixture.links, "port1", "veth")->master = bridge;
    assert_planned(&fixture, BASE); /* nobody names it */
    put_pattern(&fixture.planning.config->services.pod_interfaces, "cni0");
    assert_planned(&fixture, BASE " cni0:3 port1:2 port1:3");
    put_link(&fixture.links, "tap7", "tun")->master = bridge;
    put_link(&fixture.links, "tap8", "tun");
    assert_planned(&fixture, BASE " cni0:3 port1:2 port1:3 tap7:2 tap7:3");
    put_link(&fixture.links, "nic0", "")->master = bridge;
    assert_planned(&fixture, BASE " cni0:2 cni0:3");
}

static void a_bridge_of_pods_is_named_by_its_ports(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    uint32_t bridge = put_link(&fixture.links, "cni0", "bridge")->ifindex;
    put_link(&fixture.links, "veth1", "veth")->master = bridge;
    put_link(&fixture.links, "other2", "veth")->master = bridge;
    put_link(&fixture.links, "br7", "bridge");
    assert_planned(&fixture, BASE " cni0:3 veth1:2 veth1:3 other2:2 other2:3");
    put_pattern(&fixture.planning.config->services.uplinks, "cni0");
    assert_planned(&fixture, BASE " cni0:0 cni0:1; interface veth1: NAT is not attached: it is a "
                                  "port of bridge cni0 -> name cni0 instead");
}

#define NAME_ONE "name one that is there (ip link), or let them be found: auto"

static void missing_uplinks_are_told(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    put_pattern(&fixture.planning.config->services.uplinks, "bond0");
    put_pattern(&fixture.planning.config->services.uplinks, "lo");
    put_pattern(&fixture.planning.config->services.pod_interfaces, "cali*");
    assert_planned(&fixture, BASE "; services.uplinks: no interface matches \"bond0\" -> " NAME_ONE
                                  "; services.uplinks: no interface matches \"lo\" -> " NAME_ONE);
}

static void give_address(struct fixture *fixture, const char *name)
{
    struct link_address address = { .ifindex = link_named(&fixture->links, name)->ifindex };
    assert_int_equal(ip_parse("192.0.2.1", &address.ip), 0);
    assert_int_equal(sorted_put(&fixture->addresses, &address), 0);
}

/* It keeps its programs, for the moment when it comes up again. A port that nobody uses is spare.
 */
static void an_uplink_that_is_down_is_told(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    ((struct link *)link_named(&fixture.links, "eth0"))->up = false;
    assert_planned(&fixture, BASE);
    give_address(&fixture, "eth0");
    assert_planned(&fixture, BASE "; interface eth0: eth0 is down: nothing comes in or leaves by "
                                  "this uplink -> ip link set eth0 up");
    struct link *eth0 = (struct link *)link_named(&fixture.links, "eth0");
    eth0->up = eth0->unplugged = true;
    assert_planned(&fixture,
                   BASE "; interface eth0: eth0 has no carrier: nothing comes in or leaves "
                        "by this uplink -> see to the cable, and to the switch's port at "
                        "its other end; ethtool eth0");
}

static void put_default(struct fixture *fixture, const char *name, enum path_kind kind,
                        uint8_t family)
{
    const struct link_path path = { .ifindex = link_named(&fixture->links, name)->ifindex,
                                    .kind = kind,
                                    .net.ip.family = family };
    assert_int_equal(sorted_put(&fixture->paths, &path), 0);
}

/* Of a family that nothing leads out of, nothing is said where the other one's does. */
static void answers_find_other_routers(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    fixture.planning.config->services.enabled = true;
    give_address(&fixture, "eth0");
    assert_planned(&fixture,
                   BASE "; routes: no route leads to another router: answers to clients "
                        "beyond this node's own networks go nowhere -> ip route add default "
                        "via ROUTER, or let the routing daemon learn routes from it");
    put_link(&fixture.links, "wan0", "");
    put_default(&fixture, "wan0", PATH_VIA, IP_V4);
    put_default(&fixture, "eth0", PATH_DEFAULT, IP_V6);
    assert_planned(&fixture, BASE);
    put_default(&fixture, "wan0", PATH_DEFAULT, IP_V4);
    assert_planned(&fixture, BASE "; services.uplinks: the default route leads by wan0, which no "
                                  "pattern matches: answers to clients leave untranslated -> name "
                                  "it, or let them be found: auto");
    put_default(&fixture, "eth0", PATH_VIA, IP_V4);
    assert_planned(&fixture, BASE);
}

static void find_all(struct fixture *fixture)
{
    fixture->planning.config->services.uplinks_auto = true;
    fixture->planning.config->services.pod_interfaces_auto = true;
    clear_patterns(&fixture->planning.config->services.uplinks);
    clear_patterns(&fixture->planning.config->services.pod_interfaces);
}

static void all_is_found(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    find_all(&fixture);
    assert_planned(&fixture, "lo:4; services.uplinks: no interface leads to other hosts: nobody "
                             "outside of this node is served -> name it if there is one");
    put_way(&fixture.paths, 2, NULL);
    uint32_t bridge = put_link(&fixture.links, "cni0", "bridge")->ifindex;
    put_way(&fixture.paths, bridge, "10.244.3.0/24");
    struct link *port = put_link(&fixture.links, "port4", "veth");
    port->master = bridge;
    port->peer_away = true;
    put_way(&fixture.paths, put_link(&fixture.links, "cali5", "veth")->ifindex, "10.244.0.9/32");
    put_link(&fixture.links, "tun6", "tun")->type = ARPHRD_NONE;
    put_way(&fixture.paths, 6, NULL);
    put_link(&fixture.links, "gre7", "gre")->type = ARPHRD_IPGRE;
    put_way(&fixture.paths, 7, NULL); /* not named, so no fault */
    assert_planned(&fixture, BASE " cni0:3 port4:2 port4:3 cali5:2 cali5:3 tun6:0b tun6:1b");
    put_pattern(&fixture.planning.config->services.uplinks, "cali5");
    fixture.planning.config->services.uplinks_auto = false;
    assert_planned(&fixture, "lo:4 cni0:3 port4:2 port4:3 cali5:0 cali5:1");
}

static void pods_that_no_name_has_are_told(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    put_way(&fixture.paths, put_link(&fixture.links, "cali3", "veth")->ifindex, "10.244.0.9/32");
    put_way(&fixture.paths, put_link(&fixture.links, "cali4", "veth")->ifindex, "10.244.0.8/32");
    put_way(&fixture.paths, put_link(&fixture.links, "docker5", "bridge")->ifindex,
            "172.17.0.0/16");
    assert_planned(&fixture, BASE "; services.podInterfaces: routes lead to pods by cali3, which "
                                  "no pattern matches (2 such interfaces) -> name it, or let them "
                                  "be found: auto");
    put_pattern(&fixture.planning.config->services.pod_interfaces, "cali*");
    assert_planned(&fixture, BASE " cali3:2 cali3:3 cali4:2 cali4:3");
}

static void that_nothing_is_known_of_pods_is_told(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    fixture.pod_net = (struct prefix){ 0 };
    assert_planned(&fixture,
                   BASE "; services.clusterCIDRs: nothing is known of pods, neither networks nor "
                        "interfaces: all count as strangers -> name the pods' networks there, or "
                        "their interfaces in services.podInterfaces");
    put_link(&fixture.links, "veth3", "veth");
    assert_planned(&fixture, BASE " veth3:2 veth3:3");
}

static void both_lists_make_an_uplink(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    put_pattern(&fixture.planning.config->services.pod_interfaces, "eth0");
    assert_planned(&fixture, BASE "; interface eth0: it matches both lists, and is served as an "
                                  "uplink -> let only one of services.uplinks and "
                                  "services.podInterfaces match it");
}

static void svc0_has_the_uplinks_mtu(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    const struct link_facts facts = facts_of(&fixture);
    ((struct link *)sorted_at(&fixture.links, 0))->mtu = 65536;
    put_link(&fixture.links, "eth1", "")->mtu = 9000;
    put_link(&fixture.links, "veth1", "veth")->mtu = 9500;
    put_link(&fixture.links, "eth2", "gre")->type = ARPHRD_IPGRE;
    struct link *gre = sorted_at(&fixture.links, 4);
    gre->mtu = 20000;
    assert_int_equal(plan_svc0_mtu(&facts), 9000);
    sorted_clear(&fixture.links);
    assert_int_equal(plan_svc0_mtu(&facts), 1500);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    AUTOFIXTURE struct fixture fixture = begin();
    AUTOFAULTS struct faults faults = { 0 };
    const struct link_facts facts = facts_of(&fixture);
    nat_attachment_list wanted;
    assert_int_equal(with_heap(0, plan_nat_hooks(&facts, &wanted, &faults)), -ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_its_hooks),
        cmocka_unit_test(who_may_have_children),
        cmocka_unit_test(where_routes_lead_back),
        cmocka_unit_test(a_pattern_is_a_glob),
        cmocka_unit_test(what_everything_matches_is_not_meant),
        cmocka_unit_test(without_ethernet_it_has_programs_of_its_own),
        cmocka_unit_test(with_other_headers_it_is_refused),
        cmocka_unit_test(a_few_tunnels_may_go_by_routes),
        cmocka_unit_test(a_ports_master_is_named),
        cmocka_unit_test(masters_vlans_and_ports_of_a_vrf_are_served),
        cmocka_unit_test(a_bridge_of_pods_is_served_at_its_ports),
        cmocka_unit_test(a_bridge_of_pods_is_named_by_its_ports),
        cmocka_unit_test(missing_uplinks_are_told),
        cmocka_unit_test(an_uplink_that_is_down_is_told),
        cmocka_unit_test(answers_find_other_routers),
        cmocka_unit_test(all_is_found),
        cmocka_unit_test(pods_that_no_name_has_are_told),
        cmocka_unit_test(that_nothing_is_known_of_pods_is_told),
        cmocka_unit_test(both_lists_make_an_uplink),
        cmocka_unit_test(svc0_has_the_uplinks_mtu),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
