// SPDX-License-Identifier: Apache-2.0
/* Who may have an address of a segment, and in which order. */
#include "linking.h"
#include "plan/claims/lease_state.h"
#include "plan/claims/placement.h"

enum { NODES = 12, KEYS = 600, FAILBACK = 30000 };

static struct test_node {
    const char *name;
    bool may, lacks;
    int64_t since_ms;
} nodes[NODES];
static const char *const names[NODES] = { "n0", "n1", "n2", "n3", "n4",  "n5",
                                          "n6", "n7", "n8", "n9", "n10", "n11" };

static void begin(size_t count)
{
    for (size_t i = 0; i < count; i++)
        nodes[i] = (struct test_node){ .name = names[i], .may = true };
}

static struct placement_node others[NODES];
static struct contenders contenders = { .nodes = { others, 0, NODES } };

/* As `self` knows it; later changes of `nodes` need another. */
static struct placement question(size_t count, const char *key, const char *self,
                                 const char *holder)
{
    bool may = false, lacks = false;
    contenders.nodes.count = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_self = strcmp(nodes[i].name, self) == 0;
        may |= is_self && nodes[i].may;
        if (!is_self && nodes[i].may)
            others[contenders.nodes.count++] =
                (struct placement_node){ (char *)nodes[i].name, nodes[i].since_ms, nodes[i].lacks };
        lacks |= is_self && nodes[i].lacks;
    }
    return (struct placement){
        .others = &contenders,
        .may = may,
        .lacks = lacks,
        .key = key,
        .self = self,
        .holder = holder,
        .failback_ms = FAILBACK,
    };
}

static int32_t rank_of(size_t count, const char *key, const char *self, const char *holder)
{
    struct placement placement = question(count, key, self, holder);
    return placement_rank(&placement, 0);
}

/* The node that all agree on; each rank is one node's. */
static size_t first_of(size_t count, const char *key)
{
    size_t first = count;
    unsigned ranks = 0, wanted = 0;
    for (size_t i = 0, place = 0; i < count; i++) {
        int32_t rank = rank_of(count, key, names[i], "");
        first = rank == 0 ? i : first;
        ranks |= rank < 0 ? 0 : 1u << rank;
        wanted |= nodes[i].may ? 1u << place++ : 0;
    }
    assert_int_equal(ranks, wanted);
    return first;
}

static const char *key_of(int number, char buffer[static 32])
{
    (void)snprintf(buffer, 32, "192.0.%d.%d", number / 250, number % 250);
    return buffer;
}

static void every_node_gets_its_share(void **state)
{
    (void)state;
    for (size_t count = 2; count <= NODES; count++) {
        int shares[NODES] = { 0 };
        char key[32];
        begin(count);
        for (int i = 0; i < KEYS; i++)
            shares[first_of(count, key_of(i, key))]++;
        for (size_t i = 0; i < count; i++)
            assert_in_range(shares[i], KEYS / (int)count * 6 / 10, KEYS / (int)count * 14 / 10);
    }
}

/* Of a node that is lost only its own move, and not all to one; of one that comes only to it. */
static void nothing_else_moves(void **state)
{
    (void)state;
    for (size_t lost = 0; lost < 5; lost++) {
        int taken[NODES] = { 0 }, moved = 0;
        char key[32];
        for (int i = 0; i < KEYS; i++) {
            begin(5);
            size_t before = first_of(5, key_of(i, key));
            nodes[lost].may = false;
            size_t after = first_of(5, key);
            assert_true(before == lost ? after != lost : after == before);
            moved += before == lost;
            taken[after] += before == lost;
        }
        for (size_t i = 0; i < 5; i++)
            assert_true(i == lost || taken[i] > moved / 8);
    }
}

static void holder_keeps_it_until_fail_back(void **state)
{
    (void)state;
    begin(3);
    const char *first = names[first_of(3, "k")];
    for (size_t i = 0; i < 3; i++) {
        struct placement placement = question(3, "k", names[i], names[i]);
        placement.held_since_ms = 5000;
        assert_int_equal(placement_rank(&placement, 5000), 0);
        if (names[i] == first) {
            assert_true(placement_next_ms(&placement) == INT64_MAX);
            assert_int_equal(placement_rank(&placement, 10000000), 0);
            continue;
        }
        assert_int_equal(placement_next_ms(&placement), 5000 + FAILBACK);
        assert_int_equal(placement_rank(&placement, 5000 + FAILBACK - 1), 0);
        assert_int_equal(placement_rank(&placement, 5000 + FAILBACK), LEASE_NO_RANK);
        placement.failback_ms = FAILBACK_NEVER;
        assert_int_equal(placement_rank(&placement, 10000000), 0);
    }
}

