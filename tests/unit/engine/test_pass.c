// SPDX-License-Identifier: Apache-2.0
/*
 * A pass over engines that only note what they are asked: the stages and their order, what ends a
 * round, and what is forgotten with it.
 */
#include "engine/pass.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "fakes.h"

struct fixture {
    struct store *store;
    struct engines *engines;
};

static const struct engine_setup setup = { 0 };

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fakes_begin();
    fixture->store = store_new();
    assert_non_null(fixture->store);
    assert_int_equal(engines_open(&setup, fake_table, &fixture->engines), 0);
    assert_string_equal(fakes_calls(), "first.open second.open");
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    engines_close(fixture->engines);
    store_free(fixture->store);
    free(fixture);
    fakes_end();
    return 0;
}

/* One pass; its result, which the round carries as well. */
static int pass(struct fixture *fixture, uint32_t *ret_writer)
{
    CLEANUP(round_done) struct round round = { .all = true, .now_ms = 4711 };
    int r = pass_run(fixture->engines, fixture->store, fake_kernel(), &round, ret_writer);
    assert_int_equal(round.error, r);
    return r;
}

static size_t changes_left(struct store *store)
{
    AUTOVEC change_list changes = { 0 };
    assert_int_equal(store_changes(store, &changes), 0);
    return changes.count;
}

/* Withdraw of all before write of any; the events are let go before anything is written. */
static void stages_go_in_the_order_of_the_table(void **state)
{
    struct fixture *fixture = *state;
    uint32_t writer;
    fake_put(fixture->store, "a");
    fake_put(fixture->store, "b");
    assert_int_equal(pass(fixture, &writer), 0);
    assert_string_equal(fakes_calls(), "first.note second.note first.note second.note "
                                       "read first.hear second.hear done "
                                       "first.plan second.plan first.withdraw second.withdraw "
                                       "first.write second.write first.publish second.publish");
    assert_int_equal(changes_left(fixture->store), 0);
    assert_int_equal(fakes.published.error, 0);
    assert_true(fakes.published.all);
    assert_int_equal(fakes.published.now_ms, 4711);
}

static void an_operation_that_is_missing_is_left_out(void **state)
{
    struct fixture *fixture = *state;
    static const struct engine_ops *const table[] = { &fake_bare, NULL };
    struct engines *engines = fixture->engines;
    uint32_t writer;
    assert_int_equal(engines_open(&setup, table, &fixture->engines), 0);
    fake_put(fixture->store, "a");
    (void)fakes_calls();
    assert_int_equal(pass(fixture, &writer), 0);
    assert_string_equal(fakes_calls(), "read done");
    assert_true(engines_next_ms(fixture->engines, 0) == INT64_MAX);
    assert_int_equal(engines_progress(fixture->engines), PROGRESS_DONE);
    engines_count(fixture->engines);
    engines_configure(fixture->engines, NULL);
    engines_close(fixture->engines);
    fixture->engines = engines;
}

/* The calls of a pass over one change, in their order, up to the stage of publish. */
static const char *const calls[] = {
    "first.note", "second.note", "read",           "first.hear",      "second.hear", "done",
    "first.plan", "second.plan", "first.withdraw", "second.withdraw", "first.write", "second.write",
};

/* What can fail is everything but letting the events go; what engines fail in by themselves is
 * below. */
static void a_failure_ends_the_round_and_is_published(void **state)
{
    struct fixture *fixture = *state;
    for (size_t failing = 0; failing < ARRAY_SIZE(calls); failing++) {
        AUTOTEXT struct text wanted = { 0 };
        char name[16];
        uint32_t writer;
        if (strcmp(calls[failing], "done") == 0 || strstr(calls[failing], ".plan") ||
            strstr(calls[failing], ".write"))
            continue;
        for (size_t i = 0; i <= failing; i++)
            text_addf(&wanted, "%s ", calls[i]);
        text_add(&wanted, "first.publish second.publish");
        (void)snprintf(name, sizeof(name), "change-%zu", failing);
        fake_put(fixture->store, name);
        fakes.failing = calls[failing];
        assert_int_equal(pass(fixture, &writer), -EIO);
        assert_string_equal(fakes_calls(), text_str(&wanted));
        assert_int_equal(fakes.published.error, -EIO);
        assert_int_equal(changes_left(fixture->store), 0);
    }
}

/* It stops where it failed, what it had to tell is not heard, and the next round is over all. */
static void an_engine_that_fails_stops_no_other(void **state)
{
    static const struct {
        const char *failing, *calls;
    } cases[] = {
        { "first.plan", "first.plan second.plan second.withdraw second.write" },
        { "second.plan", "first.plan second.plan first.withdraw first.write" },
        { "first.write",
          "first.plan second.plan first.withdraw second.withdraw first.write second.write" },
        { "second.write",
          "first.plan second.plan first.withdraw second.withdraw first.write second.write" },
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOFREE char *wanted = text_format("read first.hear second.hear done %s "
                                            "first.publish second.publish",
                                            cases[i].calls);
        uint32_t writer;
        fakes.failing = cases[i].failing;
        assert_int_equal(pass(fixture, &writer), -EIO);
        assert_string_equal(fakes_calls(), wanted);
        assert_int_equal(fakes.published.error, -EIO);
        assert_string_equal(fakes.published.failed, i % 2 ? "second" : "first");
        assert_int_equal(fakes.published.losses.count, 0);
        fakes.failing = NULL;
        assert_int_equal(pass(fixture, &writer), 0);
        assert_string_equal(
            fakes_calls(), "read first.hear second.hear done first.plan second.plan first.withdraw "
                           "second.withdraw first.write second.write first.publish second.publish");
        assert_null(fakes.published.failed);
    }
}

