// SPDX-License-Identifier: Apache-2.0
/* Which addresses are claimed, by whom, and that no route is made for them. */
#include "linking.h"
#include "plan/claims/holding_faults.h"
#include "plan/claims/holdings.h"
#include "raised.h"

#define POOL                                                                             \
    "{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: lb}, spec: " \
    "{addresses: [192.0.2.0/24, 198.51.100.0/24]}}"
#define L2(spec) \
    "{apiVersion: metallb.io/v1beta1, kind: L2Advertisement, metadata: {name: a}, spec: {" spec "}}"

struct world {
    struct planning planning;
    struct sorted links, addresses;
    holding_list list;
};

static void put_node(struct world *world, const char *name, const char *labels, const char *ready)
{
    AUTOFREE char *yaml =
        text_format("{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {%s}}, status: "
                    "{conditions: [{type: Ready, status: '%s'}]}}",
                    name, labels, ready);
    put(&world->planning, yaml);
}

static void world_begin(struct world *world)
{
    *world = (struct world){ .links = SORTED(struct link, link_cmp),
                             .addresses = SORTED(struct link_address, link_address_cmp) };
    planning_begin(&world->planning);
    world->planning.config->addresses.enabled = true;
    put_link(&world->links, "eth0", "");
    put_address(&world->addresses, 1, "192.0.2.250")->length = 24;
    put_link(&world->links, "eth1", "");
    put_address(&world->addresses, 2, "203.0.113.250")->length = 24;
    world->planning.facts.links = &world->links;
    world->planning.facts.link_addresses = &world->addresses;
    put_node(world, "node-1", "rack: a", "True");
    put_node(world, "node-2", "rack: b", "True");
    put_node(world, "node-3", "rack: b", "False");
    put(&world->planning, POOL);
    put_service(&world->planning, "web", "", "clusterIP: 10.96.0.1", "{ip: 192.0.2.1}");
    put_endpoint(&world->planning, "web-1", "web", "10.1.0.1", "node-2", "ready: true");
}

static void world_done(struct world *world)
{
    holding_list_done(&world->list);
    sorted_done(&world->links);
    sorted_done(&world->addresses);
    planning_done(&world->planning);
}

static void plan(struct world *world)
{
    holding_list_done(&world->list);
    assert_int_equal(plan_holdings(&world->planning.inputs, &world->list), 0);
}

static const struct holding *only(struct world *world)
{
    plan(world);
    assert_int_equal(world->list.count, 1);
    return world->list.items;
}

static bool may(const struct holding *holding, const char *name)
{
    if (strcmp(name, "node-1") == 0)
        return holding->reason == PLACEMENT_MAY;
    return contenders_find(holding->others, name) != NULL;
}

static void only_what_is_asked_for_is_claimed(void **state)
{
    (void)state;
    CLEANUP(world_done) struct world world;
    world_begin(&world);
    plan(&world);
    assert_int_equal(world.list.count, 0);
    add_range(&world.planning.config->addresses.claim, "192.0.2.0/24");
    assert_string_equal(only(&world)->key, "address.192-0-2-1");
    world.planning.config->addresses.enabled = false;
    plan(&world);
    assert_int_equal(world.list.count, 0);
}

static void an_l2_advertisement_claims_for_its_nodes_and_interfaces(void **state)
{
    (void)state;
    CLEANUP(world_done) struct world world;
    world_begin(&world);
    put(&world.planning, L2(""));
    const struct holding *holding = only(&world);
    assert_int_equal(holding->reason, PLACEMENT_MAY);
    assert_string_equal(holding->addresses.items[0].interface, "eth0");
    assert_true(may(holding, "node-1") && may(holding, "node-2"));
    assert_false(may(holding, "node-3"));
    put(&world.planning, L2("nodeSelectors: [{matchLabels: {rack: b}}]"));
    holding = only(&world);
    assert_int_equal(holding->reason, PLACEMENT_OTHER_NODES);
    assert_true(may(holding, "node-2") && !may(holding, "node-1"));
    put(&world.planning, L2("interfaces: [eth1]"));
    assert_int_equal(only(&world)->reason, PLACEMENT_OTHER_LINKS);
    put(&world.planning, L2("interfaces: [eth1, eth0]"));
    assert_int_equal(only(&world)->reason, PLACEMENT_MAY);
}

