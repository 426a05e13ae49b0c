// SPDX-License-Identifier: Apache-2.0
/*
 * LoadBalancer addresses out of pools: what is kept, given, and left to rest. tests/property
 * compares the rules with a second reading of them.
 */
#include "assigning.h"
#include "raised.h"

static void the_lowest_free_one_is_given(void **state)
{
    struct fixture *fx = *state;
    START(fx, "192.0.2.1-192.0.2.3", "b", "a");
    assert_all(fx, "a 192.0.2.1; b 192.0.2.2; ");
}

static void a_freed_address_rests_and_comes_back_to_its_owner(void **state)
{
    struct fixture *fx = *state;
    START(fx, "192.0.2.1-192.0.2.3", "a");
    go(fx, "a");
    assert_all(fx, "(192.0.2.1 a) ");
    come(fx, "b");
    assert_all(fx, "b 192.0.2.2; (192.0.2.1 a) ");
    come(fx, "a");
    assert_all(fx, "a 192.0.2.1; b 192.0.2.2; ");
}

static void the_rest_ends(void **state)
{
    struct fixture *fx = *state;
    START(fx, "192.0.2.1-192.0.2.3", "a");
    go(fx, "a");
    fx->now_ms += REST - 1;
    update(fx, NULL);
    assert_all(fx, "(192.0.2.1 a) ");
    fx->now_ms++;
    update(fx, NULL);
    assert_all(fx, "");
    come(fx, "b");
    assert_all(fx, "b 192.0.2.1; ");
}

static void a_clock_that_went_back_prolongs_no_rest(void **state)
{
    struct fixture *fx = *state;
    START(fx, "192.0.2.1", "a");
    go(fx, "a");
    fx->now_ms -= 10 * REST;
    update(fx, NULL);
    fx->now_ms += REST;
    update(fx, NULL);
    assert_all(fx, "");
}

static void rest_gives_way_when_there_is_nothing_else(void **state)
{
    struct fixture *fx = *state;
    START(fx, "192.0.2.1-192.0.2.2", "a", "b");
    fx->now_ms++;
    go(fx, "b");
    fx->now_ms++;
    go(fx, "a");
    come(fx, "c");
    assert_all(fx, "c 192.0.2.2; (192.0.2.1 a) ");
}

/* Of one update: what one gives up is not the next free one of another. */
static void a_freed_address_rests_at_once(void **state)
{
    struct fixture *fx = *state;
    START(fx, "192.0.2.1-192.0.2.3", "a");
    take_out(fx->store, "a");
    put_service(fx->store, "b", "a: b", "");
    update(fx, NULL);
    assert_all(fx, "b 192.0.2.2; (192.0.2.1 a) ");
}

/* By a status that somebody else has written. */
static void what_the_status_says_is_held(void **state)
{
    struct fixture *fx = *state;
    START(fx, "192.0.2.1-192.0.2.9", "a");
    put_service(fx->store, "a", "a: b",
                "ports: [{port: 80}]}, status: {loadBalancer: {ingress: [{ip: 192.0.2.7}]}");
    update(fx, "a");
    assert_all(fx, "a 192.0.2.7; (192.0.2.1 a) ");
    put_service(fx->store, "a", "a: b", "");
    update(fx, "a");
    assert_all(fx, "a 192.0.2.7; (192.0.2.1 a) ");
}

