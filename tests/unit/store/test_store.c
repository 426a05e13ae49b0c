// SPDX-License-Identifier: Apache-2.0
/* The store: what counts, indexes, changes and conflicts, case by case. */
#include "objects.h"
#include "store/left_out.h"
#include "store/store.h"

static const struct object *get_service(const struct store *store, const char *name)
{
    return store_get(store, KIND_SERVICE, "n", name);
}

/* The services at an address, as "a b c". */
static void assert_services_at(const struct store *store, const char *address, const char *expected)
{
    struct ip ip = address_of(address);
    size_t count;
    char names[256] = "";
    const struct service *const *services = store_services_at(store, &ip, &count);
    for (size_t i = 0; i < count; i++) {
        strcat(names, i ? " " : "");
        strcat(names, services[i]->object.name);
    }
    assert_string_equal(names, expected);
}

static void assert_slices_of(const struct store *store, const char *service, const char *expected)
{
    size_t count;
    char names[256] = "";
    const struct endpoint_slice *const *slices = store_slices_of(store, "n", service, &count);
    for (size_t i = 0; i < count; i++) {
        strcat(names, i ? " " : "");
        strcat(names, slices[i]->object.name);
    }
    assert_string_equal(names, expected);
}

static size_t change_count(struct store *store)
{
    change_list changes;
    assert_int_equal(store_changes(store, &changes), 0);
    size_t count = changes.count;
    vec_done(&changes);
    return count;
}

/* The only change. */
static struct change only_change(struct store *store)
{
    change_list changes;
    assert_int_equal(store_changes(store, &changes), 0);
    assert_int_equal(changes.count, 1);
    struct change change = changes.items[0];
    vec_done(&changes);
    return change;
}

static void puts_gets_and_removes(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    struct object *a = make_service("a", 1, "10.0.0.1");
    assert_null(get_service(store, "a"));
    assert_int_equal(store_put(store, "f", a), 1);
    assert_ptr_equal(get_service(store, "a"), a);
    assert_null(store_get(store, KIND_SERVICE, "m", "a"));
    assert_null(store_get(store, KIND_ENDPOINT_SLICE, "n", "a"));
    assert_int_equal(store_count(store, KIND_SERVICE), 1);
    assert_int_equal(store_count(store, KIND_NODE), 0);

    assert_int_equal(store_remove(store, "g", KIND_SERVICE, "n", "a"), 0);
    assert_int_equal(store_remove(store, "f", KIND_SERVICE, "n", "b"), 0);
    assert_int_equal(store_remove(store, "f", KIND_SERVICE, "n", "a"), 1);
    assert_int_equal(store_remove(store, "f", KIND_SERVICE, "n", "a"), 0);
    assert_null(get_service(store, "a"));
    assert_int_equal(store_count(store, KIND_SERVICE), 0);
}

static void the_first_origin_counts(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    struct object *b = make_service("s", 1, "10.0.0.2"), *a = make_service("s", 1, "10.0.0.1");
    assert_int_equal(store_put(store, "b", b), 1);
    assert_int_equal(store_put(store, "c", make_service("s", 1, "10.0.0.3")), 0);
    assert_ptr_equal(get_service(store, "s"), b);
    assert_int_equal(store_put(store, "a", a), 1);
    assert_ptr_equal(get_service(store, "s"), a);
    assert_int_equal(store_count(store, KIND_SERVICE), 1);
    assert_services_at(store, "10.0.0.1", "s");
    assert_services_at(store, "10.0.0.2", "");

    assert_int_equal(store_remove(store, "b", KIND_SERVICE, "n", "s"), 0);
    assert_int_equal(store_remove(store, "a", KIND_SERVICE, "n", "s"), 1);
    assert_services_at(store, "10.0.0.1", "");
    assert_services_at(store, "10.0.0.3", "s");
    assert_int_equal(store_count(store, KIND_SERVICE), 1);
}

