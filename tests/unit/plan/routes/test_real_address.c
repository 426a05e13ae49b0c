// SPDX-License-Identifier: Apache-2.0
/* Whose an address is apart from Services, and what its claims say then. */
#include <time.h>

#include "base/macro.h"
#include "linking.h"
#include "nat_planning.h"
#include "plan/nat/svc0_route.h"
#include "plan/routes/real_address.h"
#include "raised.h"

/* node-1 with eth0, a tunnel and kube-proxy's device. */
struct world {
    struct planning planning;
    struct sorted links, addresses, prefixes, networks;
};

static void put_prefix(struct world *world, const char *text)
{
    struct prefix prefix;
    assert_int_equal(prefix_parse(text, &prefix), 0);
    assert_int_equal(sorted_put(&world->prefixes, &prefix), 0);
    if (prefix.length < ip_bits(&prefix.ip))
        assert_int_equal(sorted_put(&world->networks, &prefix), 0);
}

/* As the kernel's mirror has it: the address, and the network of its length or of its peer. */
static void give(struct world *world, const struct link *link, const char *ip, const char *network)
{
    char host[PREFIX_STRLEN];
    put_address(&world->addresses, link->ifindex, ip);
    (void)snprintf(host, sizeof(host), "%s/%s", ip, strchr(ip, ':') ? "128" : "32");
    put_prefix(world, host);
    put_prefix(world, network);
}

static void world_begin(struct world *world)
{
    *world = (struct world){
        .links = SORTED(struct link, link_cmp),
        .addresses = SORTED(struct link_address, link_address_cmp),
        .prefixes = SORTED(struct prefix, prefix_item_cmp),
        .networks = SORTED(struct prefix, prefix_item_cmp),
    };
    planning_begin(&world->planning);
    put_link(&world->links, "eth0", "");
    put_link(&world->links, "kube-ipvs0", "dummy");
    put_link(&world->links, "tun0", "tun");
    put_link(&world->links, "nodelocaldns", "dummy");
    world->planning.facts.links = &world->links;
    world->planning.facts.link_addresses = &world->addresses;
    world->planning.facts.local_prefixes = &world->prefixes;
    world->planning.facts.local_networks = &world->networks;
    put(&world->planning, "apiVersion: v1\nkind: Node\nmetadata: {name: node-2}\nstatus: "
                          "{addresses: [{type: InternalIP, address: 192.0.2.2}]}\n");
    give(world, link_named(&world->links, "eth0"), "192.0.2.1", "192.0.2.0/24");
    give(world, link_named(&world->links, "eth0"), "2001:db8:1::1", "2001:db8:1::/64");
    give(world, link_named(&world->links, "tun0"), "203.0.113.1", "203.0.113.9/32");
    give(world, link_named(&world->links, "nodelocaldns"), "10.96.0.10", "10.96.0.10/32");
}

static void assert_network(const struct world *world, const char *text, const char *expected)
{
    struct ip ip;
    struct real_address real;
    char found[REASON_STRLEN] = "";
    assert_int_equal(ip_parse(text, &ip), 0);
    if (real_network_of(&world->planning.facts, &ip, &real))
        (void)snprintf(found, sizeof(found), "%s: %s", address_reason_name(real.reason), real.of);
    assert_string_equal(found, expected);
}

static void world_done(struct world *world)
{
    planning_done(&world->planning);
    sorted_done(&world->links);
    sorted_done(&world->addresses);
    sorted_done(&world->prefixes);
    sorted_done(&world->networks);
}

#define AUTOWORLD CLEANUP(world_done)

/* "node-address: node-2", or "nobody's". */
static void assert_whose(struct world *world, const char *text, const char *expected)
{
    struct real_address real;
    struct ip ip;
    char whose[300] = "nobody's";
    assert_int_equal(ip_parse(text, &ip), 0);
    if (real_address_of(&world->planning.facts, &ip, &real))
        (void)snprintf(whose, sizeof(whose), "%s: %s", address_reason_name(real.reason), real.of);
    if (strcmp(whose, expected) != 0)
        fail_msg("%s is %s, not %s", text, whose, expected);
}

