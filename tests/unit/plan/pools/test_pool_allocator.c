// SPDX-License-Identifier: Apache-2.0
/*
 * The allocator: which edits of pools are taken over, what it remembers, and that it loses nothing
 * without memory.
 */
#include <errno.h>

#include "assigning.h"
#include "failing_malloc.h"
#include "faults/fault_type.h"
#include "pools/state.h"

struct world {
    struct fixture fx;
    struct pool_allocator allocator;
};

static int begin(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    world->fx.store = store_new();
    world->fx.now_ms = NOW;
    pool_allocator_init(&world->allocator);
    *state = world;
    return 0;
}

static int end(void **state)
{
    struct world *world = *state;
    pool_allocator_done(&world->allocator);
    store_free(world->fx.store);
    free(world);
    return 0;
}

static int run(struct world *world, struct pool_allocator *allocator)
{
    const struct pool_allocator_inputs inputs = { world->fx.store, "", world->fx.now_ms, REST,
                                                  false };
    return pool_allocator_update(allocator, &inputs, NULL, NULL);
}

static void note_all(struct world *world)
{
    AUTOVEC change_list changes = { 0 };
    assert_int_equal(store_changes(world->fx.store, &changes), 0);
    vec_each(const struct change, change, &changes)
        pool_allocator_note(&world->allocator, change);
    store_changes_done(world->fx.store);
}

static void work(struct world *world)
{
    note_all(world);
    assert_int_equal(run(world, &world->allocator), 0);
}

static void assert_given(struct pool_allocator *allocator, const char *expected)
{
    AUTOTEXT struct text text = { 0 };
    add_all(&text, &allocator->assignments);
    assert_string_equal(text_str(&text), expected);
}

static void assert_refused(const struct pool_allocator *allocator, const char *name,
                           const char *who)
{
    assert_int_equal(allocator->pools.refused.count, 1);
    assert_string_equal(allocator->pools.refused.items[0].name, name);
    assert_string_equal(allocator->pools.refused.items[0].who, who);
}

static void an_edit_that_orphans_waits_for_its_services(void **state)
{
    struct world *world = *state;
    struct store *store = world->fx.store;
    put_pool(store, "lb", "addresses: [192.0.2.1-192.0.2.4]");
    put_service(store, "a", "a: b", "");
    put_service(store, "b", "a: b", "");
    work(world);
    put_pool(store, "lb", "addresses: [192.0.2.2-192.0.2.9]");
    work(world);
    assert_refused(&world->allocator, "lb", "default/a");
    put_service(store, "c", "a: b", "");
    work(world);
    assert_given(&world->allocator, "a 192.0.2.1; b 192.0.2.2; c 192.0.2.3; ");
    take_out(store, "a");
    work(world);
    assert_int_equal(world->allocator.pools.refused.count, 0);
    world->fx.now_ms += REST;
    put_service(store, "d", "a: b", "");
    work(world);
    assert_given(&world->allocator, "b 192.0.2.2; c 192.0.2.3; d 192.0.2.4; ");
}

/* The name of the one that only says so comes first: it is the older one. */
static void what_was_given_is_not_a_status_to_take(void **state)
{
    struct world *world = *state;
    struct store *store = world->fx.store;
    AUTOTEXT struct text record = { 0 };
    put_pool(store, "lb", "addresses: [192.0.2.1-192.0.2.4]");
    put_service(store, "web", "a: b", "");
    work(world);
    put_status(store, "late", "loadBalancer: {ingress: [{ip: 192.0.2.1}]}");
    work(world);
    assert_given(&world->allocator, "late 192.0.2.2; web 192.0.2.1; ");
    allocator_state_write(&world->allocator, NULL, NULL, RESTS_MAX, &record);

    /* The same after a restart, in which the manifest is read again, and over everything. */
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    assert_int_equal(
        document_parse(text_str(&record), record.length, "", READER_JSON, &document, &faults), 1);
    pool_allocator_done(&world->allocator);
    pool_allocator_init(&world->allocator);
    assert_int_equal(allocator_state_read(document, &world->allocator, &faults), 0);
    work(world);
    assert_given(&world->allocator, "late 192.0.2.2; web 192.0.2.1; ");
    world->allocator.all = true;
    work(world);
    assert_given(&world->allocator, "late 192.0.2.2; web 192.0.2.1; ");

    /* It moves as soon as who has it names another, in one edit. */
    put_status(store, "late", "loadBalancer: {ingress: [{ip: 192.0.2.1}]}, conditions: []");
    put_status(store, "web", "loadBalancer: {ingress: [{ip: 192.0.2.3}]}");
    note_all(world);
    world->allocator.all = true;
    work(world);
    assert_given(&world->allocator, "late 192.0.2.1; web 192.0.2.3; (192.0.2.2 late) ");
}

