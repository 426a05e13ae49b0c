// SPDX-License-Identifier: Apache-2.0
/*
 * Updates of assignments, one after the other: that one over what changed gives what one over
 * everything gives, and that lack of memory costs nobody an address.
 */
#include <errno.h>
#include <stdio.h>

#include "assigning.h"
#include "failing_heap.h"

enum { ROUNDS = 400, SERVICES = 40 };

static int update_all(struct fixture *fx, struct pool_table *pools,
                      const struct assignment_key *key)
{
    const struct assignment_inputs inputs = { fx->store, pools, "", fx->now_ms, REST };
    const struct assignment_scope scope = { .keys = key, .count = 1 };
    return assignments_update(&fx->assignments, &inputs, &scope, NULL, NULL);
}

/* One gives its address up and another comes, who shares: whatever fails on the way. */
static void without_memory_all_stay_as_they_are(void **state)
{
    struct fixture *fx = *state;
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(pool_table_done) struct pool_table pools = { 0 };
    const struct assignment_key key = { "default", "b" };
    unsigned failures = 0;
    START(fx, "192.0.2.1-192.0.2.2", "b");
    put_service(fx->store, "a", "metallb.io/allow-shared-ip: k", "");
    update(fx, "a");
    put_service(fx->store, "b",
                "metallb.io/allow-shared-ip: k, metallb.io/loadBalancerIPs: 192.0.2.2",
                "ports: [{port: 81}]");
    assert_int_equal(pool_table_make(fx->store, &pools, &faults), 0);
    for (int n = 0;; n++) {
        int r = with_heap(n, update_all(fx, &pools, &key));
        if (!heap_missed) {
            assert_int_equal(r, 0);
            break;
        }
        assert_int_equal(r, -ENOMEM);
        const struct assignment *b = assignment_of(&fx->assignments, "default", "b");
        assert_int_equal(b->ips.count, 1);
        assert_int_equal(b->ips.items[0].bytes[3], 1);
        failures++;
    }
    assert_true(failures > 5);
    assert_all(fx, "a 192.0.2.2; b 192.0.2.2; (192.0.2.1 b) ");
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
    for (size_t i = 0; i < rests_count(&from->rests); i++) {
        const struct rest *rest = rest_at(&from->rests, i);
        assert_int_equal(
            assignments_rest(to, &rest->ip, rest->freed_ms, rest->namespace, rest->name), 0);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        IT(without_memory_all_stay_as_they_are),
        IT(what_changed_gives_what_everything_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
