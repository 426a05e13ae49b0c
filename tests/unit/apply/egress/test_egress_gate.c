// SPDX-License-Identifier: Apache-2.0
/*
 * The maps of an egress gateway, in the kernel: its clients, their blocks of ports, and what they
 * may send where. Needs root and BPF.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>

#include "apply/egress/gateway/gateway_inside.h"
#include "apply/egress/gateway/room.h"
#include "base/clock.h"
#include "bpf/egress_gateway.skel.h"
#include "faults/egress.h"
#include "nat/nat_datapath_lab.h"
#include "raised.h"

static struct ip ip_of(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

/* A gateway with two clients, of ids 1 and 2. */
struct gate_world {
    struct nat_datapath *nat;
    struct egress_gate *gate;
    struct egress_client clients[2];
    struct sorted wanted, policies;
};

static void gate_write(struct gate_world *world, bool may_remove, int changes)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct egress_gate_wanted wanted = {
        .clients = &world->wanted,
        .policies = &world->policies,
        .may_remove = may_remove,
    };
    assert_int_equal(egress_gate_write(world->gate, &wanted, &faults), changes);
    assert_true(faults_none(&faults));
}

static void gate_open(struct gate_world *world)
{
    AUTOFAULTS struct faults faults = { 0 };
    *world = (struct gate_world){
        .nat = datapath_open(&lab_roomy, true),
        .clients = { { ip_of("10.244.1.5"), "shop", "web-1", "internet/nat" },
                     { ip_of("10.244.1.6"), "shop", "web-2", "internet/nat" } },
        .wanted = SORTED(struct egress_client *, egress_client_cmp),
        .policies = SORTED(struct egress_policy *, egress_policy_cmp),
    };
    world->nat->control->ring_slots = 512; /* flows live by nat_timeout_s() */
    for (size_t i = 0; i < NAT_STATES; i++)
        world->nat->control->egress_timeouts_s[i] = 3600;
    assert_int_equal(egress_gate_open(world->nat, lab_pins, &world->gate, &faults), 0);
    for (size_t i = 0; i < 2; i++) {
        struct egress_client *client = &world->clients[i];
        assert_int_equal(sorted_put(&world->wanted, &client), 0);
        gate_write(world, true, 1);
    }
}

static void gate_close(struct gate_world *world)
{
    sorted_done(&world->wanted);
    egress_gate_close(world->gate);
    nat_datapath_close(world->nat);
}

/* One half of a flow of the client with this id, as the program makes it, with one block. */
static struct nat_tuple gate_flow(struct gate_world *world, uint32_t id)
{
    const struct nat_tuple key = { .sport = (uint16_t)id, .dport = 2, .protocol = PROTOCOL_TCP };
    const struct nat_flow flow = {
        .half = NAT_HALF_REPLY,
        .delivery = NAT_DELIVER_EGRESS,
        .port = id,
        .generation = world->gate->ports[id].generation,
        .check = nat_tuple_check(&key),
        .seen_s = (uint32_t)(clock_mono_ms() / SECOND_MS),
    };
    assert_int_equal(nat_table_put(world->nat, NAT_MAP_FLOWS, &key, &flow, BPF_ANY), 0);
    world->gate->ports[id].count = 1;
    world->gate->blocks[id] = (uint64_t)id << 32;
    return key;
}

static bool gate_has(struct gate_world *world, const struct nat_tuple *key)
{
    struct nat_flow flow;
    return nat_table_get(world->nat, NAT_MAP_FLOWS, key, &flow) == 0;
}

static void gate_sweep(struct gate_world *world)
{
    int64_t next_ms;
    assert_true(nat_datapath_sweep(world->nat, clock_mono_ms(), &next_ms) >= 0);
}

/*
 * Who goes loses his blocks at once, and his flows: these are orphans, which are nobody's business
 * but the sweep's, however many they are.
 */