static void pods_have_theirs(void **state)
{
    (void)state;
    AUTOWORLD struct world world;
    world_begin(&world);
    assert_whose(&world, "10.224.0.3", "nobody's");
    struct prefix net;
    assert_int_equal(prefix_parse("10.224.0.0/16", &net), 0);
    assert_int_equal(vec_push(&world.planning.config->services.cluster_cidrs, net), 0);
    assert_whose(&world, "10.224.0.3", "pod-network: 10.224.0.0/16");
    assert_whose(&world, "10.225.0.3", "nobody's");
    /* A network that covers this node as well is not the pods' alone. */
    assert_int_equal(prefix_parse("192.0.0.0/8", &net), 0);
    assert_int_equal(vec_push(&world.planning.config->services.cluster_cidrs, net), 0);
    assert_whose(&world, "192.1.0.3", "pod-network: 192.0.0.0/8");
    put_node(&world.planning, world.planning.config->node, "",
             "{type: InternalIP, address: 192.0.2.1}");
    assert_whose(&world, "192.1.0.3", "nobody's");
}

static void everybody_has_his_own(void **state)
{
    (void)state;
    AUTOWORLD struct world world;
    world_begin(&world);
    assert_whose(&world, "192.0.2.2", "node-address: node-2");
    assert_whose(&world, "192.0.2.1", "local-address: eth0");
    assert_whose(&world, "192.0.2.254", "connected-network: 192.0.2.0/24");
    assert_whose(&world, "2001:db8:1::1", "local-address: eth0");
    assert_whose(&world, "2001:db8:1::fe", "connected-network: 2001:db8:1::/64");
    assert_whose(&world, "203.0.113.1", "local-address: tun0");
    assert_whose(&world, "10.96.0.10", "local-address: nodelocaldns");
    assert_whose(&world, "198.51.100.1", "nobody's");
    assert_whose(&world, "2001:db8:2::1", "nobody's");
}

/* Its addresses are the Services', unless somebody else has them, too. */
static void kube_proxys_device_has_none(void **state)
{
    (void)state;
    AUTOWORLD struct world world;
    world_begin(&world);
    const struct link *ipvs = link_named(&world.links, "kube-ipvs0");
    give(&world, ipvs, "198.51.100.1", "198.51.100.1/32");
    give(&world, ipvs, "10.96.0.1", "10.96.0.1/32");
    give(&world, ipvs, "10.96.0.10", "10.96.0.10/32");
    give(&world, ipvs, "192.0.2.99", "192.0.2.99/32");
    assert_whose(&world, "198.51.100.1", "nobody's");
    assert_whose(&world, "10.96.0.1", "nobody's");
    assert_whose(&world, "10.96.0.10", "local-address: nodelocaldns");
    assert_whose(&world, "192.0.2.99", "connected-network: 192.0.2.0/24");
    assert_whose(&world, "192.0.2.1", "local-address: eth0");
}

/* The other end of a tunnel is no network, but somebody's. */
static void a_peer_is_somebodys(void **state)
{
    (void)state;
    AUTOWORLD struct world world;
    world_begin(&world);
    sorted_remove(&world.links, link_named(&world.links, "kube-ipvs0"));
    assert_whose(&world, "203.0.113.9", "connected-network: 203.0.113.9/32");
}

/* As `agentctl plan` has it. */
static void without_a_host_nodes_are_known(void **state)
{
    (void)state;
    AUTOWORLD struct world world;
    world_begin(&world);
    world.planning.facts.links = NULL;
    world.planning.facts.link_addresses = world.planning.facts.local_prefixes = NULL;
    assert_whose(&world, "192.0.2.2", "node-address: node-2");
    assert_whose(&world, "192.0.2.1", "nobody's");
}

/* What a status names is withheld with whose it is, and a fault; what has opted out is not told. */
static void claims_on_them_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *metadata, *spec, *address, *reason, *fault;
    } cases[] = {
        { "", "", "192.0.2.2", "a Node's own address: node-2",
          "address-of-node at Service d/web: 192.0.2.2 is not announced: it is a Node's own address: node-2\n" },
        { "", "", "192.0.2.1", "an interface of this node has it: eth0",
          "address-of-interface at Service d/web: 192.0.2.1 is not announced: an interface of this node has it: eth0\n" },
        { "", "", "192.0.2.254", "this node is connected to its network: 192.0.2.0/24",
          "address-in-connected-network at Service d/web: 192.0.2.254 is not announced: this node is connected to its network: 192.0.2.0/24\n" },
        { "", "", "10.224.0.3", "it is in a network of pods: 10.224.0.0/16",
          "address-in-pod-network at Service d/web: 10.224.0.3 is not announced: it is in a network of pods: 10.224.0.0/16\n" },
        { "", "loadBalancerClass: f5.com/lb", "192.0.2.2", "is not ours: f5.com/lb", NULL },
        { "annotations: {fingerpost.io/announce: \"false\"}", "", "192.0.2.2", "announce is false",
          NULL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOWORLD struct world world;
        char ingress[64], text[REASON_STRLEN];
        world_begin(&world);
        add_range(&world.planning.config->services.cluster_cidrs, "10.224.0.0/16");
        (void)snprintf(ingress, sizeof(ingress), "{ip: %s}", cases[i].address);
        put_service(&world.planning, "web", cases[i].metadata, cases[i].spec, ingress);
        put_endpoint(&world.planning, "web-1", "web", "10.0.0.1", "node-1", "ready: true");
        struct address_row *row = row_of(&world.planning, cases[i].address);
        assert_non_null(strstr(address_reason_about(row->reason, row->of, text), cases[i].reason));
        assert_string_equal(row->claims[0].of, row->of);
        assert_false(row->guarded);
        const struct faults *faults = &world.planning.faults;
        assert_told(faults, cases[i].fault ? cases[i].fault : "");
        address_row_free(row);
    }
}

