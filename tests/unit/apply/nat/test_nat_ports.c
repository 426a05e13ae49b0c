// SPDX-License-Identifier: Apache-2.0
/*
 * Services of several ports that lead to the same endpoints: these are in the maps once, whatever
 * ports come to have them, part, or go; and nobody's flows end because of another port.
 */
#include <bpf/bpf.h>

#include "base/clock.h"
#include "nat_datapath_lab.h"

enum { PORTS = 100, MANY = 1000 };

static uint32_t used(const struct nat_datapath *datapath, enum nat_id kind)
{
    return datapath->ids.spaces[kind].used - (kind != NAT_ID_SLOT); /* id 0 */
}

/* A port of its own number that leads to 10.0.X.Y, `count` of them from `first` on. */
static void add_port(struct nat_row *row, enum protocol protocol, uint16_t number, unsigned first,
                     unsigned count, uint16_t target)
{
    struct nat_family *family = row_family(row, IP_V4);
    uint32_t port = row_port(family, protocol, number);
    struct nat_port *it = &family->ports.items[port];
    for (unsigned i = first; i < first + count; i++) {
        struct nat_endpoint endpoint = { ip("10.0.0.0"), target };
        endpoint.ip.bytes[2] = (uint8_t)(i >> 8);
        endpoint.ip.bytes[3] = (uint8_t)i;
        assert_int_equal(vec_push(&it->sets[NAT_SET_CLUSTER], endpoint), 0);
        if (i % 2)
            assert_int_equal(vec_push(&it->sets[NAT_SET_LOCAL], endpoint), 0);
        assert_int_equal(vec_push(&it->serving, endpoint), 0);
    }
    row_frontend(family, port, NAT_FRONTEND_CLUSTER_IP, "10.96.0.1", number);
}

static void a_hundred_ports(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = row_new("web");
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    for (uint16_t i = 0; i < PORTS; i++)
        add_port(row, PROTOCOL_UDP, (uint16_t)(1000 + i), 0, MANY, 53);
    expect_write(datapath, row, 1);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(used(datapath, NAT_ID_PORT), PORTS);
        assert_int_equal(used(datapath, NAT_ID_ENDPOINT), MANY);
        assert_int_equal(used(datapath, NAT_ID_SLOT), 1024 + 512);
        expect_write(datapath, row, 0);
        expect_verified(datapath, &row, 1);
        datapath_adopt(datapath);
    }
    assert_int_equal(nat_datapath_remove(datapath, "d", "web"), 1);
    datapath_wake(datapath);
    uint32_t id;
    assert_int_equal(nat_ids_take(&datapath->ids, NAT_ID_SLOT, 1, 1, &id), 0);
    assert_int_equal(used(datapath, NAT_ID_SLOT), 1);
    assert_int_equal(used(datapath, NAT_ID_ENDPOINT), 0);
    expect_verified(datapath, NULL, 0);
}

/* The slot words of a Service's endpoints, in the order of addresses: ids and generations. */
static nat_word_list lives_of(const struct nat_datapath *datapath)
{
    nat_word_list list = { 0 };
    vec_each(const uint32_t, id, &installed_of(datapath, "d/web")->endpoints)
        assert_int_equal(vec_push(&list, nat_slot_of(datapath, *id)), 0);
    return list;
}

static void what_is_not_the_same(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = row_new("web");
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    add_port(row, PROTOCOL_UDP, 53, 0, 4, 53);
    add_port(row, PROTOCOL_TCP, 53, 0, 4, 53); /* another protocol */
    add_port(row, PROTOCOL_UDP, 54, 0, 4, 54); /* another target port */
    add_port(row, PROTOCOL_UDP, 55, 0, 3, 53); /* one less */
    add_port(row, PROTOCOL_UDP, 56, 0, 0, 53); /* none */
    add_port(row, PROTOCOL_UDP, 57, 0, 4, 53); /* the first one's */
    expect_write(datapath, row, 1);
    assert_int_equal(used(datapath, NAT_ID_ENDPOINT), 12);
    assert_int_equal(used(datapath, NAT_ID_SLOT), 4 * 4 + 2 * 3 + 1);
    expect_write(datapath, row, 0);
    datapath_adopt(datapath);
    expect_write(datapath, row, 0);
    expect_verified(datapath, &row, 1);
}

/* Two ports, of which the second has `count` endpoints from `first` on; `ports`: 1, 2 or both. */
static struct nat_row *row_of_two(unsigned ports, unsigned first, unsigned count)
{
    struct nat_row *row = row_new("web");
    if (ports & 1)
        add_port(row, PROTOCOL_UDP, 53, 0, 4, 53);
    if (ports & 2)
        add_port(row, PROTOCOL_UDP, 54, first, count, 53);
    return row;
}

/* Lives of 10.0.0.0 to .3 go on, whichever of the two ports has them. */
static void ports_part_and_meet(void **state)
{
    (void)state;
    static const struct {
        unsigned ports, first, count;
    } steps[] = {
        { 3, 0, 3 }, { 3, 0, 4 }, { 3, 2, 6 }, { 3, 0, 4 }, { 2, 0, 4 },
        { 3, 0, 4 }, { 1, 0, 0 }, { 3, 0, 0 }, { 3, 0, 4 },
    };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    for (int adopts = 0; adopts < 2; adopts++) {
        AUTOROW struct nat_row *first = row_of_two(3, 0, 4);
        expect_write(datapath, first, 1);
        AUTOVEC nat_word_list lives = lives_of(datapath);
        for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
            AUTOROW struct nat_row *row =
                row_of_two(steps[i].ports, steps[i].first, steps[i].count);
            if (adopts)
                datapath_adopt(datapath);
            expect_write(datapath, row, 1);
            AUTOVEC nat_word_list now = lives_of(datapath);
            assert_memory_equal(now.items, lives.items, lives.count * sizeof(*lives.items));
            assert_int_equal(now.count, MAX(4u, steps[i].first + steps[i].count));
            expect_write(datapath, row, 0);
            expect_verified(datapath, &row, 1);
        }
        assert_int_equal(nat_datapath_remove(datapath, "d", "web"), 1);
    }
}