/* What was read and not heard by all stays, for the pass that comes after. */
static void events_outlive_a_hearing_that_failed(void **state)
{
    struct fixture *fixture = *state;
    uint32_t writer = 1;
    fake_kernel_tell(&(struct kernel_events){ .links = true, .writer = 42 });
    fakes.failing = "first.hear";
    assert_int_equal(pass(fixture, &writer), -EIO);
    assert_int_equal(writer, 42);
    assert_true(fakes.events.links);
    fakes.failing = "first.plan";
    assert_int_equal(pass(fixture, &writer), -EIO);
    assert_false(fakes.events.links);
    fakes.failing = NULL;
    assert_int_equal(pass(fixture, &writer), 0);
    assert_int_equal(writer, 0);
}

static void what_others_do_meanwhile_is_collected_anew(const char *call)
{
    if (strcmp(call, "first.write") == 0) {
        fake_kernel_tell(&(struct kernel_events){ .rules = true });
        assert_int_equal(kernel_read(fake_kernel()), 0);
    }
}

static void events_of_a_pass_are_left_for_the_next(void **state)
{
    struct fixture *fixture = *state;
    uint32_t writer;
    fakes.during = what_others_do_meanwhile_is_collected_anew;
    assert_int_equal(pass(fixture, &writer), 0);
    assert_true(kernel_events(fake_kernel())->rules);
}

static void engines_are_asked_together(void **state)
{
    struct fixture *fixture = *state;
    assert_ptr_equal(engines_find(fixture->engines, &fake_second)->ops, &fake_second);
    assert_null(engines_find(fixture->engines, &fake_bare));
    engines_configure(fixture->engines, NULL);
    assert_string_equal(fakes_calls(), "first.configure second.configure");
    fakes.next_ms = 17;
    assert_int_equal(engines_next_ms(fixture->engines, 0), 17);
    fakes.progress = PROGRESS_AT_ONCE;
    assert_int_equal(engines_progress(fixture->engines), PROGRESS_AT_ONCE);
}

static int ask_for_a_table(const struct config *config, struct kernel_scope *scope)
{
    return scope_add_routes(scope, config->routes.table + 1, 77);
}

static int ask_for_too_many(const struct config *config, struct kernel_scope *scope)
{
    int r = 0;
    for (uint8_t protocol = 70; r == 0 && protocol <= 70 + SCOPE_ROUTES_MAX; protocol++)
        r = scope_add_routes(scope, config->routes.table, protocol);
    return r;
}

/* The mirror holds what all planners read, and what single engines ask for. */
static void engines_say_what_they_look_at(void **state)
{
    static const struct engine_ops asks = { .name = "asks", .scope = ask_for_a_table };
    static const struct engine_ops *const table[] = { &fake_first, &asks, NULL };
    static const struct engine_ops greedy = { .name = "greedy", .scope = ask_for_too_many };
    static const struct engine_ops *const twice[] = { &asks, &asks, NULL };
    static const struct engine_ops *const many[] = { &greedy, NULL };
    const struct config config = { .routes.table = 115 };
    const struct route wanted = { .table = 116, .protocol = 77 };
    const struct route other = { .table = 116, .protocol = 78 };
    struct kernel_scope scope;
    (void)state;
    assert_int_equal(engines_scope(&config, table, &scope), 0);
    assert_true(scope_has_whole_table(&scope, 115));
    assert_true(scope.rules && scope.links && scope.addresses);
    assert_true(scope_has_route(&scope, &wanted));
    assert_false(scope_has_route(&scope, &other));
    const size_t count = scope.route_count;
    assert_int_equal(engines_scope(&config, twice, &scope), 0);
    assert_int_equal(scope.route_count, count);
    assert_int_equal(engines_scope(&config, many, &scope), -ENOSPC);
}

/* The last to be opened is the first to be closed, also where another cannot be opened. */
static void engines_close_in_the_opposite_order(void **state)
{
    static const struct engine_ops *const table[] = { &fake_first, &fake_bare, &fake_second, NULL };
    struct engines *engines = NULL;
    (void)state;
    fakes.failing = "second.open";
    assert_int_equal(engines_open(&setup, table, &engines), -EIO);
    assert_null(engines);
    assert_string_equal(fakes_calls(), "first.open bare.open second.open bare.close first.close");
}

int main(void)
{
#define PASS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        PASS_TEST(stages_go_in_the_order_of_the_table),
        PASS_TEST(an_operation_that_is_missing_is_left_out),
        PASS_TEST(a_failure_ends_the_round_and_is_published),
        PASS_TEST(an_engine_that_fails_stops_no_other),
        PASS_TEST(events_outlive_a_hearing_that_failed),
        PASS_TEST(events_of_a_pass_are_left_for_the_next),
        PASS_TEST(engines_are_asked_together),
        PASS_TEST(engines_say_what_they_look_at),
        PASS_TEST(engines_close_in_the_opposite_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