static void test_clients(void **state)
{
    (void)state;
    struct gate_world world;
    gate_open(&world);
    gate_write(&world, true, 0);
    const struct nat_tuple one = gate_flow(&world, 1), other = gate_flow(&world, 2);
    gate_sweep(&world);
    assert_true(gate_has(&world, &one) && gate_has(&world, &other));

    const struct egress_client *gone = &world.clients[0];
    sorted_remove(&world.wanted, &gone);
    gate_write(&world, false, 0);
    gate_write(&world, true, 1);
    assert_int_equal(world.gate->blocks[1], 0);
    assert_int_not_equal(world.gate->blocks[2], 0);
    assert_true(gate_has(&world, &one));
    gate_sweep(&world);
    assert_true(!gate_has(&world, &one) && gate_has(&world, &other));
    gate_close(&world);
}

/* An id that is given again is another client's: no flow from before is its. */
static void test_id_again(void **state)
{
    (void)state;
    struct gate_world world;
    gate_open(&world);
    const struct nat_tuple one = gate_flow(&world, 1);
    const uint32_t before = world.gate->ports[1].generation;
    struct egress_client *again = &world.clients[0];
    sorted_remove(&world.wanted, &again);
    gate_write(&world, true, 1);
    world.gate->last_id = 0;
    assert_int_equal(sorted_put(&world.wanted, &again), 0);
    gate_write(&world, true, 1);
    assert_int_equal(world.gate->ports[1].generation & 1, 1);
    assert_int_not_equal(world.gate->ports[1].generation, before);
    gate_sweep(&world);
    assert_false(gate_has(&world, &one));
    gate_close(&world);
}

/* Blocks of nobody, which a program took as its client went, or an agent died over, are freed. */
static void test_blocks_of_nobody(void **state)
{
    (void)state;
    struct gate_world world;
    gate_open(&world);
    world.gate->blocks[1] = UINT64_C(1) << 32;
    world.gate->blocks[7] = UINT64_C(77) << 32;
    egress_gate_tell_blocks(world.gate);
    assert_int_not_equal(world.gate->blocks[1], 0);
    assert_int_equal(world.gate->blocks[7], 0);
    gate_close(&world);
}

/* A flow of client 1 whose source port is the n-th that the gateway has. */
static void gate_port_flow_of(struct gate_world *world, uint32_t n, uint8_t flags)
{
    const struct nat_tuple key = {
        .src = nat_addr_of(&(struct ip){ .family = IP_V4, .bytes = { 198, 51, 100, 80 } }),
        .dst = nat_addr_of(&world->gate->layout.sources[0][0]),
        .sport = htons(53),
        .dport = htons((uint16_t)(20000 + n)),
        .protocol = PROTOCOL_UDP,
    };
    const struct nat_flow flow = {
        .half = NAT_HALF_REPLY,
        .delivery = NAT_DELIVER_EGRESS,
        .port = 1,
        .generation = world->gate->ports[1].generation,
        .check = nat_tuple_check(&key),
        .seen_s = (uint32_t)(clock_mono_ms() / SECOND_MS),
        .flags = flags,
    };
    assert_int_equal(nat_table_put(world->nat, NAT_MAP_FLOWS, &key, &flow, BPF_ANY), 0);
}

static void gate_port_flow(struct gate_world *world, uint32_t n)
{
    gate_port_flow_of(world, n, 0);
}

/* As the program does it. */
static void gate_take(struct gate_world *world, uint32_t block)
{
    struct egress_ports_value *ports = &world->gate->ports[1];
    world->gate->blocks[block] = UINT64_C(1) << 32 | 5;
    ports->blocks[ports->count++] = (uint16_t)(block + 1);
}

/* Whole rounds of the sweep. A flow that may last for an hour is not over by them. */
static void gate_rounds(struct gate_world *world, int count, int64_t *now_ms)
{
    for (int i = 0; i < count; i++) {
        int64_t next_ms = 0;
        do
            assert_true(nat_datapath_sweep(world->nat, *now_ms, &next_ms) >= 0);
        while (next_ms < 1000);
        *now_ms += 6000;
    }
}

/* What the program may use, and whether a block is somebody's. */
static void expect_blocks(struct gate_world *world, uint32_t count, uint32_t first, uint32_t second)
{
    const struct egress_ports_value *ports = &world->gate->ports[1];
    assert_int_equal(ports->count, count);
    assert_int_equal(ports->blocks[0], first);
    assert_int_equal(ports->blocks[1], second);
    for (uint32_t i = count; i < EGRESS_BLOCKS_MAX; i++)
        assert_int_equal(ports->blocks[i], 0);
}

