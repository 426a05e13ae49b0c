// SPDX-License-Identifier: Apache-2.0
/*
 * The maps of egress, in the kernel: written by difference, known again by the next agent, empty at
 * the end. Needs root and BPF.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>

#include "apply/egress/gateway_inside.h"
#include "apply/egress/plane_inside.h"
#include "base/clock.h"
#include "nat_plane_lab.h"

static struct ip ip_of(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

/* A set with gateways of the test's, one policy that leads to it, and one pod that has the policy.
 */
struct world {
    struct egress_set set;
    struct egress_policy policy;
    struct egress_pod pod;
    struct sorted sets, policies, pods;
    struct prefix stay;
    int64_t known_ms;
};

static void world_make(struct world *world, bool waiting, size_t count, const char *const *gateways)
{
    struct egress_policy_key key = { .family = IP_V4,
                                     .egresses = "internet/nat",
                                     .waiting = waiting };
    struct egress_set *set = &world->set;
    struct egress_policy *policy = &world->policy;
    struct egress_pod *pod = &world->pod;
    *world = (struct world){
        .set = { .egress = "internet/nat", .family = IP_V4, .by_client = true },
        .policy = { .key = key },
        .pod = { .address = ip_of("10.244.1.5"), .is_client = true, .policy = key },
        .sets = SORTED(struct egress_set *, egress_set_cmp),
        .policies = SORTED(struct egress_policy *, egress_policy_cmp),
        .pods = SORTED(struct egress_pod *, egress_pod_cmp),
        .stay = { .ip = ip_of("10.0.0.0"), .length = 8 },
        .known_ms = INT64_MAX,
    };
    for (size_t i = 0; i < count; i++) {
        const struct egress_gateway gateway = { .address = ip_of(gateways[i]), .node = "" };
        assert_int_equal(vec_push(&set->gateways, gateway), 0);
    }
    const struct egress_entry entry = { { .ip = ip_of("0.0.0.0"), .length = 0 }, "internet/nat" };
    assert_int_equal(vec_push(&policy->entries, entry), 0);
    assert_int_equal(sorted_put(&world->sets, &set), 0);
    assert_int_equal(sorted_put(&world->policies, &policy), 0);
    assert_int_equal(sorted_put(&world->pods, &pod), 0);
}

static void world_done(struct world *world)
{
    vec_done(&world->set.gateways);
    vec_done(&world->policy.entries);
    sorted_done(&world->sets);
    sorted_done(&world->policies);
    sorted_done(&world->pods);
}

static int world_write(struct egress_plane *plane, struct world *world, bool may_remove)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct egress_wanted wanted = {
        .sets = &world->sets,
        .policies = &world->policies,
        .pods = &world->pods,
        .stays = &world->stay,
        .stay_count = 1,
        .known_ms = world->known_ms,
        .may_remove = may_remove,
    };
    int r = egress_plane_write(plane, &wanted, &faults);
    print_faults(&faults);
    assert_true(faults_none(&faults));
    return r;
}

static struct egress_plane *open_egress(void)
{
    struct egress_plane *plane = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    int r = egress_plane_open(lab_pins, &plane, &faults);
    print_faults(&faults);
    assert_int_equal(r, 0);
    return plane;
}

/* The place of a gateway in the only set. */
static struct egress_gateway_value *place_of(struct egress_plane *plane, const char *gateway)
{
    const struct ip ip = ip_of(gateway);
    const struct nat_addr addr = nat_addr_of(&ip);
    const struct egress_installed_set *set = sorted_at(&plane->sets, 0);
    for (uint32_t i = 0; i < EGRESS_SET_MAX; i++) {
        struct egress_gateway_value *value = &plane->gateways[set->id * EGRESS_SET_MAX + i];
        if (value->word && memcmp(&value->addr, &addr, sizeof(addr)) == 0)
            return value;
    }
    return NULL;
}

static const char *const two[] = { "192.0.2.20", "192.0.2.21" };
static const char *const others[] = { "192.0.2.21", "192.0.2.22" };