/* As a DNS cache on the node has it: its questions are for the cache, from wherever they come. */
static void a_cluster_ip_on_the_node_is_left_to_it(void **state)
{
    (void)state;
    AUTOWORLD struct world world;
    world_begin(&world);
    struct planning *planning = &world.planning;
    const struct link *ipvs = link_named(&world.links, "kube-ipvs0");
    char buffer[IP_STRLEN];
    give(&world, ipvs, "10.96.0.11", "10.96.0.11/32");
    put_served(planning, "dns", "ClusterIP", "10.96.0.10", "ports: [{name: h, port: 53}]", "");
    put_served(planning, "web", "ClusterIP", "10.96.0.11", "ports: [{name: h, port: 80}]", "");
    assert_frontends(planning, "dns", "");
    assert_frontends(planning, "web", "10.96.0.11:80/TCP clusterIP");
    AUTONAT struct nat_row *row = nat_of(planning, "dns");
    assert_int_equal(row->family_count, 0);
    assert_int_equal(row->foreign.count, 1);
    assert_string_equal(ip_str(&row->foreign.items[0], buffer), "10.96.0.10");
    struct address_row *told = row_of(planning, "10.96.0.10");
    assert_string_equal(address_reason_name(told->reason), "local-address");
    assert_string_equal(told->of, "nodelocaldns");
    address_row_free(told);
    assert_string_equal(reason_of(planning, "10.96.0.11"), "not-advertised");
    assert_true(faults_none(&planning->faults));
    planning->config->services.enabled = true;
    assert_string_equal(reason_of(planning, "10.96.0.10"), "local-address");
    assert_told(&planning->faults,
                "address-cluster-ip-local at Service d/dns: its ClusterIP 10.96.0.10 is an address "
                "of interface nodelocaldns, too: this node's own packets go there, those of pods "
                "to the Service\n");
}

/* The port by which nodes are asked stays, and so does the other family. */
static void the_rest_of_its_service_stays(void **state)
{
    (void)state;
    AUTOWORLD struct world world;
    world_begin(&world);
    put_served(&world.planning, "dns", "LoadBalancer", "10.96.0.10, \"fd00:96::10\"",
               "ports: [{name: h, port: 53}]", "{ip: 198.51.100.1}");
    assert_frontends(&world.planning, "dns",
                     "198.51.100.1:53/TCP loadBalancer, fd00:96::10:53/TCP clusterIP");
}

#define NODE(name, addresses) \
    "apiVersion: v1\nkind: Node\nmetadata: {name: " name "}\nstatus: {addresses: [" addresses "]}\n"
#define POOL                                                                             \
    "{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: lb}, spec: " \
    "{addresses: [198.51.100.64/26]}}"

/* Of another segment: how long its network is says nobody; as long as this node's own, then. */
static void another_nodes_network_is_nobodys_service(void **state)
{
    (void)state;
    CLEANUP(world_done) struct world world;
    world_begin(&world);
    put(&world.planning, NODE("node-3", "{type: InternalIP, address: 198.51.100.3}, "
                                        "{type: InternalIP, address: '2001:db8:3::3'}"));
    assert_network(&world, "198.51.100.1", ""); /* this Node's own address is not known yet */
    put(&world.planning, NODE("node-1", "{type: InternalIP, address: 192.0.2.1}, "
                                        "{type: InternalIP, address: '2001:db8:1::1'}"));
    sorted_each(struct link_address, address, &world.addresses)
        address->length = address->ip.family == IP_V6 ? 64 : 24;
    assert_network(&world, "198.51.100.1", "node-network: 198.51.100.0/24 of node-3");
    assert_network(&world, "2001:db8:3::1", "node-network: 2001:db8:3::/64 of node-3");
    assert_network(&world, "198.51.101.1", "");
    assert_network(&world, "2001:db8:4::1", "");
    add_range(&world.planning.config->services.external_ips, "0.0.0.0/0"); /* says nothing of it */
    assert_network(&world, "198.51.100.1", "node-network: 198.51.100.0/24 of node-3");
    put(&world.planning, POOL);
    assert_network(&world, "198.51.100.65", "");
    assert_network(&world, "198.51.100.1", "node-network: 198.51.100.0/24 of node-3");
    add_range(&world.planning.config->services.load_balancer_ips, "0.0.0.0/0");
    assert_network(&world, "198.51.100.1", "node-network: 198.51.100.0/24 of node-3");
    add_range(&world.planning.config->services.load_balancer_ips, "198.51.0.0/16");
    assert_network(&world, "198.51.100.1", "");
}

