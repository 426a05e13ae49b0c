// SPDX-License-Identifier: Apache-2.0
/* Blocks of other nodes: which are routed to their Nodes, by what interface, and why others not. */
#include "linking.h"

static void put_node(struct planning *planning, const char *name, const char *addresses)
{
    AUTOFREE char *yaml = text_format("apiVersion: v1\nkind: Node\nmetadata: {name: %s}\n"
                                      "status: {addresses: [%s]}\n",
                                      name, addresses);
    put(planning, yaml);
}

static void put_block(struct planning *planning, const char *name, const char *node,
                      const char *prefixes)
{
    AUTOFREE char *yaml = text_format(
        "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\n"
        "metadata: {name: %s, labels: {coil.cybozu.com/pool: default, coil.cybozu.com/node: %s}}\n"
        "index: 0\n%s\n",
        name, node, prefixes);
    put(planning, yaml);
}

struct segment {
    struct planning planning;
    struct sorted links, addresses;
};

static void put_net(struct segment *segment, uint32_t ifindex, const char *ip, uint8_t length)
{
    put_address(&segment->addresses, ifindex, ip)->length = length;
}

static void begin(struct segment *segment)
{
    *segment = (struct segment){
        .links = SORTED(struct link, link_cmp),
        .addresses = SORTED(struct link_address, link_address_cmp),
    };
    planning_begin(&segment->planning);
    segment->planning.config->routes.direct = true;
    segment->planning.facts.links = &segment->links;
    segment->planning.facts.link_addresses = &segment->addresses;
    put_link(&segment->links, "eth0", "");
    put_net(segment, 1, "10.0.0.1", 16);
    put_net(segment, 1, "fd00::1", 64);
    put_node(&segment->planning, "node-2",
             "{type: InternalIP, address: 10.0.0.2}, {type: InternalIP, address: \"fd00::2\"}");
    put_block(&segment->planning, "b", "node-2", "ipv4: 10.9.0.0/27\nipv6: fd09::/123");
}

static void end(struct segment *segment)
{
    planning_done(&segment->planning);
    sorted_done(&segment->links);
    sorted_done(&segment->addresses);
}

/* "10.9.0.0/27 routed if1", one row after the other. */
static void expect(struct segment *segment, const char *expected)
{
    AUTOTEXT struct text out = { 0 };
    AUTOSORTED struct sorted rows = { 0 };
    assert_int_equal(plan_direct(&segment->planning.facts, &rows), 0);
    sorted_each(const struct direct_row, row, &rows) {
        char prefix[PREFIX_STRLEN];
        text_addf(&out, "%s%s %s if%u", out.length ? ", " : "", prefix_str(&row->prefix, prefix),
                  direct_reason_name(row->reason), row->ifindex);
    }
    assert_string_equal(text_str(&out), expected);
}

static void both_families_by_the_interface_of_the_network(void **state)
{
    (void)state;
    CLEANUP(end) struct segment segment;
    begin(&segment);
    expect(&segment, "10.9.0.0/27 routed if1, fd09::/123 routed if1");
    put_link(&segment.links, "eth1", "");
    put_net(&segment, 2, "10.0.0.3", 24);
    expect(&segment, "10.9.0.0/27 routed if2, fd09::/123 routed if1");
    ((struct link *)sorted_at(&segment.links, 1))->up = false;
    expect(&segment, "10.9.0.0/27 routed if1, fd09::/123 routed if1");
}

static void off_unless_asked_for(void **state)
{
    (void)state;
    CLEANUP(end) struct segment segment;
    begin(&segment);
    segment.planning.config->routes.direct = false;
    expect(&segment, "");
    segment.planning.config->routes.direct = true;
    segment.planning.config->routes.enabled = false;
    expect(&segment, "");
    segment.planning.config->routes.enabled = true;
    segment.planning.facts.links = NULL;
    expect(&segment, "");
}

/* Else all rows would be planned with each pod that comes. */
static void only_networks_count_among_links(void **state)
{
    (void)state;
    CLEANUP(end) struct segment segment;
    begin(&segment);
    const struct node_facts *facts = &segment.planning.facts;
    uint64_t before = direct_networks(facts);
    put_link(&segment.links, "veth1", "veth");
    put_net(&segment, 2, "fe80::2", 64);
    put_net(&segment, 2, "10.0.0.1", 32);
    assert_true(direct_networks(facts) == before);
    ((struct link *)sorted_at(&segment.links, 0))->up = false;
    uint64_t down = direct_networks(facts);
    assert_true(down != before);
    ((struct link *)sorted_at(&segment.links, 0))->up = true;
    assert_true(direct_networks(facts) == before);
    put_net(&segment, 2, "10.0.0.3", 24);
    assert_true(direct_networks(facts) != before);
    segment.planning.config->routes.direct = false;
    assert_true(direct_networks(facts) == 0);
}