static void test_differences(void **state)
{
    (void)state;
    CLEANUP(egress_plane_closep) struct egress_plane *plane = open_egress();
    struct world world;
    world_make(&world, false, 2, two);
    assert_true(world_write(plane, &world, true) > 0);
    assert_int_equal(world_write(plane, &world, true), 0);
    uint64_t first = place_of(plane, two[0])->word, kept = place_of(plane, two[1])->word;
    struct egress_gateway_value *freed = place_of(plane, two[0]);
    world_done(&world);

    world_make(&world, false, 2, others);
    assert_true(world_write(plane, &world, true) > 0);
    assert_int_equal(place_of(plane, others[0])->word, kept);
    assert_null(place_of(plane, two[0]));
    /* The new one has the place of the one that went, under another generation. */
    assert_ptr_equal(place_of(plane, others[1]), freed);
    assert_int_not_equal(place_of(plane, others[1])->word >> 32, first >> 32);
    world_done(&world);
}

static void test_next_agent(void **state)
{
    (void)state;
    struct world world;
    struct egress_plane *plane = open_egress();
    world_make(&world, false, 2, two);
    assert_true(world_write(plane, &world, true) > 0);
    uint64_t words[] = { place_of(plane, two[0])->word, place_of(plane, two[1])->word };
    egress_plane_close(plane);

    plane = open_egress();
    assert_int_equal(plane->sets.count, 1);
    assert_int_equal(plane->pods.count, 1);
    assert_int_equal(plane->policies.routes.count, 2);
    /* Before the source has synced nothing goes: the routes of the old policy are still there. */
    assert_true(world_write(plane, &world, false) > 0);
    assert_int_equal(plane->policies.routes.count, 3);
    assert_int_equal(world_write(plane, &world, true), 1);
    assert_int_equal(plane->policies.routes.count, 2);
    assert_int_equal(place_of(plane, two[0])->word, words[0]);
    assert_int_equal(place_of(plane, two[1])->word, words[1]);
    world_done(&world);
    egress_plane_close(plane);
}

static void test_waiting(void **state)
{
    (void)state;
    CLEANUP(egress_plane_closep) struct egress_plane *plane = open_egress();
    struct world world;
    world_make(&world, true, 1, two);
    assert_true(world_write(plane, &world, true) > 0);
    const struct egress_installed_pod *pod = sorted_at(&plane->pods, 0);
    assert_int_equal(pod->flags, EGRESS_POD_HELD);
    world_done(&world);
}

static uint32_t pod_flags(struct egress_plane *plane)
{
    return ((const struct egress_installed_pod *)sorted_at(&plane->pods, 0))->flags;
}

/* A pod that came when a gateway learned of clients no more is new until it does again. What an
 * earlier agent has left was known before, unless it is marked. */
static void test_new_pods(void **state)
{
    (void)state;
    struct egress_plane *plane = open_egress();
    struct world world;
    world_make(&world, false, 2, two);
    world_write(plane, &world, true);
    assert_int_equal(pod_flags(plane), 0);
    world.known_ms = clock_mono_ms() - 3600 * SECOND_MS;
    world_write(plane, &world, true);
    assert_int_equal(pod_flags(plane), EGRESS_POD_NEW);
    egress_plane_close(plane);

    plane = open_egress();
    world.known_ms = 0;
    world_write(plane, &world, true);
    assert_int_equal(pod_flags(plane), EGRESS_POD_NEW);
    world.known_ms = INT64_MAX;
    world_write(plane, &world, true);
    assert_int_equal(pod_flags(plane), 0);
    egress_plane_close(plane);

    plane = open_egress();
    world.known_ms = 0;
    world_write(plane, &world, true);
    assert_int_equal(pod_flags(plane), 0);
    world_done(&world);
    egress_plane_close(plane);
}

/* A gateway that is stale keeps its place, and gets none that it did not have. */
static void test_stale_gateways(void **state)
{
    (void)state;
    CLEANUP(egress_plane_closep) struct egress_plane *plane = open_egress();
    struct world world;
    world_make(&world, false, 1, two);
    world_write(plane, &world, true);
    world_done(&world);
    world_make(&world, false, 2, two);
    for (size_t i = 0; i < 2; i++)
        world.set.gateways.items[i].state = EGRESS_STALE;
    world_write(plane, &world, true);
    assert_int_equal((uint32_t)place_of(plane, two[0])->word,
                     EGRESS_GATEWAY_USED | EGRESS_GATEWAY_ACTIVE | EGRESS_GATEWAY_STALE);
    assert_null(place_of(plane, two[1]));
    world_done(&world);
}