/* A client keeps its first block, and those with flows; the others go back after a while. */
static void test_idle_blocks(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    struct gate_world world;
    gate_open(&world);
    const struct egress_gate_settings settings = {
        .source = { { ip_of("192.0.2.9") } },
        .first_port = 20000,
        .last_port = 20063,
        .block = 8,
        .client_blocks = 8,
    };
    assert_int_equal(egress_gate_set(world.gate, &settings, &faults), 0);
    int64_t now_ms = clock_mono_ms();
    for (uint32_t block = 2; block < 6; block++)
        gate_take(&world, block);
    gate_port_flow(&world, 5 * 8 + 3);
    world.gate->blocks[7] = UINT64_C(1) << 32 | 5; /* whoever took it died over that */
    gate_rounds(&world, 3, &now_ms);
    expect_blocks(&world, 4, 3, 4);
    assert_int_equal(world.gate->blocks[7], 0);
    gate_rounds(&world, 1, &now_ms);
    expect_blocks(&world, 2, 3, 6);
    gate_port_flow(&world, 3 * 8); /* of a search that was under way */
    gate_rounds(&world, 3, &now_ms);
    assert_int_not_equal(world.gate->blocks[3], 0);
    assert_int_equal(world.gate->blocks[4], 0);
    assert_true(world.gate->blocks[2] && world.gate->blocks[5]);
    gate_close(&world);
}

/* A client's policy is what its Egresses have; all of it is written before the client has it, also
 * by the next agent, and what nobody has goes. */
static void test_gateway_policies(void **state)
{
    (void)state;
    struct gate_world world;
    struct egress_policy policy = { .key = { .family = IP_V4, .egresses = "internet/nat" } };
    struct egress_policy *pointer = &policy;
    const struct egress_entry entry = { { .ip = ip_of("198.51.100.0"), .length = 24 },
                                        "internet/nat" };
    gate_open(&world);
    assert_int_equal(world.gate->ports[1].policy, 0); /* nothing may leave */
    assert_int_equal(vec_push(&policy.entries, entry), 0);
    assert_int_equal(sorted_put(&world.policies, &pointer), 0);
    gate_write(&world, true, 3); /* a destination, and two clients that have it */
    assert_int_not_equal(world.gate->ports[1].policy, 0);
    assert_int_equal(world.gate->ports[1].policy, world.gate->ports[2].policy);
    gate_write(&world, true, 0);
    const uint32_t before = world.gate->ports[1].policy;

    AUTOFAULTS struct faults faults = { 0 };
    egress_gate_close(world.gate);
    assert_int_equal(egress_gate_open(world.nat, lab_pins, &world.gate, &faults), 0);
    assert_int_equal(world.gate->ports[1].policy, before);
    assert_int_equal(world.gate->policies.routes.count, 1);
    gate_write(&world, true, 4); /* the old one's goes */
    assert_int_not_equal(world.gate->ports[1].policy, before);
    assert_int_equal(world.gate->policies.routes.count, 1);
    sorted_done(&world.policies);
    vec_done(&policy.entries);
    gate_close(&world);
}

/* A client that was refused has room again once a flow of its own is over, or worth no more than a
 * new one; once there is a block that it may have; and when it is gone. */