enum {
    NOW_S = 1000,
    LATE_S = 30, /* an answer may come for so long after the endpoint has gone */
};

static struct nat_tuple tuple_of(uint16_t sport)
{
    struct ip client = ip("10.9.9.9"), service = ip("10.96.0.1");
    return (struct nat_tuple){ .src = nat_addr_of(&client),
                               .dst = nat_addr_of(&service),
                               .sport = htons(sport),
                               .dport = htons(53),
                               .protocol = PROTOCOL_UDP };
}

/* A flow of the n-th port to the first endpoint, from the client's port 1000 + n. */
static void put_flow(struct nat_datapath *datapath, size_t n)
{
    const struct nat_installed *installed = installed_of(datapath, "d/web");
    uint64_t life = nat_slot_of(datapath, installed->endpoints.items[0]);
    struct nat_tuple key = tuple_of((uint16_t)(1000 + n));
    struct nat_flow flow = { .service = installed->id,
                             .port = installed->ports.items[n].id,
                             .endpoint = (uint32_t)(life >> 32),
                             .generation = (uint32_t)life,
                             .half = NAT_HALF_DIRECT,
                             .seen_s = NOW_S,
                             .check = nat_tuple_check(&key) };
    assert_int_equal(nat_table_put(datapath, NAT_MAP_FLOWS, &key, &flow, BPF_ANY), 0);
}

/* Which flows a sweep leaves: 1 that of the first port, 2 that of the second. */
static unsigned left_by_sweep(struct nat_datapath *datapath, int64_t now_s)
{
    unsigned left = 0;
    int64_t next_ms;
    do {
        assert_true(nat_datapath_sweep(datapath, now_s * SECOND_MS, &next_ms) >= 0);
    } while (datapath->sweep.under_way);
    for (unsigned n = 0; n < 2; n++) {
        struct nat_tuple key = tuple_of((uint16_t)(1000 + n));
        struct nat_flow flow;
        left |= nat_table_get(datapath, NAT_MAP_FLOWS, &key, &flow) == 0 ? 1u << n : 0;
    }
    return left;
}

/* An endpoint that a port loses has no flows by that port, though it serves for another. */
static void flows_end_with_their_own_port(void **state)
{
    (void)state;
    static const struct {
        unsigned ports, first, count, left;
    } steps[] = {
        { 3, 0, 2, 3 }, /* another endpoint left */
        { 3, 1, 3, 1 }, /* the second port lost it */
        { 1, 0, 0, 1 }, /* ... and went */
        { 2, 0, 4, 2 }, /* the first one went */
    };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    for (size_t i = 0; i < 2 * ARRAY_SIZE(steps); i++) {
        size_t step = i / 2, adopts = i % 2;
        AUTOROW struct nat_row *before = row_of_two(3, 0, 4);
        AUTOROW struct nat_row *after =
            row_of_two(steps[step].ports, steps[step].first, steps[step].count);
        expect_write(datapath, before, 1);
        put_flow(datapath, 0);
        put_flow(datapath, 1);
        assert_int_equal(left_by_sweep(datapath, NOW_S), 3);
        expect_write(datapath, after, 1);
        if (adopts) {
            datapath_adopt(datapath);
            assert_int_equal(left_by_sweep(datapath, NOW_S), 3); /* nothing is known yet */
            expect_write(datapath, after, 0);
        }
        assert_int_equal(left_by_sweep(datapath, NOW_S), steps[step].left);
        assert_int_equal(nat_datapath_remove(datapath, "d", "web"), 1);
        assert_int_equal(left_by_sweep(datapath, NOW_S + LATE_S), steps[step].left);
        assert_int_equal(left_by_sweep(datapath, NOW_S + LATE_S + 1), 0);
    }
}

/* As an agent has left it that had endpoints and slots for each port, in the order of addresses. */
static void an_older_agents(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = row_of_two(3, 0, 4);
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    expect_write(datapath, row, 1);
    const struct nat_installed *installed = installed_of(datapath, "d/web");
    uint32_t port = installed->ports.items[1].id, service = installed->id;
    vec_each(const uint32_t, id, &installed->endpoints) {
        datapath->endpoints[*id].protocol = 0;
        datapath->endpoints[*id].owner = port;
    }
    datapath_adopt(datapath);
    installed = installed_of(datapath, "d/web");
    assert_int_equal(installed->id, service);
    vec_each(const uint32_t, id, &installed->endpoints)
        assert_int_not_equal((uint32_t)nat_slot_of(datapath, *id), 0); /* it serves on */
    assert_int_equal(installed->endpoints.count, 4);
    expect_write(datapath, row, 1);
    expect_write(datapath, row, 0);
    expect_verified(datapath, &row, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_ports),     cmocka_unit_test(what_is_not_the_same),
        cmocka_unit_test(ports_part_and_meet), cmocka_unit_test(flows_end_with_their_own_port),
        cmocka_unit_test(an_older_agents),
    };
    return cmocka_run_group_tests(tests, lab_begin, lab_end);
}