/* A table of pools that is used again. */
/* MetalLB and Cilium write over each of these. */
static void a_status_of_another_assigner_is_left(void **state)
{
#define OURS "conditions: [{type: fingerpost.io/AddressAssigned, status: 'True'}], "
    static const struct {
        const char *status, *expected, *why;
    } cases[] = {
        { "loadBalancer: {ingress: [{hostname: lb.example.com}]}", "a foreign-status; ",
          "hostname lb.example.com" },
        { "loadBalancer: {ingress: [{ip: 198.51.100.9}]}", "a foreign-status; ",
          "198.51.100.9, which is of no pool" },
        { "loadBalancer: {ingress: [{ip: 192.0.2.3, hostname: x}]}", "a 192.0.2.3 foreign-status; ",
          "hostname x" },
        { "loadBalancer: {ingress: [{ip: 192.0.2.3}, {ip: 198.51.100.9}]}",
          "a 192.0.2.3 foreign-status; ", "198.51.100.9, which is of no pool" },
        { "loadBalancer: {ingress: [{ip: 192.0.2.3, ipMode: Proxy}]}", "a foreign-status; ",
          "192.0.2.3, of ipMode Proxy" },
        { "loadBalancer: {ingress: [{ip: 192.0.2.3, ports: [{port: 80, protocol: TCP}]}]}",
          "a 192.0.2.3 foreign-status; ", "an entry with ports" },
        { OURS "loadBalancer: {ingress: [{hostname: lb.example.com}]}", "a foreign-status; ",
          "hostname lb.example.com" },
        { OURS "loadBalancer: {ingress: [{ip: 198.51.100.9}]}", "a 192.0.2.1; ", NULL },
        { "loadBalancer: {ingress: [{ip: 192.0.2.3, ipMode: VIP}]}", "a 192.0.2.3; ", NULL },
        { "loadBalancer: {ingress: [{hostname: ''}]}", "a 192.0.2.1; ", NULL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        void *fixture;
        assert_int_equal(setup(&fixture), 0);
        struct fixture *fx = fixture;
        AUTOFAULTS struct faults faults = { 0 };
        put_pool(fx->store, "lb", "addresses: [192.0.2.1-192.0.2.9]");
        put_status(fx->store, "a", cases[i].status);
        update(fx, NULL);
        assert_all(fx, cases[i].expected);
        assignment_faults(&fx->assignments, &faults);
        assert_int_equal(faults.list.count, cases[i].why ? 1 : 0);
        if (cases[i].why)
            assert_string_equal(code_of(&faults.list.items[0]), "service-status-foreign");
        if (cases[i].why)
            assert_string_equal(strchr(strchr(faults.list.items[0].message, ':') + 1, ':') + 2,
                                cases[i].why);
        put_service(fx->store, "b", "metallb.io/loadBalancerIPs: 192.0.2.3", "");
        update(fx, "b");
        put_status(fx->store, "a", "loadBalancer: {}");
        update(fx, "a");
        assert_false(assignment_is_pending(assignment_of(&fx->assignments, "default", "a")));
        assert_int_equal(teardown(&fixture), 0);
    }
    (void)state;
}

static void what_becomes_free_is_found_again(void **state)
{
    struct fixture *fx = *state;
    CLEANUP(pool_table_done) struct pool_table pools = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    const struct assignment_key keys[] = { { "default", "a" }, { "default", "d" } };
    put_pool(fx->store, "lb", "addresses: [192.0.2.1-192.0.2.3]");
    put_service(fx->store, "a", "a: b", "");
    put_service(fx->store, "b", "a: b", "");
    put_service(fx->store, "c", "a: b", "");
    assert_int_equal(pool_table_make(fx->store, &pools, &faults), 0);
    const struct assignment_inputs inputs = { fx->store, &pools, "", NOW, 0 };
    struct assignment_scope scope = { .all = true };
    assert_int_equal(assignments_update(&fx->assignments, &inputs, &scope, NULL, NULL), 0);
    take_out(fx->store, "a");
    put_service(fx->store, "d", "a: b", "");
    scope = (struct assignment_scope){ .keys = keys, .count = 2 };
    assert_int_equal(assignments_update(&fx->assignments, &inputs, &scope, NULL, NULL), 0);
    assert_all(fx, "b 192.0.2.2; c 192.0.2.3; d 192.0.2.1; ");
}

/* A manifest that is broken since the start may be what has it. */
static void who_is_absent_may_keep_what_it_has(void **state)
{
    struct fixture *fx = *state;
    CLEANUP(pool_table_done) struct pool_table pools = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    assert_int_equal(
        assignments_hold(&fx->assignments, "default", "z", &(struct ip){ IP_V4, { 192, 0, 2, 1 } }),
        0);
    put_pool(fx->store, "lb", "addresses: [192.0.2.1-192.0.2.3]");
    put_service(fx->store, "a", "a: b", "");
    put_service(fx->store, "b", "metallb.io/loadBalancerIPs: 192.0.2.1", "");
    assert_int_equal(pool_table_make(fx->store, &pools, &faults), 0);
    struct assignment_inputs inputs = { fx->store, &pools, "", NOW, REST, .keep_absent = true };
    const struct assignment_scope scope = { .all = true };
    assert_int_equal(assignments_update(&fx->assignments, &inputs, &scope, NULL, NULL), 0);
    assert_all(fx, "a 192.0.2.2; b taken; z 192.0.2.1; ");
    inputs.keep_absent = false;
    assert_int_equal(assignments_update(&fx->assignments, &inputs, &scope, NULL, NULL), 0);
    assert_all(fx, "a 192.0.2.2; b 192.0.2.1; ");
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
    START(fx, "192.0.2.1", "a");
    come(fx, "b");
    assert_all(fx, "a 192.0.2.1; b exhausted; ");
    go(fx, "a");
    assert_all(fx, "b 192.0.2.1; ");
}

static void ports_that_part_make_room_for_who_shares(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [192.0.2.1]");
    put_service(fx->store, "a", "metallb.io/allow-shared-ip: k", "");
    put_service(fx->store, "b", "metallb.universe.tf/allow-shared-ip: k", "");
    update(fx, NULL);
    assert_all(fx, "a 192.0.2.1; b exhausted; ");
    put_service(fx->store, "a", "metallb.io/allow-shared-ip: k", "ports: [{port: 443}]");
    update(fx, "a");
    assert_all(fx, "a 192.0.2.1; b 192.0.2.1; ");
    put_service(fx->store, "a", "metallb.io/allow-shared-ip: k", "");
    update(fx, "a");
    assert_all(fx, "a 192.0.2.1; b exhausted; ");
}

/* Of a Service of one family, too: no other address is what it asked for. */
static void a_request_of_both_families_is_for_who_has_both(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [1.2.3.0/29, \"1000::/125\"]");
    put_service(fx->store, "a", "metallb.io/loadBalancerIPs: '1.2.3.4,1000::1'", "");
    put_service(fx->store, "b", "metallb.io/loadBalancerIPs: '1.2.3.5,1000::2'",
                "ipFamilies: [IPv4, IPv6], ipFamilyPolicy: PreferDualStack, ports: [{port: 80}]");
    put_service(fx->store, "c", "metallb.io/loadBalancerIPs: '1.2.3.6,9000::1'",
                "ipFamilies: [IPv4, IPv6], ipFamilyPolicy: RequireDualStack, ports: [{port: 80}]");
    update(fx, NULL);
    assert_all(fx, "a 1.2.3.4 other-family; b 1.2.3.5 1000::2; "
                   "c partner-missing outside-pools; ");
}

/* Words and deed are one: half a request is none. What is held stays. */
static void a_request_that_is_half_readable_gets_nothing(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [192.0.2.1-192.0.2.9, \"2001:db8::/125\"]");
    put_service(fx->store, "a", "metallb.io/loadBalancerIPs: '192.0.2.1,garbage'", "");
    put_service(fx->store, "b", "metallb.io/loadBalancerIPs: '192.0.2.2,2001:db8::x'",
                "ipFamilies: [IPv4, IPv6], ipFamilyPolicy: PreferDualStack, ports: [{port: 80}]");
    put_service(fx->store, "c", "metallb.io/loadBalancerIPs: '192.0.2.03'", "");
    update(fx, NULL);
    assert_all(fx, "a wish-unreadable; b wish-unreadable wish-unreadable; c wish-unreadable; ");
    put_service(fx->store, "a", "metallb.io/loadBalancerIPs: 192.0.2.1", "");
    update(fx, "a");
    put_service(fx->store, "a", "metallb.io/loadBalancerIPs: '192.0.2.1,garbage'", "");
    update(fx, "a");
    assert_all(fx, "a 192.0.2.1; b wish-unreadable wish-unreadable; c wish-unreadable; ");
}

static void a_request_of_the_other_family_is_not_replaced(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [192.0.2.1-192.0.2.9, \"2001:db8::/125\"]");
    put_service(fx->store, "a", "metallb.io/loadBalancerIPs: '2001:db8::1'",
                "ipFamilies: [IPv4], ports: [{port: 80}]");
    put_service(fx->store, "b", "metallb.io/loadBalancerIPs: '192.0.2.1'",
                "ipFamilies: [IPv6], ports: [{port: 80}]");
    update(fx, NULL);
    assert_all(fx, "a other-family; b other-family; ");
}

#define SHARED "metallb.io/allow-shared-ip: k"
#define LOCAL  "externalTrafficPolicy: Local, "

/* Both are served by the same nodes, or the younger one is refused: as MetalLB has it. */
static void policy_local_is_shared_with_one_selector(void **state)
{
    static const struct {
        const char *a, *b;
        bool shared;
    } cases[] = {
        { "selector: {x: \"1\"}", "selector: {y: \"1\"}", true },
        { LOCAL "selector: {x: \"1\", y: \"2\"}", LOCAL "selector: {y: \"2\", x: \"1\"}", true },
        { LOCAL "selector: {x: \"1\"}", LOCAL "selector: {x: \"2\"}", false },
        { LOCAL "selector: {x: \"1\"}", "selector: {x: \"1\"}", false },
        { "selector: {x: \"1\"}", LOCAL "selector: {x: \"1\"}", false },
    };
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [192.0.2.1]");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOFREE char *a = text_format("%s, ports: [{port: 80}]", cases[i].a);
        AUTOFREE char *b = text_format("%s, ports: [{port: 443}]", cases[i].b);
        put_service(fx->store, "a", SHARED, a);
        put_service(fx->store, "b", SHARED, b);
        update(fx, NULL);
        assert_all(fx,
                   cases[i].shared ? "a 192.0.2.1; b 192.0.2.1; " : "a 192.0.2.1; b exhausted; ");
        put_service(fx->store, "b", SHARED ", metallb.io/loadBalancerIPs: 192.0.2.1", b);
        update(fx, "b");
        assert_all(fx, cases[i].shared ? "a 192.0.2.1; b 192.0.2.1; "
                                       : "a 192.0.2.1; b other-backends; ");
        go(fx, "b");
        go(fx, "a");
        fx->now_ms += REST;
        update(fx, NULL);
    }
}