static void an_equal_successor_is_no_change(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    struct object *b = make_service("s", 1, "10.0.0.1");
    store_put(store, "a", make_service("s", 1, "10.0.0.1"));
    store_changes_done(store);
    assert_int_equal(store_put(store, "b", b), 0);
    assert_int_equal(store_remove(store, "a", KIND_SERVICE, "n", "s"), 0);
    assert_ptr_equal(get_service(store, "s"), b);
    assert_services_at(store, "10.0.0.1", "s");
    assert_int_equal(change_count(store), 0);
}

static void an_equal_put_only_moves_the_place(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    store_put(store, "f", make_service("s", 1, "10.0.0.1"));
    store_changes_done(store);
    struct object *again = make_service("s", 1, "10.0.0.1");
    again->line = 77;
    assert_int_equal(store_put(store, "f", again), 0);
    assert_int_equal(get_service(store, "s")->line, 77);
    assert_int_equal(change_count(store), 0);
    struct ip ip = address_of("10.0.0.1");
    size_t count;
    assert_ptr_equal(store_services_at(store, &ip, &count)[0], again);
}

static void assert_services_on(const struct store *store, enum protocol protocol, uint16_t port,
                               const char *expected)
{
    size_t count;
    char names[256] = "";
    const struct service *const *services = store_services_on(store, protocol, port, &count);
    for (size_t i = 0; i < count; i++) {
        strcat(names, i ? " " : "");
        strcat(names, services[i]->object.name);
    }
    assert_string_equal(names, expected);
}

static void services_by_node_port_in_precedence(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    const uint16_t none[] = { 0, 0, 0 }, some[] = { 0, 30053, 30080 }, same[] = { 30080, 0, 30080 };
    store_put(store, "f", with_node_ports(make_service("a", 3, ""), none, 3));
    store_put(store, "f", with_node_ports(make_service("b", 2, ""), some, 3));
    store_put(store, "f", with_node_ports(make_service("c", 1, ""), same, 3));
    assert_services_on(store, PROTOCOL_TCP, 30080, "c b");
    assert_services_on(store, PROTOCOL_UDP, 30080, "");
    assert_services_on(store, PROTOCOL_UDP, 30053, "b");
    assert_services_on(store, PROTOCOL_TCP, 0, "");
    store_put(store, "f", with_node_ports(make_service("c", 1, ""), none, 3));
    assert_services_on(store, PROTOCOL_TCP, 30080, "b");
    store_remove(store, "f", KIND_SERVICE, "n", "b");
    assert_services_on(store, PROTOCOL_TCP, 30080, "");
    assert_services_on(store, PROTOCOL_UDP, 30053, "");
}

static void services_by_address_in_precedence(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    store_put(store, "f", make_service("none", 0, "10.0.0.1"));
    store_put(store, "f", make_service("new", 9, "10.0.0.1 fd00::1"));
    store_put(store, "f", make_service("old", 2, "10.0.0.1 10.0.0.1 10.0.0.1"));
    store_put(store, "f", make_service("also", 9, "10.0.0.1 10.0.0.2"));
    assert_services_at(store, "10.0.0.1", "old also new none");
    assert_services_at(store, "fd00::1", "new");
    assert_services_at(store, "10.0.0.3", "");

    store_put(store, "f", make_service("old", 10, "10.0.0.1"));
    assert_services_at(store, "10.0.0.1", "also new old none");
    store_put(store, "f", make_service("also", 9, "10.0.0.2 10.0.0.3"));
    assert_services_at(store, "10.0.0.1", "new old none");
    store_remove(store, "f", KIND_SERVICE, "n", "new");
    store_remove(store, "f", KIND_SERVICE, "n", "none");
    assert_services_at(store, "10.0.0.1", "old");

    ip_list addresses;
    char text[IP_STRLEN];
    assert_int_equal(store_addresses(store, &addresses), 0);
    assert_int_equal(addresses.count, 3);
    assert_string_equal(ip_str(&addresses.items[0], text), "10.0.0.1");
    assert_string_equal(ip_str(&addresses.items[2], text), "10.0.0.3");
    vec_done(&addresses);
}

