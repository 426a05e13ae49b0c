// SPDX-License-Identifier: Apache-2.0
/* Faults of the pods engine for which no link is needed: its file, pools without a free address,
 * the rule of its table. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmocka_all.h"
#include "engine/pods/pods_state.h"
#include "raised.h"
#include "status/fault_book.h"
#include "status/status.h"

const struct sorted *__wrap_kernel_rules(const struct kernel *kernel);
const struct sorted *__wrap_kernel_paths(const struct kernel *kernel);
const struct sorted *__wrap_kernel_links(const struct kernel *kernel);
const struct sorted *__wrap_kernel_routes(const struct kernel *kernel);
const struct sorted *__wrap_kernel_local_prefixes(const struct kernel *kernel);
const struct sorted *__wrap_kernel_link_addresses(const struct kernel *kernel);
int __wrap_kernel_apply_routes(struct kernel *kernel, const struct route_op *ops, size_t count,
                               struct op_result *results);
int __wrap_setting_read(const char *key, long *ret_value);
int __wrap_kernel_apply_rules(struct kernel *kernel, const struct rule_op *ops, size_t count,
                              struct op_result *results);

static struct sorted no_rules = SORTED(struct rule, rule_cmp);
static struct sorted nothing = SORTED(struct prefix, prefix_item_cmp);
static struct sorted links = SORTED(struct link, link_cmp);
static struct sorted routes = SORTED(struct route, route_cmp);
static int route_error;

const struct sorted *__wrap_kernel_paths(const struct kernel *kernel)
{
    (void)kernel;
    return &nothing;
}

const struct sorted *__wrap_kernel_links(const struct kernel *kernel)
{
    (void)kernel;
    return &links;
}

const struct sorted *__wrap_kernel_routes(const struct kernel *kernel)
{
    (void)kernel;
    return &routes;
}

const struct sorted *__wrap_kernel_local_prefixes(const struct kernel *kernel)
{
    (void)kernel;
    return &nothing;
}

const struct sorted *__wrap_kernel_link_addresses(const struct kernel *kernel)
{
    (void)kernel;
    return &nothing;
}

int __wrap_kernel_apply_routes(struct kernel *kernel, const struct route_op *ops, size_t count,
                               struct op_result *results)
{
    (void)kernel, (void)ops;
    for (size_t i = 0; i < count; i++)
        results[i].error = route_error;
    return 0;
}

/* Nobody wants any of them so. */
int __wrap_setting_read(const char *key, long *ret_value)
{
    (void)key;
    *ret_value = 7;
    return 0;
}

const struct sorted *__wrap_kernel_rules(const struct kernel *kernel)
{
    (void)kernel;
    return &no_rules;
}

/* The kernel refuses all of them, with words for the first. */
int __wrap_kernel_apply_rules(struct kernel *kernel, const struct rule_op *ops, size_t count,
                              struct op_result *results)
{
    (void)kernel, (void)ops, (void)count;
    results[0].error = -EPERM;
    (void)snprintf(results[0].text, sizeof(results[0].text), "table is locked");
    return 0;
}

