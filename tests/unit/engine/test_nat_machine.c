// SPDX-License-Identifier: Apache-2.0
/* What a machine's interfaces lack for service NAT, from facts. */
#include "engine/nat/host/nat_machine.h"

#include "../plan/linking.h"
#include "raised.h"

struct world {
    struct planning planning;
    struct sorted links, addresses;
    struct nat_attachment uplink;
    struct nat_node node;
};

/* eth0 is an uplink with an address of each family, and the Node has that of IPv4. */
static void begin(struct world *world)
{
    *world = (struct world){ .links = SORTED(struct link, link_cmp),
                             .addresses = SORTED(struct link_address, link_address_cmp) };
    planning_begin(&world->planning);
    put_link(&world->links, "lo", "")->type = ARPHRD_LOOPBACK;
    const struct link *eth0 = put_link(&world->links, "eth0", "");
    put_address(&world->addresses, eth0->ifindex, "192.0.2.1");
    put_address(&world->addresses, eth0->ifindex, "2001:db8::1");
    world->uplink = (struct nat_attachment){ .ifindex = eth0->ifindex, .hook = NAT_HOOK_UPLINK_IN };
    world->node.wanted.items = &world->uplink;
    world->node.wanted.count = 1;
    assert_int_equal(ip_parse("192.0.2.1", &world->node.named.v4), 0);
    assert_int_equal(ip_parse("2001:db8::1", &world->node.named.v6), 0);
}

static void done(struct world *world)
{
    planning_done(&world->planning);
    sorted_done(&world->links);
    sorted_done(&world->addresses);
}

static void assert_lacking(struct world *world, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct node_facts facts = { .store = world->planning.store,
                                      .config = world->planning.config,
                                      .links = &world->links,
                                      .link_addresses = &world->addresses };
    nat_machine_addresses(&world->node, &facts, &faults);
    assert_told(&faults, expected);
}

static void interfaces_that_can_not_serve(void **state)
{
    (void)state;
    CLEANUP(done) struct world world;
    begin(&world);
    assert_lacking(&world, "");
    ((struct link *)link_named(&world.links, "lo"))->up = false;
    assert_lacking(
        &world,
        "nat-loopback-down at interface lo: lo is down: this node does not reach itself, nor its own node ports\n");
    ((struct link *)link_named(&world.links, "lo"))->up = true;
    ((struct link *)link_named(&world.links, "eth0"))->mtu = 1279;
    assert_lacking(
        &world,
        "nat-mtu-below-ipv6 at interface eth0: its MTU of 1279 is below 1280: the kernel has no IPv6 there\n");
    world.node.named.v6.family = IP_NONE;
    assert_lacking(&world, "");
}

static void an_address_that_another_host_has(void **state)
{
    (void)state;
    CLEANUP(done) struct world world;
    begin(&world);
    struct link_address *address = sorted_at(&world.addresses, 0);
    address->duplicate = true;
    assert_lacking(
        &world,
        "nat-address-duplicate at interface eth0: its address 192.0.2.1 is another machine's, too (duplicate address detection failed): the kernel does not use it\n");
}

static void node_ports_have_an_address(void **state)
{
    (void)state;
    CLEANUP(done) struct world world;
    struct prefix range;
    begin(&world);
    assert_int_equal(prefix_parse("203.0.113.0/24", &range), 0);
    assert_int_equal(vec_push(&world.planning.config->services.node_port_addresses, range), 0);
    world.planning.config->services.node_port_primary = false;
    assert_lacking(
        &world,
        "nat-node-ports-addressless at services.nodePortAddresses: this node has no address in 203.0.113.0/24: nothing answers on node ports of IPv4\n");
    put_address(&world.addresses, world.uplink.ifindex, "203.0.113.9");
    assert_lacking(&world, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interfaces_that_can_not_serve),
        cmocka_unit_test(an_address_that_another_host_has),
        cmocka_unit_test(node_ports_have_an_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
