// SPDX-License-Identifier: Apache-2.0
/*
 * LoadBalancer addresses out of pools: what is kept, what rests, and that an update over what
 * changed gives what one over everything gives. tests/property compares the rules with a second
 * reading of them.
 */
#include "plan/assignment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/text.h"
#include "cmocka_all.h"
#include "format/reader.h"

enum { NOW = 1000000, REST = 60000, ROUNDS = 400, SERVICES = 40 };

struct fixture {
    struct store *store;
    struct assignments assignments;
    int64_t now_ms;
};

static int setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    fx->store = store_new();
    assert_non_null(fx->store);
    assignments_init(&fx->assignments);
    fx->now_ms = NOW;
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    assignments_done(&fx->assignments);
    store_free(fx->store);
    free(fx);
    return 0;
}

static void put(struct store *store, const char *yaml)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    assert_int_equal(document_parse(yaml, strlen(yaml), "", READER_YAML, &document, &faults), 1);
    if (object_decode(document, &object, NULL, &faults, &faults) != 1)
        fail_msg("%s: %s", yaml, faults.list.count ? faults.list.items[0].message : "");
    assert_true(store_put(store, "test", object) >= 0);
}

static void put_pool(struct store *store, const char *name, const char *spec)
{
    AUTOFREE char *yaml = text_format("{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, "
                                      "metadata: {name: %s, namespace: lb}, spec: {%s}}",
                                      name, spec);
    put(store, yaml);
}

static void put_service(struct store *store, const char *name, const char *annotations,
                        const char *spec)
{
    AUTOFREE char *yaml = text_format(
        "{apiVersion: v1, kind: Service, metadata: {name: %s, annotations: {%s}}, spec: {type: "
        "LoadBalancer, clusterIP: 10.96.0.1, %s}}",
        name, annotations, *spec ? spec : "ports: [{port: 80}]");
    put(store, yaml);
}

static void take_out(struct store *store, const char *name)
{
    assert_true(store_remove(store, "test", KIND_SERVICE, "default", name) >= 0);
}

static void update_of(struct assignments *assignments, const struct store *store, int64_t now_ms,
                      const struct assignment_scope *scope)
{
    CLEANUP(pool_table_done) struct pool_table pools = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    assert_int_equal(pool_table_make(store, &pools, &faults), 0);
    const struct assignment_inputs inputs = { store, &pools, "", now_ms, REST };
    assert_int_equal(assignments_update(assignments, &inputs, scope, NULL, NULL), 0);
}

static void update(struct fixture *fx, const char *name)
{
    const struct assignment_key key = { "default", name };
    update_of(
        &fx->assignments, fx->store, fx->now_ms,
        &(struct assignment_scope){ .all = name == NULL, .keys = &key, .count = name != NULL });
}

static void add_row(struct text *text, const struct assignment *row)
{
    char buffer[IP_STRLEN];
    text_addf(text, "%s", row->name);
    vec_each(const struct ip, ip, &row->ips)
        text_addf(text, " %s", ip_str(ip, buffer));
    for (size_t i = 0; i < ARRAY_SIZE(row->lacks); i++) {
        if (row->lacks[i].reason)
            text_addf(text, " %s", lack_reason_name(row->lacks[i].reason));
    }
    text_add(text, "; ");
}

static void add_all(struct text *text, const struct assignments *assignments)
{
    char buffer[IP_STRLEN];
    for (size_t i = 0; i < assignments->rows.count; i++)
        add_row(text, assignment_at(assignments, i));
    sorted_each(const struct rest, rest, &assignments->rests)
        text_addf(text, "(%s %s) ", ip_str(&rest->ip, buffer), rest->name);
}

static void assert_all(const struct fixture *fx, const char *expected)
{
    AUTOTEXT struct text text = { 0 };
    add_all(&text, &fx->assignments);
    assert_string_equal(text_str(&text), expected);
}