struct world {
    struct config config;
    struct status status;
    struct pods_engine pods;
    char folder[32];
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    (void)snprintf(world->folder, sizeof(world->folder), "/tmp/fingerpost-pods-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    world->status.faults = fault_book_new();
    world->config.node = "node1";
    world->config.pods.table = ROUTE_TABLE_COIL;
    world->pods.setup.config = &world->config;
    world->pods.setup.status = &world->status;
    world->pods.path = world->folder;
    world->pods.setup.store = store_new();
    world->pods.attachments = (struct sorted)SORTED(struct pod_attachment, pod_interface_cmp);
    world->pods.drifts = (struct sorted)SORTED(struct pod_drift, pod_drift_cmp);
    world->pods.retry = (struct backoff){ .initial_ms = 100, .max_ms = 1000 };
    pod_addresses_init(&world->pods.addresses);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    pod_addresses_done(&world->pods.addresses);
    pods_settings_done(&world->pods);
    sorted_done(&world->pods.attachments);
    store_free(world->pods.setup.store);
    sorted_done(&links);
    sorted_done(&routes);
    links = (struct sorted)SORTED(struct link, link_cmp);
    routes = (struct sorted)SORTED(struct route, route_cmp);
    vec_done(&world->pods.waits);
    fault_book_free(world->status.faults);
    rmdir(world->folder);
    free(world);
    return 0;
}

static void expect(const struct world *world, const char *code, const char *place,
                   const char *message)
{
    assert_int_equal(fault_book_count(world->status.faults), 1);
    const struct known_fault *fault = fault_book_at(world->status.faults, 0);
    assert_string_equal(known_fault_code(fault), code);
    assert_string_equal(fault->place, place);
    assert_string_equal(fault->message, message);
}

/* A folder is in the file's place. */
static void test_memory(void **state)
{
    struct world *world = *state;
    assert_int_equal(pods_memory_load(&world->pods), 0);
    expect(world, "pod-memory-unreadable", world->folder,
           "cannot be read: Is a directory; freed addresses may be given again at once");
    pods_memory_save(&world->pods);
    expect(world, "pod-memory-unwritable", world->folder,
           "cannot be written: Is a directory; after a restart, freed addresses may be given at "
           "once");
    char temporary[64];
    (void)snprintf(temporary, sizeof(temporary), "%s.new", world->folder);
    unlink(temporary);
}

static void test_no_address(void **state)
{
    struct world *world = *state;
    const struct pod_wait wait = { .pool = "default", .since_ms = 1000, .asked_ms = 1000 };
    assert_int_equal(vec_push(&world->pods.waits, wait), 0);
    assert_int_equal(pods_follow_waits(&world->pods, 1100), 0);
    assert_int_equal(fault_book_count(world->status.faults), 0);
    assert_int_equal(pods_follow_waits(&world->pods, 2000), 0);
    expect(world, "pod-no-free-address", "pool default",
           "a pod waits for an address: none is free in the blocks that node node1 has of it");
}

static void test_rule(void **state)
{
    struct world *world = *state;
    struct round round = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    assert_int_equal(pods_follow_rule(&world->pods, &round, &faults), 0);
    assert_int_equal(faults.list.count, 2); /* of both families */
    assert_string_equal(code_of(&faults.list.items[0]), "pod-rule-refused");
    assert_string_equal(faults.list.items[0].message,
                        "this rule, which leads to pods, cannot be written: Operation not "
                        "permitted: table is locked");
}

/* An interface of container c1, c2, ... whose pod has the address 10.0.0.N, if N is not 0. */
static struct pod_interface put_end(uint32_t ifindex, uint8_t n)
{
    struct pod_interface pod_interface;
    struct link link = { .ifindex = ifindex, .mtu = 1500, .up = true };
    char container[16];
    (void)snprintf(container, sizeof(container), "c%u", ifindex);
    (void)snprintf(link.name, sizeof(link.name), "veth%u", ifindex);
    assert_int_equal(pod_interface_name(container, "eth0", "default", &pod_interface), 0);
    assert_int_equal(pod_interface_alias(&pod_interface, link.alias), 0);
    assert_int_equal(sorted_put(&links, &link), 0);
    if (n)
        pod_interface.v4 = (struct ip){ .family = IP_V4, .bytes = { 10, 0, 0, n } };
    return pod_interface;
}

static void put_attachment(struct world *world, uint32_t ifindex, uint8_t n, bool both)
{
    struct pod_attachment attachment = {
        .ifindex = ifindex, .pod_interface = put_end(ifindex, n), .namespace = "shop", .wired = true
    };
    (void)snprintf(attachment.name, sizeof(attachment.name), "web-%u", ifindex);
    if (both)
        attachment.pod_interface.v6 = (struct ip){ .family = IP_V6, .bytes = { 0xfd, [15] = n } };
    assert_int_equal(sorted_put(&world->pods.attachments, &attachment), 0);
    if (n)
        assert_int_equal(pod_addresses_put(&world->pods.addresses, &attachment.pod_interface), 0);
}

static const struct known_fault *told(const struct world *world, const char *code)
{
    for (size_t i = 0; i < fault_book_count(world->status.faults); i++) {
        const struct known_fault *fault = fault_book_at(world->status.faults, i);
        if (strcmp(known_fault_code(fault), code) == 0)
            return fault;
    }
    fail_msg("no fault %s", code);
    return NULL;
}

static void follow(struct world *world)
{
    struct round round = { .now_ms = 3600 * SECOND_MS };
    world->config.pods.table = ROUTE_TABLE_COIL + 1; /* no rule is needed */
    assert_int_equal(pods_follow(&world->pods, &round), 0);
}

static void test_routes(void **state)
{
    struct world *world = *state;
    put_attachment(world, 1, 1, false);
    route_error = -EEXIST;
    follow(world);
    assert_string_equal(told(world, "pod-route-occupied")->remedy, "delete the other route");
    route_error = -EPERM;
    follow(world);
    assert_string_equal(told(world, "pod-route-refused")->message,
                        "this route of a pod cannot be written: Operation not permitted");
    assert_string_equal(told(world, "pod-address-outside-blocks")->place, "Pod shop/web-1");
}

static void test_addresses(void **state)
{
    struct world *world = *state;
    route_error = 0;
    put_attachment(world, 1, 1, false);
    put_attachment(world, 2, 0, false);
    const struct pod_interface same = put_end(3, 1);
    const struct route route = plan_pod_route(ROUTE_TABLE_COIL, &same.v4, 3);
    assert_int_equal(sorted_put(&routes, &route), 0);
    follow(world);
    assert_string_equal(told(world, "pod-without-address")->place, "Pod shop/web-2");
    char text[POD_INTERFACE_STRLEN];
    assert_string_equal(told(world, "pod-address-shared")->place, pod_interface_str(&same, text));
}

static void test_unplugged(void **state)
{
    struct world *world = *state;
    AUTOFAULTS struct faults early = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    put_attachment(world, 1, 1, false);
    ((struct link *)sorted_at(&links, 0))->unplugged = true;
    pods_tell_ends(&world->pods, 1000, &early);
    assert_true(faults_none(&early));
    pods_tell_ends(&world->pods, 1000 + POD_DOWN_GRACE_MS, &faults);
    assert_only_raised(&faults, "pod-end-unplugged", "Pod shop/web-1",
                       "is cut off: its own end of veth1 is down, so that what is sent there is "
                       "lost");
}

/* Two of the node, and two of each interface: what the node does not forward, none of them does. */
static void test_many_settings(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 1; i <= 10; i++)
        put_attachment(world, i, (uint8_t)i, true);
    world->pods.settings_due_ms = 0;
    assert_int_equal(pods_follow_settings(&world->pods, 1000), 0);
    assert_string_equal(told(world, "pod-settings-more")->message,
                        "6 more differ from what agent-cni wrote");
    assert_int_equal(fault_book_count(world->status.faults), 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rule, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_routes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_addresses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unplugged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_settings, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