static void test_nothing_left(void **state)
{
    (void)state;
    CLEANUP(egress_plane_closep) struct egress_plane *plane = open_egress();
    struct world world;
    world_make(&world, false, 2, two);
    assert_true(world_write(plane, &world, true) > 0);
    sorted_clear(&world.sets);
    sorted_clear(&world.policies);
    sorted_clear(&world.pods);
    assert_true(world_write(plane, &world, true) > 0);
    assert_int_equal(plane->sets.count + plane->policies.installed.count + plane->pods.count, 0);
    assert_int_equal(plane->policies.routes.count, 1); /* the stay */
    for (uint32_t set = 0; set < plane->set_limit; set++)
        assert_int_equal(plane->set_words[set], 0);
    world_done(&world);
}

/* A gateway with two clients, of ids 1 and 2. */
struct gate_world {
    struct nat_plane *nat;
    struct egress_gate *gate;
    struct egress_client clients[2];
    struct sorted wanted;
};

static void gate_write(struct gate_world *world, bool may_remove, int changes)
{
    AUTOFAULTS struct faults faults = { 0 };
    assert_int_equal(egress_gate_write(world->gate, &world->wanted, may_remove, &faults), changes);
    assert_true(faults_none(&faults));
}

static void gate_open(struct gate_world *world)
{
    AUTOFAULTS struct faults faults = { 0 };
    *world = (struct gate_world){
        .nat = plane_open(&lab_roomy, true),
        .clients = { { ip_of("10.244.1.5"), "shop", "web-1" },
                     { ip_of("10.244.1.6"), "shop", "web-2" } },
        .wanted = SORTED(struct egress_client *, egress_client_cmp),
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
    nat_plane_close(world->nat);
}

/* One half of a flow of the client with this id, as the program makes it, with one block. */
static struct nat_tuple gate_flow(struct gate_world *world, uint32_t id)
{
    const struct nat_tuple key = { .sport = (uint16_t)id, .dport = 2, .protocol = PROTOCOL_TCP };
    const struct nat_flow flow = {
        .half = NAT_HALF_REPLY,
        .hand = NAT_HAND_EGRESS,
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
    assert_true(nat_plane_sweep(world->nat, clock_mono_ms(), &next_ms) >= 0);
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
static void gate_port_flow(struct gate_world *world, uint32_t n)
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
        .hand = NAT_HAND_EGRESS,
        .port = 1,
        .generation = world->gate->ports[1].generation,
        .check = nat_tuple_check(&key),
        .seen_s = (uint32_t)(clock_mono_ms() / SECOND_MS),
    };
    assert_int_equal(nat_table_put(world->nat, NAT_MAP_FLOWS, &key, &flow, BPF_ANY), 0);
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
            assert_true(nat_plane_sweep(world->nat, *now_ms, &next_ms) >= 0);
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

static int clean_all(void **state)
{
    int maps = egress_plane_unpin(lab_pins), gate = egress_gate_unpin(lab_pins);
    return maps < 0 || gate < 0 ? -1 : lab_clean(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_differences, clean_all),
        cmocka_unit_test_teardown(test_next_agent, clean_all),
        cmocka_unit_test_teardown(test_waiting, clean_all),
        cmocka_unit_test_teardown(test_new_pods, clean_all),
        cmocka_unit_test_teardown(test_stale_gateways, clean_all),
        cmocka_unit_test_teardown(test_nothing_left, clean_all),
        cmocka_unit_test_teardown(test_clients, clean_all),
        cmocka_unit_test_teardown(test_id_again, clean_all),
        cmocka_unit_test_teardown(test_blocks_of_nobody, clean_all),
        cmocka_unit_test_teardown(test_idle_blocks, clean_all),
    };
    return cmocka_run_group_tests(tests, lab_begin, lab_end);
}