static void endpoints_decide_by_the_policy(void **state)
{
    (void)state;
    CLEANUP(world_done) struct world world;
    world_begin(&world);
    put(&world.planning, L2(""));
    put_service(&world.planning, "web", "", "clusterIP: 10.96.0.1, externalTrafficPolicy: Local",
                "{ip: 192.0.2.1}");
    const struct holding *holding = only(&world);
    assert_int_equal(holding->reason, PLACEMENT_NO_ENDPOINT);
    assert_true(may(holding, "node-2") && !may(holding, "node-1"));
    put_endpoint(&world.planning, "web-2", "web", "10.1.0.2", "node-1", "ready: true");
    assert_int_equal(only(&world)->reason, PLACEMENT_MAY);
    put_endpoint(&world.planning, "web-1", "web", "10.1.0.1", "node-2", "ready: false");
    put_endpoint(&world.planning, "web-2", "web", "10.1.0.2", "node-1", "ready: false");
    put_service(&world.planning, "web", "", "clusterIP: 10.96.0.1", "{ip: 192.0.2.1}");
    holding = only(&world);
    assert_false(may(holding, "node-1") || may(holding, "node-2"));
}

static void the_link_the_proof_and_the_standing_decide_for_this_node(void **state)
{
    (void)state;
    CLEANUP(world_done) struct world world;
    world_begin(&world);
    put(&world.planning, L2(""));
    ((struct link *)sorted_at(&world.links, 0))->unplugged = true;
    const struct holding *holding = only(&world);
    assert_int_equal(holding->reason, PLACEMENT_LINK_DOWN);
    assert_true(may(holding, "node-2") && !may(holding, "node-1"));
    ((struct link *)sorted_at(&world.links, 0))->unplugged = false;
    world.planning.inputs.standing = STANDING_DRAINING;
    assert_int_equal(only(&world)->reason, PLACEMENT_STANDING);
    world.planning.inputs.standing = STANDING_SERVING;
    const struct sorted none = SORTED(struct proof, proof_cmp);
    world.planning.inputs.proofs = &none;
    assert_int_equal(only(&world)->reason, PLACEMENT_NOT_PROVED);
    put_pattern(&world.planning.config->addresses.interfaces, "eth1*");
    world.planning.config->addresses.interfaces_auto = false;
    assert_int_equal(only(&world)->reason, PLACEMENT_UNUSED_LINK);
}

static void assert_only_fault(struct world *world, const char *code, const char *place,
                              const char *remedy)
{
    AUTOFAULTS struct faults faults = { 0 };
    plan(world);
    plan_holding_faults(&world->planning.facts, &world->list, &faults);
    assert_int_equal(faults.list.count, *place ? 1 : 0);
    if (!*place)
        return;
    assert_string_equal(faults.list.items[0].place, place);
    assert_string_equal(code_of(&faults.list.items[0]), code);
    assert_string_equal(faults.list.items[0].remedy, remedy);
}

#define TLS                                                                                      \
    "{apiVersion: v1, kind: Service, metadata: {name: tls, namespace: d}, spec: {type: "         \
    "LoadBalancer, clusterIP: 10.96.0.2, externalTrafficPolicy: Local, ports: [{name: h, port: " \
    "443}]}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}"

/* The address is where all ports are; what one node lacks, it and the others know. */
static void a_node_that_lacks_a_port_comes_last(void **state)
{
    (void)state;
    CLEANUP(world_done) struct world world;
    world_begin(&world);
    put(&world.planning, L2(""));
    put_service(&world.planning, "web", "", "clusterIP: 10.96.0.1, externalTrafficPolicy: Local",
                "{ip: 192.0.2.1}");
    put_endpoint(&world.planning, "web-2", "web", "10.1.0.2", "node-1", "ready: true");
    put(&world.planning, TLS);
    assert_false(only(&world)->lacks || contenders_find(only(&world)->others, "node-2")->lacks);
    put_endpoint(&world.planning, "tls-1", "tls", "10.1.0.3", "node-2", "ready: true");
    const struct holding *holding = only(&world);
    assert_true(holding->lacks && may(holding, "node-1"));
    assert_false(contenders_find(holding->others, "node-2")->lacks);
    assert_int_equal(holding->addresses.items[0].lost_port->port, 443);
    struct link_address *own = put_address(&world.addresses, 1, "192.0.2.1");
    own->length = 32;
    own->protocol = ADDRESS_PROTOCOL_KEPT;
    assert_only_fault(
        &world, "claim-port-without-endpoint", "Service d/tls",
        "run a pod of each port on one node of the segment, set externalTrafficPolicy: "
        "Cluster, or give each Service an address of its own");
    put_endpoint(&world.planning, "tls-1", "tls", "10.1.0.3", "node-1", "ready: true");
    holding = only(&world);
    assert_false(holding->lacks);
    assert_true(contenders_find(holding->others, "node-2")->lacks);
}