static void a_range_may_move_between_pools(void **state)
{
    struct world *world = *state;
    struct store *store = world->fx.store;
    put_pool(store, "one", "addresses: [192.0.2.1]");
    put_pool(store, "two", "addresses: [198.51.100.1]");
    put_service(store, "a", "a: b", "");
    work(world);
    put_pool(store, "one", "addresses: [203.0.113.1]");
    put_pool(store, "two", "addresses: [192.0.2.1]");
    work(world);
    assert_int_equal(world->allocator.pools.refused.count, 0);
    assert_given(&world->allocator, "a 192.0.2.1; ");
}

/* The pool in force under a name, and that it is there once. */
static const struct pool *only_pool(const struct pool_allocator *allocator, const char *name)
{
    const struct pool *found = NULL;
    vec_each(const struct pool, pool, &allocator->table.pools) {
        if (strcmp(pool->object->object.name, name) != 0)
            continue;
        assert_null(found);
        found = pool;
    }
    assert_non_null(found);
    assert_ptr_equal(pool_allocator_find(allocator, &found->object->object), found);
    return found;
}

/* In one update, by one of a later and one of an earlier name. */
static void a_pool_may_be_renamed(void **state)
{
    struct world *world = *state;
    struct store *store = world->fx.store;
    static const char *const names[] = { "b", "c", "a", "d" };
    put_service(store, "web", "a: b", "");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        AUTOFAULTS struct faults faults = { 0 };
        struct pool_use use;
        if (i)
            assert_true(store_remove(store, "test", KIND_IP_POOL, "lb", names[i - 1]) >= 0);
        put_pool(store, names[i], "addresses: [192.0.2.0/29]");
        work(world);
        pool_allocator_faults(&world->allocator, &faults);
        assert_int_equal(faults.list.count, 0);
        assert_int_equal(world->allocator.table.pools.count, 1);
        assert_int_equal(pool_use_count(&world->allocator.assignments, &world->allocator.table,
                                        only_pool(&world->allocator, names[i]), &use),
                         0);
        assert_int_equal(use.used[0], 1);
        assert_int_equal(use.free[0], 7);
        assert_given(&world->allocator, "web 192.0.2.0; ");
    }
}

/* As MetalLB counts: two of a /24, one of the half of one that starts or ends it. */
static void what_a_pool_avoids_is_not_available(void **state)
{
    static const struct {
        const char *addresses;
        unsigned free;
    } pools[] = {
        { "192.0.2.0/24, 192.0.3.0/25", 381 },
        { "192.0.2.0/23", 508 },
        { "192.0.2.128/25", 127 },
        { "192.0.2.64/26", 64 },
        { "192.0.2.255/32", 0 },
        { "192.0.2.254-192.0.3.1", 2 },
        { "10.0.0.0/8", 16646144 },
        { "2001:db8::/120", 0 },
    };
    struct world *world = *state;
    for (size_t i = 0; i < ARRAY_SIZE(pools); i++) {
        AUTOFREE char *spec =
            text_format("addresses: [%s], avoidBuggyIPs: true", pools[i].addresses);
        struct pool_use use;
        put_pool(world->fx.store, "lb", spec);
        work(world);
        assert_int_equal(pool_use_count(&world->allocator.assignments, &world->allocator.table,
                                        only_pool(&world->allocator, "lb"), &use),
                         0);
        assert_int_equal(use.free[0], pools[i].free);
        assert_int_equal(use.size[0], pools[i].free);
    }
}

