// SPDX-License-Identifier: Apache-2.0
/* A Node object that was there and is gone: told at once, and given up when its time is over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cmocka_all.h"
#include "run_until.h"
#include "standing/standing.h"

struct fixture {
    sd_event *event;
    struct config *config;
    struct status status;
    char folder[40];
    struct standing_keeper *keeper;
};

static void on_changed(enum standing standing, void *context)
{
    (void)standing, (void)context;
}

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    assert_true(sd_event_new(&fx->event) >= 0);
    assert_int_equal(config_default("/m", &fx->config), 0);
    strcpy(fx->folder, "/tmp/test_standing.XXXXXX");
    assert_non_null(mkdtemp(fx->folder));
    free(fx->config->paths.state);
    fx->config->paths.state = strdup(fx->folder);
    free(fx->config->node);
    fx->config->node = strdup("node-1");
    fx->config->routes.node_gone_ms = 50;
    fx->status.faults = fault_book_new();
    const struct standing_options options = {
        .event = fx->event,
        .config = fx->config,
        .status = &fx->status,
        .changed = on_changed,
    };
    assert_int_equal(standing_new(&options, &fx->keeper), 0);
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;
    AUTOFREE char *file = text_format("%s/standing.json", fx->folder);
    standing_free(fx->keeper);
    fault_book_free(fx->status.faults);
    config_free(fx->config);
    sd_event_unref(fx->event);
    (void)unlink(file);
    assert_int_equal(rmdir(fx->folder), 0);
    free(fx);
    return 0;
}

/* The one fault that there is; "": none. */
static const char *told(const struct fixture *fx)
{
    const struct fault_book *faults = fx->status.faults;
    assert_true(fault_book_count(faults) <= 1);
    return fault_book_count(faults) ? known_fault_code(fault_book_at(faults, 0)) : "";
}

static void a_node_that_is_deleted_is_given_up_and_comes_back(void **state)
{
    struct fixture *fx = *state;
    standing_observe_node(fx->keeper, false, true);
    assert_string_equal(told(fx), "node-unknown");
    standing_observe_node(fx->keeper, true, true);
    assert_string_equal(told(fx), "");
    standing_observe_node(fx->keeper, false, true);
    assert_string_equal(told(fx), "node-deleted-lately");
    assert_false(fx->status.standing.node_gone);
    run_until(fx, fx->status.standing.node_gone);
    assert_string_equal(told(fx), "node-deleted");
    standing_observe_node(fx->keeper, false, true);
    assert_string_equal(told(fx), "node-deleted");
    standing_observe_node(fx->keeper, true, true);
    assert_string_equal(told(fx), "");
    assert_false(fx->status.standing.node_gone);
}

static void a_node_that_comes_back_in_time_is_not_given_up(void **state)
{
    struct fixture *fx = *state;
    fx->config->routes.node_gone_ms = 3600 * SECOND_MS;
    standing_observe_node(fx->keeper, true, false);
    standing_observe_node(fx->keeper, false, false);
    assert_string_equal(told(fx), "node-deleted-lately");
    standing_observe_node(fx->keeper, true, false);
    assert_string_equal(told(fx), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_node_that_is_deleted_is_given_up_and_comes_back),
        TEST(a_node_that_comes_back_in_time_is_not_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
