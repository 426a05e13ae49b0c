// SPDX-License-Identifier: Apache-2.0
/* The store when memory runs out: each operation happens whole or not at all. */
#include <errno.h>

#include "base/macro.h"
#include "base/text.h"
#include "failing_malloc.h"
#include "objects.h"
#include "store/store.h"

/* All that a caller can see, as text. */
static char *describe(struct store *store)
{
    static const char *const addresses[] = { "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4" };
    struct text text = { 0 };
    object_list list;
    assert_int_equal(store_list(store, KIND_SERVICE, &list), 0);
    for (size_t i = 0; i < list.count; i++) {
        const struct service *service = to_service(list.items[i]);
        text_addf(&text, "%s created %d with %u\n", service->object.name,
                  (int)service->object.created_ms, service->address_count);
    }
    vec_done(&list);
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
        struct ip ip = address_of(addresses[i]);
        size_t count;
        const struct service *const *services = store_services_at(store, &ip, &count);
        text_add(&text, addresses[i]);
        for (size_t j = 0; j < count; j++)
            text_addf(&text, " %s", services[j]->object.name);
        text_add(&text, "\n");
    }
    size_t slices, on_port;
    (void)store_services_on(store, PROTOCOL_TCP, 30080, &on_port);
    (void)store_slices_of(store, "n", "web", &slices);
    change_list changes;
    assert_int_equal(store_changes(store, &changes), 0);
    ip_list known;
    assert_int_equal(store_addresses(store, &known), 0);
    text_addf(&text, "%zu slices, %zu on the port, %zu changes, %zu addresses, %zu services\n",
              slices, on_port, changes.count, known.count, store_count(store, KIND_SERVICE));
    vec_done(&changes);
    vec_done(&known);
    return text_take(&text);
}

static struct store *sample_store(void)
{
    struct store *store = store_new();
    store_put(store, "b", make_service("a", 3, "10.0.0.1 10.0.0.2"));
    store_put(store, "b", make_service("b", 2, "10.0.0.1"));
    store_put(store, "c", make_service("a", 4, "10.0.0.2 10.0.0.3 10.0.0.4"));
    store_put(store, "b", make_slice("web-1", "web", 1));
    store_changes_done(store);
    store_put(store, "b", make_service("c", 1, "10.0.0.3"));
    return store;
}

/* Only the store's own allocations fail: objects are made before. */
static int put(struct store *store, const char *origin, struct object *object, int successes)
{
    allocations_left = successes;
    int r = store_put(store, origin, object);
    allocations_left = -1;
    return r;
}

static int take_out(struct store *store, const char *name, int successes)
{
    allocations_left = successes;
    int r = store_remove(store, "b", KIND_SERVICE, "n", name);
    allocations_left = -1;
    return r;
}

static int put_new(struct store *store, int successes)
{
    struct object *object = make_service("d", 5, "10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4");
    return put(store, "b", object, successes);
}

static int put_over(struct store *store, int successes)
{
    struct object *object = make_service("a", 3, "10.0.0.1 10.0.0.3 10.0.0.4 fd00::1 fd00::2");
    return put(store, "b", object, successes);
}

static int put_before(struct store *store, int successes)
{
    return put(store, "a", make_service("a", 9, "10.0.0.1 10.0.0.3 10.0.0.4"), successes);
}

static int put_behind(struct store *store, int successes)
{
    return put(store, "d", make_service("a", 9, "10.0.0.1"), successes);
}

static int put_node_port(struct store *store, int successes)
{
    const uint16_t node_port = 30080;
    struct object *object = make_service("d", 5, "10.0.0.4 10.0.0.5");
    return put(store, "b", with_node_ports(object, &node_port, 1), successes);
}

static int put_slice(struct store *store, int successes)
{
    return put(store, "b", make_slice("web-2", "web", 1), successes);
}

static int put_node(struct store *store, int successes)
{
    return put(store, "b", make_node("n1", false), successes);
}

static int remove_first(struct store *store, int successes)
{
    return take_out(store, "a", successes);
}

static int remove_only(struct store *store, int successes)
{
    return take_out(store, "b", successes);
}