/* The plan of a segment, and how it is brought up to date. */
struct following {
    struct segment segment;
    struct route_plan plan;
};

static void follow_begin(struct following *following)
{
    begin(&following->segment);
    assert_int_equal(plan_routes(&following->segment.planning.inputs, &following->plan,
                                 &following->segment.planning.faults),
                     0);
    store_changes_done(following->segment.planning.store);
}

static void follow_end(struct following *following)
{
    route_plan_done(&following->plan);
    end(&following->segment);
}

/* Plans what the changes touch. Returns how many rows were looked at, before and after. */
static size_t follow(struct following *following)
{
    struct planning *planning = &following->segment.planning;
    AUTOVEC change_list changes = { 0 };
    AUTOVEC direct_row_list touched = { 0 };
    CLEANUP(route_update_done) struct route_update update = { 0 };
    assert_int_equal(store_changes(planning->store, &changes), 0);
    vec_each(const struct change, change, &changes)
        assert_int_equal(
            plan_affected_direct(&planning->facts, &following->plan.direct, change, &touched), 0);
    store_changes_done(planning->store);
    const struct route_scope scope = { .direct_rows = &touched };
    assert_int_equal(route_plan_update(&following->plan, &planning->inputs, &scope, &update), 0);
    assert_false(update.direct);
    return update.direct_before.count + update.direct_after.count;
}

/* A plan that was kept up to date is one from nothing. */
static void assert_up_to_date(const struct following *following)
{
    AUTOSORTED struct sorted rows = { 0 };
    const struct sorted *kept = &following->plan.direct;
    assert_int_equal(plan_direct(&following->segment.planning.facts, &rows), 0);
    assert_int_equal(kept->count, rows.count);
    for (size_t i = 0; i < rows.count; i++)
        assert_true(direct_row_equal(sorted_at(kept, i), sorted_at(&rows, i)));
}

static void put_numbered(struct following *following, unsigned number, const char *node)
{
    AUTOFREE char *name = text_format("n%u", number);
    AUTOFREE char *prefixes = text_format("ipv4: 10.%u.%u.0/27\nipv6: fd09:%x::/123",
                                          16 + number / 256, number % 256, number + 1);
    put_block(&following->segment.planning, name, node, prefixes);
}

static void a_change_costs_its_own_rows_among_a_thousand_blocks(void **state)
{
    (void)state;
    CLEANUP(follow_end) struct following following;
    follow_begin(&following);
    for (unsigned i = 0; i < 1000; i++)
        put_numbered(&following, i, i < 5 ? "node-3" : "node-2");
    assert_int_equal(follow(&following), 2000);
    assert_up_to_date(&following);

    put_numbered(&following, 1000, "node-2");
    assert_int_equal(follow(&following), 2); /* both families of the one that came */
    put_numbered(&following, 1000, "node-3");
    assert_int_equal(follow(&following), 4);  /* as they were, as they are */
    put_numbered(&following, 1000, "node-1"); /* this node's own */
    assert_int_equal(follow(&following), 2);
    put_node(&following.segment.planning, "node-3", "{type: InternalIP, address: 10.0.0.3}");
    assert_int_equal(follow(&following), 20); /* of the five blocks of this Node */
    put_node(&following.segment.planning, "node-3", "{type: InternalIP, address: 10.0.0.3}");
    assert_int_equal(follow(&following), 0);
    assert_up_to_date(&following);
}

static void a_plan_that_is_kept_up_to_date_is_one_from_nothing(void **state)
{
    (void)state;
    static const char *const nodes[] = { "node-1", "node-2", "node-3", "node-4", "\"\"" };
    CLEANUP(follow_end) struct following following;
    uint32_t random = 7;
    follow_begin(&following);
    for (unsigned turn = 0; turn < 400; turn++) {
        struct planning *planning = &following.segment.planning;
        for (unsigned i = 0; i < 1 + turn % 3; i++) {
            random = random * 1664525 + 1013904223;
            unsigned number = random >> 27, what = random >> 8 & 7;
            AUTOFREE char *name = text_format("n%u", number);
            AUTOFREE char *address =
                text_format("{type: InternalIP, address: 10.%u.0.2}", random >> 12 & 1);
            if (what == 0)
                assert_return_code(store_remove(planning->store, "t", KIND_ADDRESS_BLOCK, "", name),
                                   0);
            else if (what < 3)
                put_node(planning, nodes[1 + number % 3], address);
            else
                put_numbered(&following, number, nodes[(random >> 16) % 5]);
        }
        follow(&following);
        assert_up_to_date(&following);
    }
}

static struct object *node_of(const char *labels, const char *address)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: v1\nkind: Node\nmetadata: {name: node-2, labels: {%s}}\n"
                    "status: {addresses: [{type: InternalIP, address: %s}]}\n",
                    labels, address);
    assert_non_null(yaml);
    return object_of(yaml);
}