/* And the API says the same of it as the fault. */
static void each_lack_has_a_code_of_its_own(void **state)
{
    static const char *const codes[LACK_REASONS] = {
        [LACK_UNREADABLE] = "service-pending-wish-unreadable",
        [LACK_UNKNOWN_POOL] = "service-pending-unknown-pool",
        [LACK_NO_POOL] = "service-pending-no-pool",
        [LACK_EXHAUSTED] = "service-pending-exhausted",
        [LACK_OUTSIDE] = "service-pending-outside-pools",
        [LACK_OTHER_POOL] = "service-pending-other-pool",
        [LACK_FORBIDDEN] = "service-pending-pool-forbidden",
        [LACK_AVOIDED] = "service-pending-avoided",
        [LACK_TAKEN] = "service-pending-taken",
        [LACK_BACKENDS] = "service-pending-other-backends",
        [LACK_OTHER_FAMILY] = "service-pending-other-family",
        [LACK_PARTNER] = "service-pending-partner-missing",
        [LACK_RECORD] = "service-pending-record-unreadable",
    };
    (void)state;
    for (enum lack_reason reason = LACK_UNREADABLE; reason < LACK_REASONS; reason++) {
        struct assignments assignments;
        AUTOFAULTS struct faults faults = { 0 };
        struct assignment row = { .namespace = "d", .name = "web", .lacks[1].reason = reason };
        const struct assignment *added = &row;
        if (reason == LACK_FOREIGN)
            continue;
        assignments_init(&assignments);
        assert_int_equal(sorted_put(&assignments.pending, &added), 0);
        assignment_faults(&assignments, &faults);
        assert_int_equal(faults.list.count, codes[reason] != NULL);
        if (codes[reason]) {
            const struct fault *fault = raised(&faults, codes[reason]);
            assert_string_equal(fault->place, "Service d/web");
            assert_string_equal(strchr(fault->message, ':') + 2, lack_reason_text(reason));
            assert_string_equal(fault->remedy, lack_reason_remedy(reason));
        }
        assignments_done(&assignments);
    }
}