static void slices_by_service(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    store_put(store, "f", make_slice("web-b", "web", 1));
    store_put(store, "f", make_slice("web-a", "web", 1));
    store_put(store, "f", make_slice("db-a", "db", 1));
    store_put(store, "f", make_slice("loose", "", 1));
    assert_slices_of(store, "web", "web-a web-b");
    assert_slices_of(store, "db", "db-a");
    assert_slices_of(store, "", "");
    store_put(store, "f", make_slice("web-a", "db", 1));
    assert_slices_of(store, "web", "web-b");
    assert_slices_of(store, "db", "db-a web-a");
    size_t count;
    assert_null(store_slices_of(store, "other", "web", &count));
    assert_int_equal(count, 0);
    char long_name[2000];
    memset(long_name, 'a', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    assert_int_equal(store_put(store, "f", make_slice("far", long_name, 1)), 1);
    assert_slices_of(store, long_name, "");
    assert_int_equal(store_remove(store, "f", KIND_ENDPOINT_SLICE, "n", "far"), 1);
}

static void assert_pods(const struct pod *const *pods, size_t count, const char *expected)
{
    char names[256] = "";
    for (size_t i = 0; i < count; i++) {
        strcat(names, i ? " " : "");
        strcat(names, pods[i]->object.name);
    }
    assert_string_equal(names, expected);
}

static void assert_pods_at(const struct store *store, const char *address, const char *expected)
{
    struct ip ip = address_of(address);
    size_t count;
    const struct pod *const *pods = store_pods_at(store, &ip, &count);
    assert_pods(pods, count, expected);
}

static void assert_pods_of(const struct store *store, const char *egress, const char *expected)
{
    size_t count;
    const struct pod *const *pods = store_pods_of(store, "net", egress, &count);
    assert_pods(pods, count, expected);
}

static void pods_by_address_and_by_egress(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    struct object *host = make_pod("host", 1, "10.0.0.1", "nat");
    struct object *over = make_pod("over", 1, "10.0.0.1", "nat");
    ((struct pod *)host)->host_network = true;
    ((struct pod *)over)->finished = true;
    store_put(store, "f", make_pod("a", 9, "10.0.0.1", "nat"));
    store_put(store, "f", make_pod("b", 5, "10.0.0.1", "nat"));
    store_put(store, "f", make_pod("c", 5, "10.0.0.2", "lab"));
    store_put(store, "f", host);
    store_put(store, "f", over);
    assert_pods_at(store, "10.0.0.1", "b a");
    assert_pods_at(store, "10.0.0.3", "");
    assert_pods_of(store, "nat", "a b");
    assert_pods_of(store, "lab", "c");
    assert_pods_of(store, "", "");
    store_put(store, "f", make_pod("a", 9, "10.0.0.3", "lab"));
    assert_pods_at(store, "10.0.0.1", "b");
    assert_pods_at(store, "10.0.0.3", "a");
    assert_pods_of(store, "nat", "b");
    assert_pods_of(store, "lab", "a c");
    store_put(store, "f", make_pod("over", 1, "10.0.0.1", "nat"));
    assert_pods_at(store, "10.0.0.1", "over b");
}

static void changes_tell_before_and_after(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    struct object *first = make_service("s", 1, "10.0.0.1");
    store_put(store, "f", first);
    struct change change = only_change(store);
    assert_null(change.before);
    assert_ptr_equal(change.after, first);
    store_changes_done(store);
    assert_int_equal(change_count(store), 0);

    store_put(store, "f", make_service("s", 2, "10.0.0.1"));
    struct object *third = make_service("s", 3, "10.0.0.3");
    store_put(store, "f", third);
    change = only_change(store);
    assert_ptr_equal(change.before, first);
    assert_int_equal(to_service(change.before)->address_count, 1); /* still readable */
    assert_ptr_equal(change.after, third);
    store_changes_done(store);

    store_remove(store, "f", KIND_SERVICE, "n", "s");
    change = only_change(store);
    assert_ptr_equal(change.before, third);
    assert_string_equal(change.before->name, "s");
    assert_null(change.after);
    assert_null(get_service(store, "s"));
    store_changes_done(store);
    assert_int_equal(change_count(store), 0);
}

static void there_and_back_is_no_change(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    assert_int_equal(store_put(store, "f", make_service("s", 1, "10.0.0.1")), 1);
    assert_int_equal(store_remove(store, "f", KIND_SERVICE, "n", "s"), 1);
    assert_int_equal(change_count(store), 0);

    store_put(store, "f", make_service("s", 1, "10.0.0.1"));
    store_changes_done(store);
    store_put(store, "f", make_service("s", 1, "10.0.0.2"));
    assert_int_equal(change_count(store), 1);
    assert_int_equal(store_put(store, "f", make_service("s", 1, "10.0.0.1")), 1);
    assert_int_equal(change_count(store), 0);
    store_remove(store, "f", KIND_SERVICE, "n", "s");
    assert_int_equal(change_count(store), 1);
    store_put(store, "g", make_service("s", 1, "10.0.0.1"));
    assert_int_equal(change_count(store), 0);
    assert_services_at(store, "10.0.0.1", "s");
}

static void what_counted_before_survives_its_origin(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    struct object *b = make_service("s", 1, "10.0.0.2");
    store_put(store, "b", b);
    store_changes_done(store);
    store_put(store, "a", make_service("s", 1, "10.0.0.1"));
    store_put(store, "b", make_service("s", 1, "10.0.0.3")); /* not what counts, yet `before` */
    struct change change = only_change(store);
    assert_ptr_equal(change.before, b);
    assert_int_equal(to_service(change.before)->address_count, 1);

    store_put(store, "b", make_service("s", 1, "10.0.0.4"));
    store_remove(store, "b", KIND_SERVICE, "n", "s");
    assert_ptr_equal(only_change(store).before, b);
    /* An equal one comes back to the front: no change, and `before` goes. */
    store_put(store, "a", make_service("s", 1, "10.0.0.2"));
    assert_int_equal(change_count(store), 0);
}

static void changes_and_lists_are_in_order(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    store_put(store, "f", make_node("z", false));
    store_put(store, "f", make_slice("b", "s", 1));
    store_put(store, "f", make_service("c", 1, ""));
    store_put(store, "f", make_service("a", 1, ""));
    store_put(store, "f", make_service("b", 1, ""));
    change_list changes;
    assert_int_equal(store_changes(store, &changes), 0);
    assert_int_equal(changes.count, 5);
    const char *const expected[] = { "a", "b", "c", "b", "z" };
    for (size_t i = 0; i < changes.count; i++)
        assert_string_equal(changes.items[i].after->name, expected[i]);
    vec_done(&changes);

    store_remove(store, "f", KIND_SERVICE, "n", "b");
    object_list list;
    assert_int_equal(store_list(store, KIND_SERVICE, &list), 0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0]->name, "a");
    assert_string_equal(list.items[1]->name, "c");
    vec_done(&list);
}