/* Who has one of them was given it before the pool avoided them. */
static void what_is_avoided_and_in_use_is_counted_once(void **state)
{
    struct world *world = *state;
    struct pool_use use;
    put(world->fx.store,
        "{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: lb, namespace: lb, "
        "annotations: {fingerpost.io/reserved: 192.0.2.250-192.0.2.255}}, "
        "spec: {addresses: [192.0.2.0/24], avoidBuggyIPs: true}}");
    put_service(world->fx.store, "a", "a: b",
                "ports: [{port: 80}]}, status: {loadBalancer: {ingress: [{ip: 192.0.2.255}]}");
    put_service(world->fx.store, "b", "a: b", "");
    work(world);
    assert_given(&world->allocator, "a 192.0.2.255; b 192.0.2.1; ");
    assert_int_equal(pool_use_count(&world->allocator.assignments, &world->allocator.table,
                                    only_pool(&world->allocator, "lb"), &use),
                     0);
    assert_int_equal(use.used[0], 2);
    assert_int_equal(use.reserved[0], 5);
    assert_int_equal(use.free[0], 248);
    assert_int_equal(use.size[0], 255);
    take_out(world->fx.store, "a");
    work(world);
    assert_int_equal(pool_use_count(&world->allocator.assignments, &world->allocator.table,
                                    only_pool(&world->allocator, "lb"), &use),
                     0);
    assert_int_equal(use.resting[0], 1);
    assert_int_equal(use.free[0], 248);
}

static void of_several_edits_the_harmless_ones_pass(void **state)
{
    struct world *world = *state;
    struct store *store = world->fx.store;
    put_pool(store, "one", "addresses: [192.0.2.1]");
    put_service(store, "a", "a: b", "");
    work(world);
    assert_true(store_remove(store, "test", KIND_IP_POOL, "lb", "one") >= 0);
    put_pool(store, "two", "addresses: [198.51.100.1]");
    put_service(store, "b", "a: b", "");
    work(world);
    assert_refused(&world->allocator, "one", "default/a");
    assert_true(world->allocator.pools.refused.items[0].removal);
    assert_given(&world->allocator, "a 192.0.2.1; b 198.51.100.1; ");
}

static void what_a_service_gives_up_is_no_edits_fault(void **state)
{
    struct world *world = *state;
    struct store *store = world->fx.store;
    put_pool(store, "one", "addresses: [192.0.2.1]");
    put_pool(store, "two", "addresses: [198.51.100.1]");
    put_service(store, "a", "a: b", "");
    work(world);
    put_service(store, "a", "metallb.io/address-pool: two", "");
    put_pool(store, "one", "addresses: [192.0.2.9]");
    work(world);
    assert_int_equal(world->allocator.pools.refused.count, 0);
    assert_given(&world->allocator, "a 198.51.100.1; (192.0.2.1 a) ");
}

/* An allocator that begins with what another one remembered. */
static void what_is_remembered_is_as_it_was(void **state)
{
    struct world *world = *state;
    struct store *store = world->fx.store;
    put_pool(store, "lb", "addresses: [192.0.2.1-192.0.2.4]");
    put_service(store, "a", "a: b", "");
    put_service(store, "b", "a: b", "");
    work(world);
    take_out(store, "a");
    put_pool(store, "lb", "addresses: [192.0.2.4]");
    work(world);

    CLEANUP(document_freep) struct document *document = NULL;
    CLEANUP(pool_allocator_done) struct pool_allocator other;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text text = { 0 };
    pool_allocator_init(&other);
    allocator_state_write(&world->allocator, NULL, NULL, RESTS_MAX, &text);
    assert_int_equal(text_error(&text), 0);
    assert_int_equal(
        document_parse(text_str(&text), text.length, "s", READER_JSON, &document, &faults), 1);
    assert_int_equal(allocator_state_read(document, &other, &faults), 0);
    assert_int_equal(run(world, &other), 0);
    assert_given(&other, "b 192.0.2.2; (192.0.2.1 a) ");
    assert_refused(&other, "lb", "default/b");
}