static void the_lowest_free_one_is_given(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [192.0.2.1-192.0.2.3]");
    put_service(fx->store, "b", "a: b", "");
    put_service(fx->store, "a", "a: b", "");
    update(fx, NULL);
    assert_all(fx, "a 192.0.2.1; b 192.0.2.2; ");
}

static void a_freed_address_rests_and_comes_back_to_its_owner(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [192.0.2.1-192.0.2.3]");
    put_service(fx->store, "a", "a: b", "");
    update(fx, "a");
    take_out(fx->store, "a");
    update(fx, "a");
    assert_all(fx, "(192.0.2.1 a) ");
    put_service(fx->store, "b", "a: b", "");
    update(fx, "b");
    assert_all(fx, "b 192.0.2.2; (192.0.2.1 a) ");
    put_service(fx->store, "a", "a: b", "");
    update(fx, "a");
    assert_all(fx, "a 192.0.2.1; b 192.0.2.2; ");
}

static void the_rest_ends(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [192.0.2.1-192.0.2.3]");
    put_service(fx->store, "a", "a: b", "");
    update(fx, "a");
    take_out(fx->store, "a");
    update(fx, "a");
    fx->now_ms += REST - 1;
    update(fx, NULL);
    assert_all(fx, "(192.0.2.1 a) ");
    fx->now_ms++;
    update(fx, NULL);
    assert_all(fx, "");
    put_service(fx->store, "b", "a: b", "");
    update(fx, "b");
    assert_all(fx, "b 192.0.2.1; ");
}

static void a_clock_that_went_back_prolongs_no_rest(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [192.0.2.1]");
    put_service(fx->store, "a", "a: b", "");
    update(fx, "a");
    take_out(fx->store, "a");
    update(fx, "a");
    fx->now_ms -= 10 * REST;
    update(fx, NULL);
    fx->now_ms += REST;
    update(fx, NULL);
    assert_all(fx, "");
}

static void rest_gives_way_when_there_is_nothing_else(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [192.0.2.1-192.0.2.2]");
    static const char *const names[] = { "b", "a" };
    put_service(fx->store, "a", "a: b", "");
    put_service(fx->store, "b", "a: b", "");
    update(fx, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        fx->now_ms++;
        take_out(fx->store, names[i]);
        update(fx, names[i]);
    }
    put_service(fx->store, "c", "a: b", "");
    update(fx, "c");
    assert_all(fx, "c 192.0.2.2; (192.0.2.1 a) ");
}

static void who_names_a_resting_address_gets_it(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [192.0.2.1-192.0.2.9]");
    assert_int_equal(assignments_rest(&fx->assignments, &(struct ip){ IP_V4, { 192, 0, 2, 4 } },
                                      NOW, "default", "z"),
                     0);
    put_service(fx->store, "a", "metallb.io/loadBalancerIPs: 192.0.2.4", "");
    update(fx, NULL);
    assert_all(fx, "a 192.0.2.4; ");
}

static void pending_ones_get_what_becomes_free(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [192.0.2.1]");
    put_service(fx->store, "a", "a: b", "");
    update(fx, NULL);
    put_service(fx->store, "b", "a: b", "");
    update(fx, "b");
    assert_all(fx, "a 192.0.2.1; b exhausted; ");
    take_out(fx->store, "a");
    update(fx, "a");
    assert_all(fx, "b 192.0.2.1; ");
}

static void ports_that_part_make_room_for_who_shares(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [192.0.2.1]");
    put_service(fx->store, "a", "metallb.io/allow-shared-ip: k", "");
    put_service(fx->store, "b", "metallb.universe.tf/allow-shared-ip: k",
                "externalTrafficPolicy: Local, ports: [{port: 80}]");
    update(fx, NULL);
    assert_all(fx, "a 192.0.2.1; b exhausted; ");
    put_service(fx->store, "a", "metallb.io/allow-shared-ip: k", "ports: [{port: 443}]");
    update(fx, "a");
    assert_all(fx, "a 192.0.2.1; b 192.0.2.1; ");
    put_service(fx->store, "a", "metallb.io/allow-shared-ip: k", "");
    update(fx, "a");
    assert_all(fx, "a 192.0.2.1; b exhausted; ");
}

