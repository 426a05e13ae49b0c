// SPDX-License-Identifier: Apache-2.0
/*
 * What the state folder says of addresses that were given, or served before the first pool:
 * damaged, gone, or not to be written. Linked with --wrap for what writes a file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../plan/planning.h"
#include "base/files/file.h"
#include "base/ours.h"
#include "cmocka_all.h"
#include "plan/routes/route_table.h"
#include "pools/outside.h"
#include "pools/pool_keeper.h"

static int write_error; /* 0: files are written */
static unsigned writes;

int __real_file_write_atomic(const char *path, const char *content, size_t size);
int __wrap_file_write_atomic(const char *path, const char *content, size_t size);
int __wrap_file_write_atomic(const char *path, const char *content, size_t size)
{
    writes++;
    return write_error ? write_error : __real_file_write_atomic(path, content, size);
}

struct fixture {
    struct planning planning;
    struct status status;
    struct sorted routes; /* of the kernel */
    char folder[40];
    struct pool_keeper *pools;
    struct outside_keeper *outside;
};

/* Nothing is known of an address, as without NAT's maps. */
static int no_owner(void *context, const struct ip *ip,
                    int (*each)(const char *namespace, const char *name, void *with), void *with)
{
    (void)context, (void)ip, (void)each, (void)with;
    return -ENODATA;
}

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    planning_begin(&fx->planning);
    strcpy(fx->folder, "/tmp/test_records.XXXXXX");
    assert_non_null(mkdtemp(fx->folder));
    free(fx->planning.config->paths.state);
    fx->planning.config->paths.state = strdup(fx->folder);
    fx->status.faults = fault_book_new();
    fx->status.source.synced = true;
    fx->routes = (struct sorted)SORTED(struct route, route_cmp);
    write_error = 0;
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;
    AUTOFREE char *command = text_format("rm -r %s", fx->folder);
    pool_keeper_free(fx->pools);
    outside_keeper_free(fx->outside);
    fault_book_free(fx->status.faults);
    sorted_done(&fx->routes);
    planning_done(&fx->planning);
    assert_int_equal(system(command), 0);
    free(fx);
    return 0;
}

static void put_pool(struct fixture *fx)
{
    put(&fx->planning, "{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: "
                       "{name: lb, namespace: lb}, spec: {addresses: [203.0.113.0/24]}}");
}

/* `ingress`: an address of its status, or NULL. */
static void put_balanced(struct fixture *fx, const char *name, const char *ingress)
{
    AUTOFREE char *status = ingress ? text_format("{ip: %s}", ingress) : strdup("");
    put_service(&fx->planning, name, "", "", status);
}

static void write_record(const struct fixture *fx, const char *name, const char *content)
{
    AUTOFREE char *path = text_format("%s/%s", fx->folder, name);
    assert_int_equal(__real_file_write_atomic(path, content, strlen(content)), 0);
}

/* As an agent that starts. */
static void start_pools(struct fixture *fx)
{
    const struct pool_keeper_options options = {
        .config = fx->planning.config,
        .store = fx->planning.store,
        .status = &fx->status,
        .routes = &fx->routes,
        .each_owner = no_owner,
    };
    pool_keeper_free(fx->pools);
    fx->pools = NULL;
    assert_int_equal(pool_keeper_new(&options, &fx->pools), 0);
    assert_int_equal(pool_keeper_run(fx->pools), 0);
}

static bool is_known(const struct fixture *fx, const char *code)
{
    for (size_t i = 0; i < fault_book_count(fx->status.faults); i++) {
        if (strcmp(known_fault_code(fault_book_at(fx->status.faults, i)), code) == 0)
            return true;
    }
    return false;
}

static void a_damaged_record_has_a_second_copy(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx);
    put_balanced(fx, "web", NULL);
    start_pools(fx);
    assert_int_equal(fault_book_count(fx->status.faults), 0);
    write_record(fx, "addresses.json", "{\"ver");
    start_pools(fx);
    assert_true(is_known(fx, "pool-record-copied"));
    assert_false(is_known(fx, "pool-record-unreadable"));
    start_pools(fx);
    assert_int_equal(fault_book_count(fx->status.faults), 0);
}

static void a_record_and_its_copy_are_damaged(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx);
    put_balanced(fx, "web", NULL);
    write_record(fx, "addresses.json", "{\"ver");
    write_record(fx, "addresses.json.copy", "[]");
    start_pools(fx);
    assert_true(is_known(fx, "pool-record-unreadable"));
    assert_false(is_known(fx, "pool-address-unowned"));
}

/* The route of somebody's address is there, and no object names it. */
static void an_announced_address_is_nobodys(void **state)
{
    struct fixture *fx = *state;
    struct route route = { .table = (uint32_t)fx->planning.config->routes.table,
                           .protocol = ROUTE_PROTOCOL_SERVICE };
    assert_int_equal(prefix_parse("203.0.113.7/32", &route.prefix), 0);
    assert_int_equal(sorted_put(&fx->routes, &route), 0);
    put_pool(fx);
    put_balanced(fx, "web", NULL);
    start_pools(fx);
    assert_true(is_known(fx, "pool-address-unowned"));
    assert_true(is_known(fx, "pool-record-unreadable"));
    sorted_clear(&fx->routes);
    assert_int_equal(pool_keeper_run(fx->pools), 0);
    assert_int_equal(fault_book_count(fx->status.faults), 0);
}

static void a_record_that_cannot_be_written_is_tried_again(void **state)
{
    struct fixture *fx = *state;
    write_error = -ENOSPC;
    put_pool(fx);
    put_balanced(fx, "web", NULL);
    start_pools(fx);
    assert_true(is_known(fx, "pool-record-unwritten"));
    put_balanced(fx, "other", NULL);
    assert_int_equal(pool_keeper_run(fx->pools), 0);
    assert_true(is_known(fx, "pool-record-unwritten"));
    write_error = 0;
    assert_int_equal(pool_keeper_run(fx->pools), 0);
    assert_false(is_known(fx, "pool-record-unwritten"));
}

static void run_outside(struct fixture *fx)
{
    assert_int_equal(outside_keeper_run(fx->outside), 0);
    store_changes_done(fx->planning.store);
}

/* It is told for as long as the file lacks them, and written when it can be. */
static void addresses_outside_that_cannot_be_written_are_tried_again(void **state)
{
    struct fixture *fx = *state;
    AUTOFREE char *path = text_format("%s/outside-pools.json", fx->folder);
    const struct outside_options options = {
        .config = fx->planning.config,
        .store = fx->planning.store,
        .status = &fx->status,
        .routes = &fx->routes,
    };
    put_balanced(fx, "web", "198.51.100.1");
    assert_int_equal(outside_keeper_new(&options, &fx->outside), 0);
    run_outside(fx);
    write_error = -ENOSPC;
    put_pool(fx);
    run_outside(fx);
    assert_true(is_known(fx, "pool-outside-unwritten"));
    put_balanced(fx, "other", NULL);
    run_outside(fx);
    assert_true(is_known(fx, "pool-outside-unwritten"));
    write_error = 0;
    run_outside(fx);
    assert_false(is_known(fx, "pool-outside-unwritten"));
    assert_int_equal(access(path, F_OK), 0);
    const unsigned written = writes;
    run_outside(fx);
    assert_int_equal(writes, written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_damaged_record_has_a_second_copy),
        TEST(a_record_and_its_copy_are_damaged),
        TEST(an_announced_address_is_nobodys),
        TEST(a_record_that_cannot_be_written_is_tried_again),
        TEST(addresses_outside_that_cannot_be_written_are_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
