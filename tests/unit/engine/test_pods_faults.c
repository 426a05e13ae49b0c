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
#include "fault_codes.h"
#include "faults/pods.h"
#include "status/fault_book.h"
#include "status/status.h"

const struct sorted *__wrap_kernel_rules(const struct kernel *kernel);
int __wrap_kernel_apply_rules(struct kernel *kernel, const struct rule_op *ops, size_t count,
                              struct op_result *results);

static struct sorted no_rules = SORTED(struct rule, rule_cmp);

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
    pod_addresses_init(&world->pods.addresses);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    pod_addresses_done(&world->pods.addresses);
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
    assert_ptr_equal(faults.list.items[0].type, &fault_type_pod_rule_refused);
    assert_string_equal(faults.list.items[0].message,
                        "this rule, which leads to pods, cannot be written: Operation not "
                        "permitted: table is locked");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rule, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
