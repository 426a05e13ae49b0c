// SPDX-License-Identifier: Apache-2.0
/* Bridges of pods: by which interfaces pods' packets come, and where they were looked at before. */
#include "linking.h"
#include "plan/egress/egress_ports.h"
#include "plan/egress/egress_table.h"

enum { BRIDGE = 1, PORT, GATE, GATEWAY, VLAN, POD, COUNT = POD };

struct fixture {
    struct sorted links, ports;
    nat_attachment_list hooks;
};

/* A bridge with a pod's port, a gateway whose other end is a port, a VLAN, and a pod beside it. */
static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){ .links = SORTED(struct link, link_cmp),
                                .ports = SORTED(struct egress_port, egress_port_cmp) };
    static const char *const kinds[] = { "bridge", "veth", "veth", "veth", "vlan", "veth" };
    for (size_t i = 0; i < COUNT; i++)
        put_link(&fixture.links, "link", kinds[i]);
    struct link *links[COUNT + 1];
    for (uint32_t i = 1; i <= COUNT; i++)
        links[i] = sorted_find(&fixture.links, &(struct link){ .ifindex = i });
    links[PORT]->master = links[GATE]->master = BRIDGE;
    links[PORT]->peer_away = links[POD]->peer_away = true;
    links[GATE]->lower = GATEWAY;
    links[GATEWAY]->lower = GATE;
    links[VLAN]->lower = BRIDGE;
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    sorted_done(&fixture->links);
    sorted_done(&fixture->ports);
    vec_done(&fixture->hooks);
    return 0;
}

static void hook(struct fixture *fixture, uint32_t ifindex, enum nat_hook hook)
{
    const struct nat_attachment it = { .ifindex = ifindex, .hook = hook };
    assert_int_equal(vec_push(&fixture->hooks, it), 0);
}

static uint32_t bridge_of(const struct fixture *fixture, uint32_t ifindex)
{
    const struct egress_port *port =
        sorted_find(&fixture->ports, &(struct egress_port){ ifindex, 0 });
    return port ? port->bridge : 0;
}

static void check(struct fixture *fixture, const uint32_t *bridges, const bool *seen)
{
    assert_int_equal(plan_egress_ports(&fixture->links, &fixture->hooks, &fixture->ports), 0);
    for (uint32_t i = 1; i <= COUNT; i++) {
        assert_int_equal(bridge_of(fixture, i), bridges[i]);
        assert_int_equal(plan_egress_is_seen(&fixture->links, &fixture->ports, i), seen[i]);
    }
}

static void ports_of_pods_have_the_programs(void **state)
{
    struct fixture *fixture = *state;
    hook(fixture, BRIDGE, NAT_HOOK_POD_OUT);
    for (uint32_t i = PORT; i <= POD; i++) {
        hook(fixture, i, NAT_HOOK_POD_IN);
        hook(fixture, i, NAT_HOOK_POD_OUT);
    }
    check(fixture, (const uint32_t[]){ 0, 0, BRIDGE, 0, BRIDGE, BRIDGE, 0 },
          (const bool[]){ false, false, false, true, true, true, false });
}

static void a_gateway_that_has_no_program_is_known(void **state)
{
    struct fixture *fixture = *state;
    hook(fixture, PORT, NAT_HOOK_POD_IN);
    check(fixture, (const uint32_t[]){ 0, 0, BRIDGE, 0, BRIDGE, BRIDGE, 0 },
          (const bool[]){ false, false, false, true, true, true, false });
}

/* With a NIC among its ports the bridge is served as one interface, and its VLANs as others. */
static void a_bridge_that_joins_others(void **state)
{
    struct fixture *fixture = *state;
    hook(fixture, BRIDGE, NAT_HOOK_POD_IN);
    hook(fixture, GATEWAY, NAT_HOOK_POD_IN);
    hook(fixture, VLAN, NAT_HOOK_POD_IN);
    check(fixture, (const uint32_t[COUNT + 1]){ 0 },
          (const bool[]){ false, false, false, true, false, false, false });
}

static void what_is_gone(void **state)
{
    struct fixture *fixture = *state;
    hook(fixture, COUNT + 1, NAT_HOOK_POD_IN);
    assert_int_equal(plan_egress_ports(&fixture->links, &fixture->hooks, &fixture->ports), 0);
    assert_int_equal(fixture->ports.count, 0);
    assert_false(plan_egress_is_seen(&fixture->links, &fixture->ports, COUNT + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ports_of_pods_have_the_programs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_gateway_that_has_no_program_is_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bridge_that_joins_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_gone, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