static void lists_leave_out_what_only_a_change_remembers(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    store_put(store, "f", make_node("a", false));
    store_changes_done(store);
    store_remove(store, "f", KIND_NODE, "", "a");
    object_list list;
    assert_int_equal(store_list(store, KIND_NODE, &list), 0);
    assert_int_equal(list.count, 0);
    vec_done(&list);
    assert_int_equal(store_count(store, KIND_NODE), 0);
}

static struct object *slice_of(const char *name, enum slice_source source)
{
    struct object *slice = make_slice(name, "db", 1);
    ((struct endpoint_slice *)slice)->source = source;
    return slice;
}

/* Slices made of Endpoints count where the Service has no others; those that mirror them say so
 * much themselves. */
static void endpoints_beside_slices_are_left_out(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    AUTOFAULTS struct faults faults = { 0 };
    store_put(store, "f", slice_of("db.endpoints-1-v4", SLICE_ENDPOINTS));
    store_put(store, "f", slice_of("db.endpoints-1-v6", SLICE_ENDPOINTS));
    assert_slices_of(store, "db", "db.endpoints-1-v4 db.endpoints-1-v6");
    store_put(store, "f", slice_of("db-mirror", SLICE_MIRROR));
    assert_slices_of(store, "db", "db-mirror");
    store_left_out_faults(store, &faults);
    assert_true(faults_none(&faults));

    store_put(store, "f", slice_of("db-own", SLICE_OWN));
    assert_slices_of(store, "db", "db-mirror db-own");
    store_left_out_faults(store, &faults);
    assert_int_equal(faults.list.count, 1);
    assert_string_equal(faults.list.items[0].place, "Endpoints n/db");
    assert_string_equal(faults.list.items[0].message,
                        "Endpoints n/db are ignored: the Service has EndpointSlice db-own");
    faults_done(&faults);

    store_remove(store, "f", KIND_ENDPOINT_SLICE, "n", "db-own");
    store_remove(store, "f", KIND_ENDPOINT_SLICE, "n", "db-mirror");
    assert_slices_of(store, "db", "db.endpoints-1-v4 db.endpoints-1-v6");
    store_left_out_faults(store, &faults);
    assert_true(faults_none(&faults));
}