static void assert_uneven(const struct fixture *fx, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    assignment_faults(&fx->assignments, &faults);
    assert_int_equal(faults.list.count, *expected != '\0');
    if (*expected) {
        assert_string_equal(code_of(&faults.list.items[0]), "service-sharing-uneven");
        assert_string_equal(faults.list.items[0].message, expected);
    }
}

/* An upgrade, or a change of policy, takes nobody's address: it is told. */
static void what_is_shared_unevenly_is_kept_and_told(void **state)
{
    static const char told[] =
        "keeps 192.0.2.1, which it shares with Service default/a: with externalTrafficPolicy "
        "Local, Services share an address only if their policies and selectors are equal; nodes "
        "without pods of both may drop or lack what is sent to one of them";
    struct fixture *fx = *state;
    put_pool(fx->store, "lb", "addresses: [192.0.2.1]");
    put_service(fx->store, "a", SHARED, "");
    put_service(fx->store, "b", SHARED, "ports: [{port: 443}]");
    update(fx, NULL);
    assert_uneven(fx, "");
    for (int i = 0; i < 2; i++) {
        const char *changed = i ? "b" : "a";
        put_service(fx->store, changed, SHARED,
                    i ? LOCAL "ports: [{port: 443}]" : LOCAL "ports: [{port: 80}]");
        update(fx, changed);
        assert_all(fx, "a 192.0.2.1; b 192.0.2.1; ");
        assert_uneven(fx, i ? "" : told);
    }
    put_service(fx->store, "b", SHARED, "ports: [{port: 443}]");
    update(fx, "b");
    assert_uneven(fx, told);
    go(fx, "b");
    assert_uneven(fx, "");
}