static void a_pool_edit_that_keeps_them_moves_nothing(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [192.0.2.4/30]");
    put_service(fx->store, "a", "a: b", "");
    put_service(fx->store, "b", "a: b", "");
    update(fx, NULL);
    put_pool(fx->store, "lb", "addresses: [192.0.2.0/29], autoAssign: false, avoidBuggyIPs: true");
    update(fx, NULL);
    assert_all(fx, "a 192.0.2.4; b 192.0.2.5; ");
    put_pool(fx->store, "lb", "addresses: [192.0.2.0-192.0.2.4]");
    update(fx, NULL);
    assert_all(fx, "a 192.0.2.4; b 192.0.2.0; (192.0.2.5 b) ");
    const struct assignment *b = assignment_of(&fx->assignments, "default", "b");
    assert_int_equal(b->lost.count, 1);
    assert_int_equal(b->lost.items[0].reason, LACK_OUTSIDE);
}

static void reserved_addresses_are_for_who_names_them(void **state)
{
    struct fixture *fx = *state;
    put(fx->store, "{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: lb, "
                   "annotations: {fingerpost.io/reserved: \"192.0.2.0-192.0.2.200,192.0.2.202\"}}, "
                   "spec: {addresses: [192.0.2.0/24]}}");
    put_service(fx->store, "a", "a: b", "");
    put_service(fx->store, "b", "a: b", "");
    put_service(fx->store, "c", "fingerpost.io/loadBalancerIPs: 192.0.2.7", "");
    update(fx, NULL);
    assert_all(fx, "a 192.0.2.201; b 192.0.2.203; c 192.0.2.7; ");
}

static void a_wide_pool_of_ipv6_is_no_burden(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [\"2001:db8::/64\"]");
    put_service(fx->store, "a", "a: b", "ipFamilies: [IPv6], ports: [{port: 80}]");
    update(fx, NULL);
    assert_all(fx, "a 2001:db8::; ");
}

static void overlapping_pools_are_a_fault_and_the_older_ones(void **state)
{
    struct fixture *fx = *state;
    CLEANUP(pool_table_done) struct pool_table pools = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    put_pool(fx->store, "a", "addresses: [192.0.2.4-192.0.2.7, 192.0.2.6-192.0.2.9]");
    put_pool(fx->store, "b", "addresses: [192.0.2.0-192.0.2.20]");
    assert_int_equal(pool_table_make(fx->store, &pools, &faults), 0);
    assert_int_equal(pools.pools.items[0].size[0], 6);
    assert_int_equal(pools.pools.items[1].size[0], 15);
    assert_int_equal(faults.list.count, 2);
    assert_string_equal(faults.list.items[0].place, "IPAddressPool lb/b");
    assert_string_equal(faults.list.items[0].message,
                        "192.0.2.4-192.0.2.7 belongs to the older IPAddressPool lb/a");
    struct ip ip = { IP_V4, { 192, 0, 2, 9 } };
    assert_string_equal(pool_at(&pools, &ip)->object->object.name, "a");
    ip.bytes[3] = 10;
    assert_string_equal(pool_at(&pools, &ip)->object->object.name, "b");
    ip.bytes[3] = 21;
    assert_null(pool_at(&pools, &ip));
}