static void conflicts_name_who_counts(void **state)
{
    (void)state;
    CLEANUP(store_freep) struct store *store = store_new();
    AUTOFAULTS struct faults faults = { 0 };
    struct object *a = make_node("n1", false), *b = make_service("s", 1, "10.0.0.1");
    a->file = "a.yaml";
    a->line = 3;
    store_put(store, "a.yaml", a);
    store_put(store, "b.yaml", make_service("s", 1, "10.0.0.1"));
    store_conflicts(store, &faults);
    assert_true(faults_none(&faults));

    store_put(store, "b.yaml", make_node("n1", false));
    store_put(store, "api", make_node("n1", true));
    store_put(store, "api", b);
    store_conflicts(store, &faults);
    assert_int_equal(faults.list.count, 2);
    assert_string_equal(faults.list.items[0].place, "Service n/s");
    assert_string_equal(faults.list.items[0].message,
                        "is there more than once: api counts, b.yaml does not");
    assert_string_equal(faults.list.items[1].place, "Node n1");
    assert_string_equal(faults.list.items[1].message,
                        "is there more than once: a.yaml:3 counts, api, b.yaml do not");
    faults_done(&faults);

    store_remove(store, "a.yaml", KIND_NODE, "", "n1");
    store_remove(store, "b.yaml", KIND_NODE, "", "n1");
    store_remove(store, "b.yaml", KIND_SERVICE, "n", "s");
    store_conflicts(store, &faults);
    assert_true(faults_none(&faults));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_gets_and_removes),
        cmocka_unit_test(the_first_origin_counts),
        cmocka_unit_test(an_equal_successor_is_no_change),
        cmocka_unit_test(an_equal_put_only_moves_the_place),
        cmocka_unit_test(services_by_node_port_in_precedence),
        cmocka_unit_test(services_by_address_in_precedence),
        cmocka_unit_test(slices_by_service),
        cmocka_unit_test(pods_by_address_and_by_egress),
        cmocka_unit_test(changes_tell_before_and_after),
        cmocka_unit_test(there_and_back_is_no_change),
        cmocka_unit_test(what_counted_before_survives_its_origin),
        cmocka_unit_test(changes_and_lists_are_in_order),
        cmocka_unit_test(lists_leave_out_what_only_a_change_remembers),
        cmocka_unit_test(endpoints_beside_slices_are_left_out),
        cmocka_unit_test(conflicts_name_who_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
