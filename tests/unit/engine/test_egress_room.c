// SPDX-License-Identifier: Apache-2.0
/*
 * A gateway's faults for want of room, with maps in plain memory. A fault lasts as long as its
 * cause, not only while clients come.
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "apply/egress/gateway/gateway_inside.h"
#include "apply/nat/datapath_inside.h"
#include "apply/nat/maps/addr.h"
#include "base/clock.h"
#include "cmocka_all.h"
#include "engine/egress/egress_pulse.h"
#include "engine/egress/egress_room.h"
#include "raised.h"

enum { BLOCKS = 4, CLIENTS = 4, SLOTS = 1000, CALM_MS = 60 * SECOND_MS };

/* One source address with four blocks of eight ports. */
struct gate_world {
    struct egress_control control;
    struct egress_ports_value ports[CLIENTS];
    struct egress_drop_value drops[EGRESS_CAUSE_COUNT];
    __u64 blocks[BLOCKS + 1];
    struct nat_datapath nat;
    struct egress_gate gate;
    struct egress_room room;
    int64_t now_ms;
};

static struct gate_world *make_world(void)
{
    struct gate_world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    world->control = (struct egress_control){ .address_blocks = BLOCKS,
                                              .block_size = 8,
                                              .snat_first = 20000,
                                              .client_blocks = 2,
                                              .sources = { 1, 0 } };
    world->nat.maps[NAT_MAP_RING].entries = SLOTS;
    world->gate = (struct egress_gate){
        .nat = &world->nat,
        .control = &world->control,
        .ports = world->ports,
        .drops = world->drops,
        .blocks = world->blocks,
        .client_limit = CLIENTS,
        .block_limit = BLOCKS,
        .layout = { .first_port = 20000, .block_size = 8, .address_blocks = BLOCKS, .used = { 1 } },
    };
    world->gate.layout.sources[0][0] = (struct ip){ .family = IP_V4, .bytes = { 192, 0, 2, 9 } };
    world->now_ms = 3600 * SECOND_MS;
    return world;
}

/* What is said after a pause in which nobody was refused, or just now. */
static void look(struct gate_world *world, int64_t pause_ms, struct faults *faults)
{
    world->now_ms += pause_ms;
    egress_room_look(&world->room, &world->gate, world->now_ms, faults);
}

static void refuse(struct gate_world *world, enum egress_cause cause)
{
    AUTOFAULTS struct faults before = { 0 };
    const struct ip client = { .family = IP_V4, .bytes = { 10, 244, 1, 5 } };
    const struct ip outside = { .family = IP_V4, .bytes = { 198, 51, 100, 80 } };
    look(world, 400, &before);
    assert_true(faults_none(&before));
    world->drops[cause].count++;
    world->drops[cause].last = (struct nat_tuple){ .src = nat_addr_of(&client),
                                                   .dst = nat_addr_of(&outside),
                                                   .dport = htons(443),
                                                   .protocol = IPPROTO_TCP };
}

static void expect(struct gate_world *world, int64_t pause_ms, const char *code,
                   const char *message)
{
    AUTOFAULTS struct faults faults = { 0 };
    look(world, pause_ms, &faults);
    assert_only_raised(&faults, code, "egress.gateway", message);
}

static void expect_none(struct gate_world *world, int64_t pause_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    look(world, pause_ms, &faults);
    assert_true(faults_none(&faults));
}

static const char *const ports_code = "egress-gateway-ports-exhausted";
static const char *const blocks_code = "egress-gateway-blocks-exhausted";
static const char *const flows_code = "egress-gateway-flows-full";
static const char refused[] = "new connections are refused, as of 10.244.1.5 to 198.51.100.80 port "
                              "443: ";

static char *words(const char *why)
{
    static char text[400];
    (void)snprintf(text, sizeof(text), "%s%s", refused, why);
    return text;
}

static void test_ports(void **state)
{
    (void)state;
    struct gate_world *world = make_world();
    refuse(world, EGRESS_CAUSE_PORTS);
    expect(world, 400, ports_code,
           words("each of its source ports has a connection there that lives"));
    expect_none(world, CALM_MS); /* it is no client any more */
    free(world);
}

static void test_blocks(void **state)
{
    (void)state;
    struct gate_world *world = make_world();
    refuse(world, EGRESS_CAUSE_BLOCKS);
    for (uint64_t number = 0; number < BLOCKS; number++)
        world->blocks[number] = (number + 1) << 32;
    AUTOFAULTS struct faults faults = { 0 };
    look(world, 400, &faults);
    assert_only_raised(
        &faults, blocks_code, "egress.gateway",
        words("no block of source ports is left: 0 are of 0 clients, 0 of them idle; "
              "- has 0"));
    AUTOFAULTS struct faults still = { 0 };
    look(world, CALM_MS, &still);
    (void)raised(&still, blocks_code);
    assert_string_equal(faults.list.items[0].remedy,
                        "widen egress.gateway.ports, name more egress.gateway.addresses, or have "
                        "another gateway");
    world->blocks[1] = 0;
    expect_none(world, CALM_MS);
    free(world);
}

static void test_flows(void **state)
{
    (void)state;
    struct gate_world *world = make_world();
    refuse(world, EGRESS_CAUSE_FLOWS_FULL);
    world->nat.sweep.last.states[NAT_STATE_ESTABLISHED] = SLOTS;
    expect(world, 400, flows_code, words("the table is full of flows that live"));
    expect(world, CALM_MS, flows_code, words("the table is full of flows that live"));
    expect(world, CALM_MS, flows_code, words("the table is full of flows that live"));
    world->nat.sweep.last.states[NAT_STATE_ESTABLISHED] = 0;
    expect_none(world, CALM_MS);
    free(world);
}

/* An agent that hears of no pods tells that once its heartbeat is too old, and no sooner. */
static void test_source_is_away(void **state)
{
    (void)state;
    struct gate_world *world = make_world();
    struct egress_pulse pulse = { 0 };
    AUTOFAULTS struct faults early = { 0 };
    AUTOFAULTS struct faults late = { 0 };
    AUTOFAULTS struct faults back = { 0 };
    egress_pulse_look(&pulse, &world->gate, true, world->now_ms, &early);
    world->now_ms += EGRESS_STALE_S * SECOND_MS;
    egress_pulse_look(&pulse, &world->gate, false, world->now_ms, &early);
    assert_true(faults_none(&early));
    world->now_ms += SECOND_MS;
    egress_pulse_look(&pulse, &world->gate, false, world->now_ms, &late);
    assert_only_raised(&late, "egress-gateway-not-following", "egress.gateway",
                       "this gateway learns of no new clients: it serves those that it knows, and "
                       "the clients' nodes send new pods to other gateways");
    egress_pulse_look(&pulse, &world->gate, true, world->now_ms, &back);
    assert_true(faults_none(&back));
    free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_flows),
        cmocka_unit_test(test_source_is_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