static void a_broken_memory_is_a_fault(void **state)
{
    static const struct {
        const char *code, *text;
    } broken[] = {
        { "document-member-missing", "{\"services\":[{\"namespace\":\"a\"}]}" },
        { "document-value-unexpected",
          "{\"services\":[{\"namespace\":\"a\",\"name\":\"b\",\"addresses\":[\"x\"]}]}" },
        { "document-number-out-of-range",
          "{\"resting\":[{\"namespace\":\"a\",\"name\":\"b\",\"address\":\"192.0.2.1\",\"freedMs\":-1}]}" },
        { "object-field-missing", "{\"pools\":[\"{}\"]}" },
        { "document-value-unexpected", "{\"pools\":[\"\"]}" },
        { "document-value-unexpected", "{\"pools\":[[]]}" },
        { "pool-record-version-unknown", "{\"version\":9}" },
        { "document-value-unexpected", "{\"version\":\"x\"}" },
        { "document-value-unexpected", "[]" },
    };
    struct world *world = *state;
    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        CLEANUP(document_freep) struct document *document = NULL;
        AUTOFAULTS struct faults faults = { 0 };
        assert_int_equal(document_parse(broken[i].text, strlen(broken[i].text), "s", READER_JSON,
                                        &document, &faults),
                         1);
        assert_int_equal(allocator_state_read(document, &world->allocator, &faults), -EBADMSG);
        assert_true(faults.list.count > 0);
        assert_non_null(faults.list.items[0].type);
        assert_string_equal(faults.list.items[0].type->code, broken[i].code);
    }
}

static void without_memory_nothing_is_lost(void **state)
{
    struct world *world = *state;
    struct store *store = world->fx.store;
    unsigned failures = 0;
    put_pool(store, "lb", "addresses: [192.0.2.1-192.0.2.4]");
    put_service(store, "a", "a: b", "");
    work(world);
    put_pool(store, "lb", "addresses: [192.0.2.2-192.0.2.4]");
    put_pool(store, "more", "addresses: [198.51.100.1]");
    put_service(store, "b", "metallb.io/address-pool: more", "");
    note_all(world);
    for (int n = 0;; n++) {
        allocations = 0;
        allocations_left = n;
        int r = run(world, &world->allocator);
        allocations_left = -1;
        if (allocations <= (unsigned)n) {
            assert_int_equal(r, 0);
            break;
        }
        assert_int_equal(assignment_of(&world->allocator.assignments, "default", "a")->ips.count,
                         1);
        failures++;
    }
    assert_true(failures > 20);
    assert_int_equal(run(world, &world->allocator), 0);
    assert_given(&world->allocator, "a 192.0.2.1; b 198.51.100.1; ");
    assert_refused(&world->allocator, "lb", "default/a");
}

#define WITH_ALLOCATOR(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ALLOCATOR(an_edit_that_orphans_waits_for_its_services),
        WITH_ALLOCATOR(a_range_may_move_between_pools),
        WITH_ALLOCATOR(what_was_given_is_not_a_status_to_take),
        WITH_ALLOCATOR(a_pool_may_be_renamed),
        WITH_ALLOCATOR(what_a_pool_avoids_is_not_available),
        WITH_ALLOCATOR(what_is_avoided_and_in_use_is_counted_once),
        WITH_ALLOCATOR(of_several_edits_the_harmless_ones_pass),
        WITH_ALLOCATOR(what_a_service_gives_up_is_no_edits_fault),
        WITH_ALLOCATOR(what_is_remembered_is_as_it_was),
        WITH_ALLOCATOR(a_broken_memory_is_a_fault),
        WITH_ALLOCATOR(without_memory_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