static void what_stands_in_the_way_here_is_told(void **state)
{
    (void)state;
    CLEANUP(world_done) struct world world;
    world_begin(&world);
    put(&world.planning, L2(""));
    assert_only_fault(&world, "", "", "");
    ((struct link *)sorted_at(&world.links, 1))->up = false;
    assert_only_fault(&world, "", "", ""); /* of another network */
    ((struct link *)sorted_at(&world.links, 1))->up = true;
    ((struct link *)sorted_at(&world.links, 0))->up = false;
    assert_only_fault(&world, "claim-interface-down", "interface eth0", "ip link set eth0 up");
    ((struct link *)sorted_at(&world.links, 0))->up = true;
    ((struct link *)sorted_at(&world.links, 0))->unplugged = true;
    assert_only_fault(&world, "claim-interface-unplugged", "interface eth0",
                      "see to the cable, and to the switch's port at its other end; ethtool eth0");
    ((struct link *)sorted_at(&world.links, 0))->unplugged = false;
    uint32_t bond = put_link(&world.links, "bond0", "bond")->ifindex;
    ((struct link *)sorted_at(&world.links, 0))->master = bond;
    assert_only_fault(&world, "claim-interface-enslaved", "interface eth0",
                      "move its addresses to bond0, or ip link set eth0 nomaster");
    ((struct link *)sorted_at(&world.links, 0))->master = 0;
    ((struct link *)sorted_at(&world.links, 0))->no_arp = true;
    assert_only_fault(&world, "claim-interface-without-arp", "interface eth0",
                      "ip link set eth0 arp on");
    ((struct link *)sorted_at(&world.links, 0))->no_arp = false;
    struct link_address *own = put_address(&world.addresses, 1, "192.0.2.1"); /* the claim's */
    own->length = 32;
    assert_only_fault(&world, "", "", "");
    assert_false(only(&world)->addresses.items[0].there); /* somebody wrote over it */
    own->protocol = ADDRESS_PROTOCOL_KEPT;
    assert_only_fault(&world, "", "", "");
    assert_true(only(&world)->addresses.items[0].there);
    put_address(&world.addresses, 2, "192.0.2.1")->length = 32;
    assert_only_fault(&world, "claim-address-elsewhere", "192.0.2.1",
                      "ip addr del 192.0.2.1/32 dev eth1");
}

static void an_interface_of_two_patterns_is_told_once(void **state)
{
    (void)state;
    CLEANUP(world_done) struct world world;
    world_begin(&world);
    put(&world.planning, L2(""));
    put_link(&world.links, "eth2", "");
    sorted_clear(&world.addresses);
    put_pattern(&world.planning.config->addresses.interfaces, "eth2");
    put_pattern(&world.planning.config->addresses.interfaces, "eth[2-9]");
    world.planning.config->addresses.interfaces_auto = false;
    assert_only_fault(&world, "claim-interface-without-network", "interface eth2",
                      "ip addr add ADDRESS/LENGTH dev eth2, of the network of 192.0.2.1, or take "
                      "eth2 out of addresses.interfaces");
}

static void a_pattern_of_no_interface_is_told(void **state)
{
    (void)state;
    CLEANUP(world_done) struct world world;
    world_begin(&world);
    put_pattern(&world.planning.config->addresses.interfaces, "wan*");
    world.planning.config->addresses.interfaces_auto = false;
    assert_only_fault(&world, "claim-interfaces-unmatched", "addresses.interfaces",
                      "name one that is there (ip link), or let them be found: auto");
}

static void what_stays_together_is_one_claim(void **state)
{
    (void)state;
    CLEANUP(world_done) struct world world;
    struct ip own;
    world_begin(&world);
    put(&world.planning, L2(""));
    put_service(&world.planning, "web", "", "clusterIP: 10.96.0.1",
                "{ip: 192.0.2.1}, {ip: 192.0.2.2}");
    assert_int_equal(ip_parse("203.0.113.1", &own), 0);
    assert_int_equal(vec_push(&world.planning.config->addresses.own, own), 0);
    plan(&world);
    assert_int_equal(world.list.count, 3);
    world.planning.config->addresses.group = CLAIM_BY_SERVICE;
    plan(&world);
    assert_int_equal(world.list.count, 2);
    assert_string_equal(world.list.items[0].key, "address.203-0-113-1");
    assert_string_equal(world.list.items[1].key, "service.d.web");
    assert_int_equal(world.list.items[1].addresses.count, 2);
    world.planning.config->addresses.group = CLAIM_OF_ALL;
    const struct holding *holding = only(&world);
    assert_int_equal(holding->addresses.count, 3);
    assert_int_equal(holding->others->nodes.count, 1);
    ((struct link *)sorted_at(&world.links, 1))->up = false;
    assert_int_equal(only(&world)->reason, PLACEMENT_LINK_DOWN);
}