static void test_room_of_a_client(void **state)
{
    (void)state;
    enum { STAYS = NAT_FLOW_ANSWERED | NAT_FLOW_CONFIRMED };
    struct gate_world world;
    gate_open(&world);
    AUTOFAULTS struct faults none = { 0 };
    struct egress_gate_settings settings = { .source = { { ip_of("192.0.2.9") } },
                                             .first_port = 20000,
                                             .last_port = 20031,
                                             .block = 8,
                                             .client_blocks = 2 };
    const struct egress_refusal refusal = { .cause = EGRESS_CAUSE_PORTS,
                                            .last = { .source = ip_of("10.244.1.5"),
                                                      .destination = ip_of("198.51.100.80"),
                                                      .destination_port = 53,
                                                      .protocol = PROTOCOL_UDP } };
    uint32_t at = 0;
    assert_int_equal(egress_gate_set(world.gate, &settings, &none), 0);
    gate_take(&world, 1);
    gate_take(&world, 3);
    for (uint32_t i = 0; i < 8; i++) {
        gate_port_flow_of(&world, 8 + i, STAYS);
        assert_int_equal(egress_gate_find_room(world.gate, &refusal, &at), NAT_ROOM_SOME);
        gate_port_flow_of(&world, 24 + i, STAYS);
    }
    at = 0;
    assert_int_equal(egress_gate_find_room(world.gate, &refusal, &at), NAT_ROOM_NONE);
    gate_port_flow(&world, 29);
    at = 0;
    assert_int_equal(egress_gate_find_room(world.gate, &refusal, &at), NAT_ROOM_SOME);
    gate_port_flow_of(&world, 29, STAYS);

    settings.client_blocks = 3;
    assert_int_equal(egress_gate_set(world.gate, &settings, &none), 0);
    at = 0;
    assert_int_equal(egress_gate_find_room(world.gate, &refusal, &at), NAT_ROOM_SOME);
    world.gate->blocks[0] = world.gate->blocks[2] = UINT64_C(2) << 32 | 5;
    for (uint32_t number = 4; number < world.gate->block_limit; number++)
        assert_int_equal(world.gate->blocks[number], 0);
    assert_int_equal(egress_gate_find_room(world.gate, &refusal, &at), NAT_ROOM_NONE);

    const struct egress_client *gone = &world.clients[0];
    sorted_remove(&world.wanted, &gone);
    gate_write(&world, true, 1);
    assert_int_equal(egress_gate_find_room(world.gate, &refusal, &at), NAT_ROOM_SOME);
    gate_close(&world);
}

/* The kernel refuses each write of the clients' map. */
static void test_refused_writes(void **state)
{
    (void)state;
    struct gate_world world;
    gate_open(&world);
    struct egress_gate_settings settings = { .source = { { ip_of("192.0.2.9") } },
                                             .first_port = 20000,
                                             .last_port = 20063,
                                             .block = 8,
                                             .client_blocks = 8 };
    AUTOFAULTS struct faults none = { 0 };
    AUTOFAULTS struct faults ports = { 0 };
    AUTOFAULTS struct faults clients = { 0 };
    assert_int_equal(egress_gate_set(world.gate, &settings, &none), 0);
    gate_take(&world, 2);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int map = bpf_map__fd(world.gate->programs->maps.egress_clients);
    assert_int_equal(dup3(null, map, O_CLOEXEC), map);
    close(null);

    settings.block = 16;
    assert_int_equal(egress_gate_set(world.gate, &settings, &ports), -EINVAL);
    assert_only_raised(&ports, "egress-gateway-ports-unwritable", "egress.gateway",
                       "its clients' ports can't be taken back: Invalid argument");
    struct egress_client third = { ip_of("10.244.1.7"), "shop", "web-3", "internet/nat" };
    struct egress_client *pointer = &third;
    assert_int_equal(sorted_put(&world.wanted, &pointer), 0);
    const struct egress_gate_wanted wanted = { .clients = &world.wanted,
                                               .policies = &world.policies };
    assert_int_equal(egress_gate_write(world.gate, &wanted, &clients), -EINVAL);
    assert_only_raised(&clients, "egress-gateway-clients-unwritable", "egress.gateway",
                       "its clients can't be written: Invalid argument");
    gate_close(&world);
}

static int clean_all(void **state)
{
    return egress_gate_unpin(lab_pins) < 0 ? -1 : lab_clean(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_clients, clean_all),
        cmocka_unit_test_teardown(test_id_again, clean_all),
        cmocka_unit_test_teardown(test_blocks_of_nobody, clean_all),
        cmocka_unit_test_teardown(test_idle_blocks, clean_all),
        cmocka_unit_test_teardown(test_gateway_policies, clean_all),
        cmocka_unit_test_teardown(test_room_of_a_client, clean_all),
        cmocka_unit_test_teardown(test_refused_writes, clean_all),
    };
    return cmocka_run_group_tests(tests, lab_begin, lab_end);
}