static void a_pool_edit_that_keeps_them_moves_nothing(void **state)
{
    struct fixture *fx = *state;
    START(fx, "192.0.2.4/30", "a", "b");
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
    assert_string_equal(code_of(&faults.list.items[0]), "pool-overlaps-older");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        IT(the_lowest_free_one_is_given),
        IT(a_freed_address_rests_and_comes_back_to_its_owner),
        IT(the_rest_ends),
        IT(a_clock_that_went_back_prolongs_no_rest),
        IT(rest_gives_way_when_there_is_nothing_else),
        IT(a_freed_address_rests_at_once),
        IT(what_the_status_says_is_held),
        cmocka_unit_test(each_lack_has_a_code_of_its_own),
        cmocka_unit_test(a_status_of_another_assigner_is_left),
        IT(what_becomes_free_is_found_again),
        IT(who_is_absent_may_keep_what_it_has),
        IT(who_names_a_resting_address_gets_it),
        IT(pending_ones_get_what_becomes_free),
        IT(ports_that_part_make_room_for_who_shares),
        IT(a_request_that_is_half_readable_gets_nothing),
        IT(a_request_of_both_families_is_for_who_has_both),
        IT(a_request_of_the_other_family_is_not_replaced),
        IT(policy_local_is_shared_with_one_selector),
        IT(what_is_shared_unevenly_is_kept_and_told),
        IT(a_pool_edit_that_keeps_them_moves_nothing),
        IT(reserved_addresses_are_for_who_names_them),
        IT(a_wide_pool_of_ipv6_is_no_burden),
        IT(overlapping_pools_are_a_fault_and_the_older_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
