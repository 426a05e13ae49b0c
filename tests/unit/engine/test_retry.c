// SPDX-License-Identifier: Apache-2.0
/*
 * A retry that is planned keeps its time, whatever passes come in between: on a busy node there is
 * one every second, and a retry that each of them put off would never come.
 *
 * The kernel is one that has nothing and refuses every route (fakes.h, and the wraps here).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmocka_all.h"
#include "engine/nat/nat_engine.h"
#include "engine/nat/nat_state.h"
#include "engine/pass.h"
#include "engine/routes/route_engine.h"
#include "fakes.h"
#include "format/reader.h"

struct fixture {
    struct config *config;
    struct store *store;
    struct status status;
    struct board board;
    struct engines *engines;
};

enum { START_MS = 1000000 };

static struct sorted none;
static uint32_t asked; /* operations that the kernel was asked for */

const struct sorted *__wrap_kernel_routes(const struct kernel *kernel);
const struct sorted *__wrap_kernel_rules(const struct kernel *kernel);
const struct sorted *__wrap_kernel_local_prefixes(const struct kernel *kernel);
const struct sorted *__wrap_kernel_local_networks(const struct kernel *kernel);
const struct sorted *__wrap_kernel_link_addresses(const struct kernel *kernel);
int __wrap_kernel_apply_routes(struct kernel *kernel, const struct route_op *ops, size_t count,
                               struct op_result *results);
int __wrap_kernel_apply_rules(struct kernel *kernel, const struct rule_op *ops, size_t count,
                              struct op_result *results);

const struct sorted *__wrap_kernel_routes(const struct kernel *kernel)
{
    (void)kernel;
    return &none;
}

const struct sorted *__wrap_kernel_rules(const struct kernel *kernel)
{
    (void)kernel;
    return &none;
}

const struct sorted *__wrap_kernel_local_prefixes(const struct kernel *kernel)
{
    (void)kernel;
    return &none;
}

const struct sorted *__wrap_kernel_local_networks(const struct kernel *kernel)
{
    (void)kernel;
    return &none;
}

const struct sorted *__wrap_kernel_link_addresses(const struct kernel *kernel)
{
    (void)kernel;
    return &none;
}

int __wrap_kernel_apply_routes(struct kernel *kernel, const struct route_op *ops, size_t count,
                               struct op_result *results)
{
    (void)kernel, (void)ops;
    for (size_t i = 0; i < count; i++)
        results[i] = (struct op_result){ .error = -ENOBUFS };
    asked += (uint32_t)count;
    return 0;
}

int __wrap_kernel_apply_rules(struct kernel *kernel, const struct rule_op *ops, size_t count,
                              struct op_result *results)
{
    (void)kernel, (void)ops;
    memset(results, 0, count * sizeof(*results));
    return 0;
}

static void put_block(struct fixture *fixture)
{
    static const char yaml[] = "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nindex: 1\n"
                               "ipv4: 10.224.0.0/27\nmetadata:\n  name: b-1\n  labels:\n"
                               "    coil.cybozu.com/node: n1\n    coil.cybozu.com/pool: b\n";
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    assert_int_equal(
        document_parse(yaml, strlen(yaml), "test.yaml", READER_YAML, &document, &faults), 1);
    assert_int_equal(object_decode(document, &object, NULL, &faults, &faults), 1);
    assert_int_equal(store_put(fixture->store, "test.yaml", object), 1);
}

static int set_up(void **state)
{
    static const struct engine_ops *const table[] = { &route_engine_ops, NULL };
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fakes_begin();
    assert_int_equal(config_default("/nowhere", &fixture->config), 0);
    free(fixture->config->node);
    fixture->config->node = strdup("n1");
    fixture->store = store_new();
    fixture->status.faults = fault_book_new();
    assert_non_null(fixture->config->node);
    assert_non_null(fixture->store);
    assert_non_null(fixture->status.faults);
    const struct engine_setup setup = {
        .config = fixture->config,
        .store = fixture->store,
        .kernel = fake_kernel(),
        .status = &fixture->status,
        .board = &fixture->board,
    };
    assert_int_equal(engines_open(&setup, table, &fixture->engines), 0);
    asked = 0;
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    engines_close(fixture->engines);
    store_free(fixture->store);
    fault_book_free(fixture->status.faults);
    config_free(fixture->config);
    free(fixture);
    fakes_end();
    return 0;
}