/* However many addresses there are; of policy Local each Service has its own. */
static void claims_of_a_kind_share_their_nodes(void **state)
{
    (void)state;
    CLEANUP(world_done) struct world world;
    world_begin(&world);
    put(&world.planning, L2(""));
    put_service(&world.planning, "web", "", "clusterIP: 10.96.0.1",
                "{ip: 192.0.2.1}, {ip: 192.0.2.2}, {ip: 192.0.2.3}");
    put_service(&world.planning, "two", "", "clusterIP: 10.96.0.2", "{ip: 192.0.2.4}");
    put_endpoint(&world.planning, "two-1", "two", "10.1.0.9", "node-1", "ready: true");
    put_service(&world.planning, "near", "", "clusterIP: 10.96.0.3, externalTrafficPolicy: Local",
                "{ip: 192.0.2.5}");
    put_endpoint(&world.planning, "near-1", "near", "10.1.0.8", "node-1", "ready: true");
    put_service(&world.planning, "none", "", "clusterIP: 10.96.0.4", "{ip: 192.0.2.6}");
    plan(&world);
    assert_int_equal(world.list.count, 6);
    const struct holding *all = world.list.items;
    for (size_t i = 1; i < 4; i++)
        assert_ptr_equal(all[i].others, all[0].others);
    assert_true(may(&all[0], "node-2"));
    assert_int_equal(all[4].others->nodes.count, 0);
    assert_int_equal(all[5].others->nodes.count, 0);
    put_endpoint(&world.planning, "near-2", "near", "10.1.0.7", "node-2", "ready: true");
    plan(&world);
    assert_true(may(&world.list.items[4], "node-2"));
}

static void keys_are_names_of_the_api(void **state)
{
    (void)state;
    CLEANUP(world_done) struct world world;
    struct ip own;
    world_begin(&world);
    assert_int_equal(ip_parse("2001:db8::", &own), 0);
    assert_int_equal(vec_push(&world.planning.config->addresses.own, own), 0);
    const struct holding *holding = only(&world);
    assert_string_equal(holding->key, "address.2001-db8-0-0-0-0-0-0");
    assert_int_equal(holding->reason, PLACEMENT_NO_INTERFACE);
}

static void no_route_is_made_of_what_is_claimed(void **state)
{
    (void)state;
    CLEANUP(world_done) struct world world;
    world_begin(&world);
    put(&world.planning, L2(""));
    assert_string_equal(reason_of(&world.planning, "192.0.2.1"), "claimed");
    /* In no network of this node: announced like any other. */
    put_service(&world.planning, "far", "", "clusterIP: 10.96.0.2", "{ip: 198.51.100.1}");
    put_endpoint(&world.planning, "far-1", "far", "10.1.0.3", "node-2", "ready: true");
    assert_string_equal(reason_of(&world.planning, "198.51.100.1"), "announced");
    world.planning.config->addresses.enabled = false;
    assert_string_equal(reason_of(&world.planning, "192.0.2.1"), "l2-only");
    assert_string_equal(reason_of(&world.planning, "198.51.100.1"), "l2-only");
    assert_true(faults_none(&world.planning.faults));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_asked_for_is_claimed),
        cmocka_unit_test(an_l2_advertisement_claims_for_its_nodes_and_interfaces),
        cmocka_unit_test(endpoints_decide_by_the_policy),
        cmocka_unit_test(a_node_that_lacks_a_port_comes_last),
        cmocka_unit_test(the_link_the_proof_and_the_standing_decide_for_this_node),
        cmocka_unit_test(what_stands_in_the_way_here_is_told),
        cmocka_unit_test(an_interface_of_two_patterns_is_told_once),
        cmocka_unit_test(a_pattern_of_no_interface_is_told),
        cmocka_unit_test(what_stays_together_is_one_claim),
        cmocka_unit_test(claims_of_a_kind_share_their_nodes),
        cmocka_unit_test(keys_are_names_of_the_api),
        cmocka_unit_test(no_route_is_made_of_what_is_claimed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