static void fail_back_waits_for_a_node_that_lasts(void **state)
{
    (void)state;
    begin(2);
    size_t first = first_of(2, "k");
    const char *last = names[1 - first];
    nodes[first].since_ms = 70000;
    struct placement placement = question(2, "k", last, last);
    assert_int_equal(placement_next_ms(&placement), 70000 + FAILBACK);
    nodes[first].may = false;
    placement = question(2, "k", last, last);
    assert_true(placement_next_ms(&placement) == INT64_MAX);
    assert_int_equal(placement_rank(&placement, 10000000), 0);
    nodes[1 - first].may = false;
    placement = question(2, "k", last, last);
    assert_int_equal(placement_rank(&placement, 0), LEASE_NO_RANK);
}

/* Who serves every port comes first, whatever the order says; among equals it decides. */
static void nodes_that_lack_a_port_come_last(void **state)
{
    (void)state;
    char key[32];
    for (int i = 0; i < 200; i++) {
        begin(4);
        size_t first = first_of(4, key_of(i, key));
        nodes[first].lacks = true;
        size_t next = first_of(4, key);
        assert_int_not_equal(next, first);
        assert_int_equal(rank_of(4, key, names[first], ""), 3);
        for (size_t j = 0; j < 4; j++)
            nodes[j].lacks = true;
        assert_int_equal(first_of(4, key), first);
        nodes[first].may = false;
        assert_int_equal(first_of(4, key), next);
    }
}

static void a_holder_that_lacks_a_port_gives_it_up_soon(void **state)
{
    (void)state;
    begin(2);
    size_t first = first_of(2, "k");
    nodes[first].lacks = true;
    nodes[1 - first].since_ms = 70000;
    struct placement placement = question(2, "k", names[first], names[first]);
    placement.held_since_ms = 5000;
    assert_in_range(placement_next_ms(&placement), 70001, 70000 + 10000);
    assert_string_equal(placement_first(&placement), names[1 - first]);
    placement.failback_ms = FAILBACK_NEVER;
    assert_true(placement_next_ms(&placement) == INT64_MAX);
    nodes[1 - first].lacks = true;
    placement = question(2, "k", names[first], names[first]);
    assert_true(placement_next_ms(&placement) == INT64_MAX);
}

/* It does not renew, although its Node looks well still: the next one need not wait for it. */
static void holder_is_nobody_to_wait_for(void **state)
{
    (void)state;
    begin(3);
    size_t first = first_of(3, "k");
    unsigned ranks = 0;
    for (size_t i = 0; i < 3; i++)
        ranks |= i == first ? 0 : 1u << rank_of(3, "k", names[i], names[first]);
    assert_int_equal(ranks, 3);
    assert_int_equal(rank_of(3, "k", "stranger", ""), LEASE_NO_RANK);
}

static void objects_say_who_may(void **state)
{
    (void)state;
    assert_int_equal(placement_of_node(NULL, false), PLACEMENT_NO_NODE);
    assert_int_equal(placement_of_node(&(struct node){ 0 }, false), PLACEMENT_NOT_READY);
    const struct node silent = { 0 }, unready = { .ready_is_said = true };
    assert_int_equal(placement_of_node(&silent, true), PLACEMENT_MAY);
    assert_int_equal(placement_of_node(&unready, true), PLACEMENT_NOT_READY);
    assert_int_equal(placement_of_node(NULL, true), PLACEMENT_NO_NODE);
    const struct node nodes_of[] = {
        { .ready = true },
        { .ready = true, .network_unavailable = true },
        { .ready = true, .excluded = true },
        { .ready = true, .to_be_deleted = true },
        { .ready = true, .unschedulable = true },
    };
    const enum placement_reason reasons[] = {
        PLACEMENT_MAY, PLACEMENT_NO_NETWORK, PLACEMENT_EXCLUDED, PLACEMENT_LEAVING, PLACEMENT_MAY,
    };
    for (size_t i = 0; i < ARRAY_SIZE(nodes_of); i++)
        assert_int_equal(placement_of_node(&nodes_of[i], i % 2), reasons[i]);
    for (enum placement_reason i = 0; i < PLACEMENT_REASONS; i++)
        assert_non_null(placement_words(i));
}