static size_t rows_touched(const struct following *following, struct change change)
{
    AUTOVEC direct_row_list touched = { 0 };
    assert_int_equal(plan_affected_direct(&following->segment.planning.facts,
                                          &following->plan.direct, &change, &touched),
                     0);
    return touched.count;
}

static void a_node_counts_by_its_addresses(void **state)
{
    (void)state;
    CLEANUP(follow_end) struct following following;
    follow_begin(&following);
    CLEANUP(object_freep) struct object *one = node_of("a: b", "10.0.0.2");
    CLEANUP(object_freep) struct object *same = node_of("a: c", "10.0.0.2");
    CLEANUP(object_freep) struct object *moved = node_of("a: c", "10.0.0.3");
    assert_int_equal(rows_touched(&following, (struct change){ .before = one, .after = same }), 0);
    assert_int_equal(rows_touched(&following, (struct change){ .before = same, .after = moved }),
                     2);
    assert_int_equal(rows_touched(&following, (struct change){ .after = one }), 2);
    assert_int_equal(rows_touched(&following, (struct change){ .before = one }), 2);
}

static void own_blocks_and_nobodys_are_left_out(void **state)
{
    (void)state;
    CLEANUP(end) struct segment segment;
    begin(&segment);
    put_block(&segment.planning, "a", "node-1", "ipv4: 10.9.1.0/27");
    put_block(&segment.planning, "c", "\"\"", "ipv4: 10.9.2.0/27");
    expect(&segment, "10.9.0.0/27 routed if1, fd09::/123 routed if1");
}

static void why_it_is_not_routed(void **state)
{
    (void)state;
    CLEANUP(end) struct segment segment;
    begin(&segment);
    put_node(&segment.planning, "node-2", "{type: InternalIP, address: 10.1.0.2}");
    put_block(&segment.planning, "c", "node-3", "ipv4: 10.9.2.0/27");
    expect(&segment,
           "10.9.0.0/27 elsewhere if0, 10.9.2.0/27 no-node if0, fd09::/123 no-address if0");
}

static void a_block_that_covers_who_routes_is_never_routed(void **state)
{
    (void)state;
    CLEANUP(end) struct segment segment;
    begin(&segment);
    put_block(&segment.planning, "b", "node-2", "ipv4: 10.0.0.2/31\nipv6: fd00::/127");
    expect(&segment, "10.0.0.2/31 around if0, fd00::/127 around if0");
}

static void routes_are_of_main_and_by_the_node(void **state)
{
    (void)state;
    CLEANUP(end) struct segment segment;
    CLEANUP(route_plan_done) struct route_plan plan;
    AUTOVEC route_list routes = { 0 };
    char text[ROUTE_STRLEN];
    begin(&segment);
    assert_int_equal(plan_routes(&segment.planning.inputs, &plan, &segment.planning.faults), 0);
    assert_int_equal(plan_route_list(segment.planning.config, &plan, &routes), 0);
    assert_int_equal(routes.count, 2);
    assert_string_equal(route_str(&routes.items[0], text),
                        "10.9.0.0/27 via 10.0.0.2 dev if1 proto 30");
    assert_string_equal(route_str(&routes.items[1], text),
                        "fd09::/123 via fd00::2 dev if1 proto 30");
    for (size_t i = 0; i < 2; i++) {
        struct route wanted;
        assert_true(route_is_ours(&routes.items[i], 119));
        assert_true(plan_wanted_route(segment.planning.config, &plan, &routes.items[i], &wanted));
        assert_int_equal(route_cmp(&wanted, &routes.items[i]), 0);
    }
}

static void a_pods_route_is_no_direct_one(void **state)
{
    (void)state;
    struct route route = { .table = ROUTE_TABLE_MAIN, .protocol = 30, .type = 1, .ifindex = 3 };
    assert_false(route_is_ours(&route, 119));
    route.gateway = (struct ip){ IP_V4, { 10, 0, 0, 2 } };
    assert_true(route_is_ours(&route, 119));
    route.protocol = 31; /* coil-router's */
    assert_false(route_is_ours(&route, 119));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_families_by_the_interface_of_the_network),
        cmocka_unit_test(off_unless_asked_for),
        cmocka_unit_test(only_networks_count_among_links),
        cmocka_unit_test(a_node_counts_by_its_addresses),
        cmocka_unit_test(a_change_costs_its_own_rows_among_a_thousand_blocks),
        cmocka_unit_test(a_plan_that_is_kept_up_to_date_is_one_from_nothing),
        cmocka_unit_test(own_blocks_and_nobodys_are_left_out),
        cmocka_unit_test(why_it_is_not_routed),
        cmocka_unit_test(a_block_that_covers_who_routes_is_never_routed),
        cmocka_unit_test(routes_are_of_main_and_by_the_node),
        cmocka_unit_test(a_pods_route_is_no_direct_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