/* A pass over what is dirty; returns how many operations the kernel was asked for. */
static uint32_t pass(struct fixture *fixture, int64_t now_ms)
{
    CLEANUP(round_done) struct round round = { .now_ms = now_ms, .may_remove = true };
    uint32_t writer, before = asked;
    assert_int_equal(pass_run(fixture->engines, fixture->store, fake_kernel(), &round, &writer), 0);
    return asked - before;
}

static void a_refused_route_is_retried_in_time(void **state)
{
    struct fixture *fixture = *state;
    put_block(fixture);
    uint32_t routes = pass(fixture, START_MS);
    assert_true(routes > 0);
    const int64_t due_ms = engines_next_ms(fixture->engines, START_MS);
    assert_in_range(due_ms, START_MS + 800, START_MS + 1200);

    for (int64_t now_ms = START_MS + 100; now_ms < due_ms; now_ms += 100) {
        assert_int_equal(pass(fixture, now_ms), 0);
        assert_int_equal(engines_next_ms(fixture->engines, now_ms), due_ms);
    }
    assert_int_equal(pass(fixture, due_ms), routes);
    assert_in_range(engines_next_ms(fixture->engines, due_ms), due_ms + 1600, due_ms + 2400);
}

/* A pass that fails has settled nothing, and moves nothing. */
static void a_failed_pass_leaves_the_retry(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(round_done) struct round round = { .now_ms = START_MS + 100 };
    uint32_t writer;
    put_block(fixture);
    (void)pass(fixture, START_MS);
    const int64_t due_ms = engines_next_ms(fixture->engines, START_MS);
    fakes.failing = "read";
    assert_int_equal(pass_run(fixture->engines, fixture->store, fake_kernel(), &round, &writer),
                     -EIO);
    assert_int_equal(engines_next_ms(fixture->engines, START_MS + 100), due_ms);
}

/* The end of a round of the NAT engine; of the rest of the round nothing is needed here. */
static void publish(struct nat_engine *nat, int64_t now_ms, int error)
{
    struct round round = { .now_ms = now_ms, .error = error };
    nat_engine_ops.publish(&nat->engine, &round);
}

static int64_t next(const struct nat_engine *nat)
{
    return nat_engine_ops.next_ms(&nat->engine, 0);
}

static void what_is_not_proved_is_retried_in_time(void **state)
{
    struct status status = { .faults = fault_book_new() };
    const struct engine_setup setup = { .status = &status };
    struct nat_engine nat;
    (void)state;
    nat_state_init(&nat, &setup);
    publish(&nat, START_MS, 0);
    assert_true(next(&nat) == INT64_MAX);

    nat.node.incomplete = true;
    publish(&nat, START_MS, 0);
    const int64_t due_ms = next(&nat);
    assert_in_range(due_ms, START_MS + 80, START_MS + 120);
    publish(&nat, START_MS + 10, 0);
    publish(&nat, START_MS + 20, -EIO);
    publish(&nat, START_MS + 70, 0);
    assert_int_equal(next(&nat), due_ms);

    nat.retry_ms = INT64_MAX; /* it was due: see settle_work() */
    publish(&nat, due_ms, 0);
    assert_in_range(next(&nat), due_ms + 160, due_ms + 240);

    nat.node.incomplete = false;
    publish(&nat, due_ms + 10, 0);
    assert_true(next(&nat) == INT64_MAX);
    nat_state_done(&nat);
    fault_book_free(status.faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_refused_route_is_retried_in_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_pass_leaves_the_retry, set_up, tear_down),
        cmocka_unit_test(what_is_not_proved_is_retried_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