static void put_net(struct sorted *addresses, uint32_t ifindex, const char *ip, uint8_t length)
{
    put_address(addresses, ifindex, ip)->length = length;
}

static const char *interface_of(const struct node_facts *facts, const char *text, const char *only)
{
    const struct link *link;
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    enum placement_reason reason = placement_on_link(facts, &ip, only, &link);
    assert_true((reason == PLACEMENT_MAY) == (link != NULL));
    return link ? link->name : placement_words(reason);
}

static void interface_is_in_the_network(void **state)
{
    (void)state;
    AUTOSORTED struct sorted links = SORTED(struct link, link_cmp);
    AUTOSORTED struct sorted addresses = SORTED(struct link_address, link_address_cmp);
    const struct node_facts facts = { .links = &links, .link_addresses = &addresses };
    const char *down = placement_words(PLACEMENT_LINK_DOWN);
    const char *none = placement_words(PLACEMENT_NO_INTERFACE);
    put_link(&links, "eth0", "");
    put_link(&links, "eth1", "");
    put_link(&links, "tun0", "tun")->type = ARPHRD_NONE;
    put_net(&addresses, 1, "192.0.2.1", 24);
    put_net(&addresses, 1, "198.51.100.7", 32); /* one that it claimed */
    put_net(&addresses, 1, "2001:db8::1", 64);
    put_net(&addresses, 2, "192.0.2.130", 25);
    put_net(&addresses, 2, "203.0.113.1", 24);
    put_net(&addresses, 3, "10.0.0.1", 24);
    assert_string_equal(interface_of(&facts, "192.0.2.9", NULL), "eth0");
    assert_string_equal(interface_of(&facts, "192.0.2.200", NULL), "eth1");
    assert_string_equal(interface_of(&facts, "192.0.2.200", "eth0"), "eth0");
    assert_string_equal(interface_of(&facts, "192.0.2.9", "eth1"), none);
    assert_string_equal(interface_of(&facts, "2001:db8::9", NULL), "eth0");
    assert_string_equal(interface_of(&facts, "198.51.100.7", NULL), none);
    assert_string_equal(interface_of(&facts, "10.0.0.9", NULL), none);
    ((struct link *)sorted_at(&links, 1))->up = false;
    assert_string_equal(interface_of(&facts, "192.0.2.200", NULL), "eth0");
    assert_string_equal(interface_of(&facts, "203.0.113.9", NULL), down);
    ((struct link *)sorted_at(&links, 1))->up = true;
    put_link(&links, "br0", "bridge");
    put_link(&links, "red", "vrf");
    ((struct link *)sorted_at(&links, 1))->master = 4; /* its frames are the bridge's */
    assert_string_equal(interface_of(&facts, "203.0.113.9", NULL), placement_words(PLACEMENT_PORT));
    assert_string_equal(interface_of(&facts, "192.0.2.200", NULL), "eth0");
    ((struct link *)sorted_at(&links, 1))->master = 5; /* it has other routes */
    assert_string_equal(interface_of(&facts, "203.0.113.9", NULL), "eth1");
    assert_string_equal(interface_of(&(struct node_facts){ 0 }, "192.0.2.9", NULL), none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_gets_its_share),
        cmocka_unit_test(nothing_else_moves),
        cmocka_unit_test(holder_keeps_it_until_fail_back),
        cmocka_unit_test(fail_back_waits_for_a_node_that_lasts),
        cmocka_unit_test(nodes_that_lack_a_port_come_last),
        cmocka_unit_test(a_holder_that_lacks_a_port_gives_it_up_soon),
        cmocka_unit_test(holder_is_nobody_to_wait_for),
        cmocka_unit_test(objects_say_who_may),
        cmocka_unit_test(interface_is_in_the_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