static void whole_or_not_at_all(void **state)
{
    (void)state;
    static const struct {
        int (*operation)(struct store *store, int successes);
        int result, least_failures;
    } cases[] = {
        { put_new, 1, 4 },    { put_over, 1, 3 },      { put_before, 1, 2 },
        { put_behind, 0, 1 }, { put_node_port, 1, 5 }, { put_slice, 1, 3 },
        { put_node, 1, 3 },   { remove_first, 1, 1 },  { remove_only, 1, 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int failures = 0;
        for (int n = 0;; n++) {
            CLEANUP(store_freep) struct store *store = sample_store();
            AUTOFREE char *before = describe(store);
            int r = cases[i].operation(store, n);
            AUTOFREE char *after = describe(store);
            if (r >= 0) {
                assert_int_equal(r, cases[i].result);
                break;
            }
            failures++;
            assert_int_equal(r, -ENOMEM);
            assert_string_equal(after, before);
        }
        assert_true(failures >= cases[i].least_failures);
    }
}

static void readers_lose_nothing(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = sample_store();
    AUTOFREE char *before = describe(store);
    object_list objects;
    ip_list addresses;
    change_list changes;
    AUTOFAULTS struct faults faults = { 0 };
    allocations_left = 0;
    int list = store_list(store, KIND_SERVICE, &objects);
    int known = store_addresses(store, &addresses);
    int changed = store_changes(store, &changes);
    store_conflicts(store, &faults);
    allocations_left = -1;
    assert_int_equal(list, -ENOMEM);
    assert_int_equal(known, -ENOMEM);
    assert_int_equal(changed, -ENOMEM);
    assert_false(faults_none(&faults));
    AUTOFREE char *after = describe(store);
    assert_string_equal(after, before);
}

/* A store with a change of each sort that nobody has looked at: new, different, gone. */
static struct store *changed_store(void)
{
    struct store *store = store_new();
    store_put(store, "b", make_service("different", 1, "10.0.0.1"));
    store_put(store, "b", make_service("gone", 2, "10.0.0.2"));
    store_changes_done(store);
    store_put(store, "b", make_service("different", 1, "10.0.0.3"));
    store_put(store, "b", make_service("new", 3, "10.0.0.4"));
    store_remove(store, "b", KIND_SERVICE, "n", "gone");
    return store;
}

/* Fails for want of memory, as a pass may. */
static void fail_to_read(struct store *store)
{
    change_list changes;
    allocations_left = 0;
    int r = store_changes(store, &changes);
    allocations_left = -1;
    assert_int_equal(r, -ENOMEM);
}

static void changes_that_could_not_be_read_come_again(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = changed_store();
    fail_to_read(store);
    store_put(store, "b", make_service("newer", 4, "10.0.0.5"));
    AUTOVEC change_list changes = { 0 };
    assert_int_equal(store_changes(store, &changes), 0);
    assert_int_equal(changes.count, 4);
    assert_string_equal(changes.items[0].before->name, "different");
    assert_null(changes.items[1].after);
    assert_string_equal(changes.items[1].before->name, "gone");
    assert_string_equal(changes.items[2].after->name, "new");
    assert_string_equal(changes.items[3].after->name, "newer");
}

/* A pass that failed forgets the changes, and the next one goes over everything. */
static void changes_may_be_forgotten_unread(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = changed_store();
    fail_to_read(store);
    store_changes_done(store);

    AUTOVEC object_list services = { 0 };
    assert_int_equal(store_list(store, KIND_SERVICE, &services), 0);
    assert_int_equal(services.count, 2);
    assert_string_equal(services.items[0]->name, "different");
    assert_string_equal(services.items[1]->name, "new");
    AUTOVEC ip_list known = { 0 };
    assert_int_equal(store_addresses(store, &known), 0);
    assert_int_equal(known.count, 2);
    struct ip third = address_of("10.0.0.3"), fourth = address_of("10.0.0.4");
    assert_true(ip_equal(&known.items[0], &third) && ip_equal(&known.items[1], &fourth));

    /* What comes later is told against what was forgotten, not against what was read last. */
    store_put(store, "b", make_service("different", 1, "10.0.0.1"));
    AUTOVEC change_list changes = { 0 };
    assert_int_equal(store_changes(store, &changes), 0);
    assert_int_equal(changes.count, 1);
    assert_true(ip_equal(&to_service(changes.items[0].before)->addresses[0].ip, &third));
}

static void a_store_needs_memory(void **state)
{
    (void)state;
    allocations_left = 0;
    struct store *store = store_new();
    allocations_left = -1;
    assert_null(store);
    store_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_or_not_at_all),
        cmocka_unit_test(readers_lose_nothing),
        cmocka_unit_test(changes_that_could_not_be_read_come_again),
        cmocka_unit_test(changes_may_be_forgotten_unread),
        cmocka_unit_test(a_store_needs_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