/* Where other segments are of another size the guess is this node's still, and no wider. */
static void the_guess_is_as_long_as_this_nodes_network(void **state)
{
    (void)state;
    CLEANUP(world_done) struct world world;
    world_begin(&world);
    put(&world.planning, NODE("node-1", "{type: InternalIP, address: 192.0.2.1}"));
    put(&world.planning, NODE("node-3", "{type: InternalIP, address: 198.51.100.3}"));
    static const struct {
        uint8_t length;
        const char *near, *far;
    } cases[] = {
        { 26, "node-network: 198.51.100.0/26 of node-3", "" },
        { 22, "node-network: 198.51.100.0/22 of node-3",
          "node-network: 198.51.100.0/22 of node-3" },
        { 32, "", "" }, /* of a fabric without networks: nothing is guessed */
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        sorted_each(struct link_address, address, &world.addresses)
            address->length = address->ip.family == IP_V6 ? 64 : cases[i].length;
        assert_network(&world, "198.51.100.1", cases[i].near);
        assert_network(&world, "198.51.100.65", cases[i].far);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What it takes to ask of each address that kube-proxy's device has, and of one beside each. */
static double seconds_of(uint32_t count)
{
    CLEANUP(world_done) struct world world;
    world_begin(&world);
    put(&world.planning, NODE("node-1", "{type: InternalIP, address: 2001:db8:1::1}"));
    const uint32_t ipvs = link_named(&world.links, "kube-ipvs0")->ifindex;
    for (uint32_t i = 0; i < count; i++) {
        struct link_address address = { .ifindex = ipvs, .order = 100 + i, .length = 32 };
        address.ip = (struct ip){ IP_V4, { 10, 98, (uint8_t)(i / 256), (uint8_t)(i % 256) } };
        const struct prefix host = ip_host_prefix(&address.ip);
        assert_int_equal(sorted_put(&world.addresses, &address), 0);
        assert_int_equal(sorted_put(&world.prefixes, &host), 0);
    }
    add_range(&world.planning.config->services.service_cidrs, "10.96.0.0/12");
    const double begin = seconds();
    for (uint32_t i = 0; i < count; i++) {
        struct real_address real;
        struct ip v4 = { IP_V4, { 10, 97, (uint8_t)(i / 256), (uint8_t)(i % 256) } };
        struct ip v6 = { IP_V6,
                         { 0x20, 0x01, 0x0d, 0xb8, 9, [14] = v4.bytes[2], [15] = v4.bytes[3] } };
        assert_false(real_address_of(&world.planning.facts, &v4, &real));
        v4.bytes[1] = 98;
        assert_false(real_address_of(&world.planning.facts, &v4, &real));
        assert_true(svc0_route_covers(&world.planning.facts, &v4));
        assert_false(real_network_of(&world.planning.facts, &v6, &real));
    }
    return seconds() - begin;
}

/* Eight times as many addresses take eight times as long, not sixty-four times. */
static void the_time_is_in_proportion(void **state)
{
    (void)state;
    double ratio = 0;
    for (int i = 0; i < 3; i++) {
        const double few = seconds_of(1000), many = seconds_of(8000);
        ratio = i == 0 || many / few < ratio ? many / few : ratio;
    }
    print_message("8000 addresses take %.1f times what 1000 take\n", ratio);
    assert_true(ratio < 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_guess_is_as_long_as_this_nodes_network),
        cmocka_unit_test(the_time_is_in_proportion),
        cmocka_unit_test(everybody_has_his_own),
        cmocka_unit_test(pods_have_theirs),
        cmocka_unit_test(kube_proxys_device_has_none),
        cmocka_unit_test(a_peer_is_somebodys),
        cmocka_unit_test(without_a_host_nodes_are_known),
        cmocka_unit_test(claims_on_them_are_told),
        cmocka_unit_test(a_cluster_ip_on_the_node_is_left_to_it),
        cmocka_unit_test(the_rest_of_its_service_stays),
        cmocka_unit_test(another_nodes_network_is_nobodys_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