static void random_service(struct store *store, const char *name)
{
    static const char *const annotations[] = {
        "a: b",
        "a: c",
        "metallb.io/allow-shared-ip: k",
        "metallb.io/allow-shared-ip: l",
        "metallb.io/allow-shared-ip: k, metallb.io/loadBalancerIPs: 192.0.2.3",
        "metallb.io/loadBalancerIPs: \"192.0.2.3,2001:db8::2\"",
        "metallb.io/loadBalancerIPs: 192.0.2.9",
        "metallb.io/address-pool: two",
    };
    static const char *const specs[] = {
        "ports: [{port: 80}]",
        "ports: [{port: 443}]",
        "ports: [{port: 80, protocol: UDP}], ipFamilies: [IPv6]",
        "ports: [{port: 80}], ipFamilies: [IPv4, IPv6], ipFamilyPolicy: RequireDualStack",
        "ports: [{port: 80}], ipFamilies: [IPv4, IPv6], ipFamilyPolicy: PreferDualStack",
        "ports: [{port: 80}], loadBalancerClass: other",
    };
    put_service(store, name, annotations[rand() % (int)ARRAY_SIZE(annotations)],
                specs[rand() % (int)ARRAY_SIZE(specs)]);
}

static void random_pool(struct store *store)
{
    static const char *const specs[] = {
        "addresses: [192.0.2.0-192.0.2.9]",
        "addresses: [192.0.2.2-192.0.2.9, \"2001:db8::/126\"]",
        "addresses: [\"2001:db8::/125\"], autoAssign: false",
        "addresses: [198.51.100.0/29]",
    };
    put_pool(store, rand() % 2 ? "one" : "two", specs[rand() % (int)ARRAY_SIZE(specs)]);
}

/* Knows what the other knew before its update, and nothing of how it came to that. */
static void remember(struct assignments *to, const struct assignments *from)
{
    assignments_init(to);
    for (size_t i = 0; i < from->rows.count; i++) {
        const struct assignment *row = assignment_at(from, i);
        vec_each(const struct ip, ip, &row->ips)
            assert_int_equal(assignments_hold(to, row->namespace, row->name, ip), 0);
    }
    sorted_each(const struct rest, rest, &from->rests)
        assert_int_equal(
            assignments_rest(to, &rest->ip, rest->freed_ms, rest->namespace, rest->name), 0);
}

static void what_changed_gives_what_everything_gives(void **state)
{
    struct fixture *fx = *state;
    srand(7);
    random_pool(fx->store);
    for (int round = 0; round < ROUNDS; round++) {
        char names[3][16];
        struct assignment_key keys[3];
        bool all = rand() % 20 == 0;
        if (all)
            random_pool(fx->store);
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
            snprintf(names[i], sizeof(names[i]), "s%d", rand() % SERVICES);
            keys[i] = (struct assignment_key){ "default", names[i] };
            if (rand() % 3)
                random_service(fx->store, names[i]);
            else
                take_out(fx->store, names[i]);
        }
        fx->now_ms += rand() % REST / 8;
        CLEANUP(assignments_done) struct assignments whole;
        AUTOTEXT struct text left = { 0 }, right = { 0 };
        remember(&whole, &fx->assignments);
        const struct assignment_scope some = { all, keys, ARRAY_SIZE(keys) },
                                      every = { .all = true };
        update_of(&fx->assignments, fx->store, fx->now_ms, &some);
        update_of(&whole, fx->store, fx->now_ms, &every);
        add_all(&left, &fx->assignments);
        add_all(&right, &whole);
        assert_string_equal(text_str(&left), text_str(&right));
    }
}

#define IT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IT(the_lowest_free_one_is_given),
        IT(a_freed_address_rests_and_comes_back_to_its_owner),
        IT(the_rest_ends),
        IT(a_clock_that_went_back_prolongs_no_rest),
        IT(rest_gives_way_when_there_is_nothing_else),
        IT(who_names_a_resting_address_gets_it),
        IT(pending_ones_get_what_becomes_free),
        IT(ports_that_part_make_room_for_who_shares),
        IT(a_pool_edit_that_keeps_them_moves_nothing),
        IT(reserved_addresses_are_for_who_names_them),
        IT(a_wide_pool_of_ipv6_is_no_burden),
        IT(overlapping_pools_are_a_fault_and_the_older_ones),
        IT(what_changed_gives_what_everything_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
