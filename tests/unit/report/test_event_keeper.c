// SPDX-License-Identifier: Apache-2.0
/* Events that are wanted, and an API that follows a script: each is created once, or given up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fake_api.h"
#include "model/object.h"
#include "model/services/service.h"
#include "report/event_keeper.h"

#include "cmocka_all.h"
#include "run_until.h"

#define STATUS(reason) "{\"kind\":\"Status\",\"message\":\"words\",\"reason\":\"" reason "\"}"

enum { PORT = 32000 };

struct fixture {
    sd_event *event;
    struct fake_api api;
    struct status status;
    struct event_keeper *keeper;
    service_event_list wanted;
    struct fake_peer *peer;
    unsigned asked;
    struct write_status told; /* as of the last time that it was said to be another */
};

static void on_changed(void *context)
{
    struct fixture *fx = context;
    fx->told = fx->status.writes;
}

static void on_asked(struct fake_peer *peer, void *context)
{
    struct fixture *fx = context;
    fx->peer = peer;
    fx->asked++;
}

static struct kube_config *config_of(const struct fixture *fx)
{
    struct kube_config *config = calloc(1, sizeof(*config));
    assert_non_null(config);
    config->server = strdup(fx->api.url);
    return config;
}

static int setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    assert_true(sd_event_new(&fx->event) >= 0);
    fx->status.faults = fault_book_new();
    fake_api_start(&fx->api, fx->event, on_asked, fx);
    const struct event_keeper_options options = {
        .event = fx->event,
        .config = config_of(fx),
        .node = "node-1",
        .status = &fx->status,
        .changed = on_changed,
        .context = fx,
    };
    assert_int_equal(event_keeper_new(&options, &fx->keeper), 0);
    assert_true(fx->status.writes.enabled);
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    event_keeper_free(fx->keeper);
    assert_false(fx->status.writes.enabled);
    service_events_done(&fx->wanted);
    fake_api_done(&fx->api);
    fault_book_free(fx->status.faults);
    sd_event_unref(fx->event);
    free(fx);
    return 0;
}

/* One more cause is there. */
static void add_cause(struct fixture *fx, uint16_t port)
{
    const struct service service = {
        .object = { .namespace = "shop", .name = "web", .uid = "u1" },
    };
    struct service_event *event = NULL;
    assert_int_equal(plan_health_event(&service, port, &event), 0);
    assert_int_equal(vec_push(&fx->wanted, event), 0);
}

static void want(struct fixture *fx)
{
    event_keeper_want(fx->keeper, &fx->wanted);
}

static bool is_idle(const struct fixture *fx)
{
    return fx->status.writes.waiting + fx->status.writes.running == 0;
}

static void answer(struct fixture *fx, unsigned number, int status, const char *body)
{
    run_until(fx, fx->asked == number);
    fake_peer_answer(fx->peer, status, NULL, body);
}

static void an_event_says_who_and_why(void **state)
{
    static const char *const parts[] = {
        "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"namespace\":"
        "\"shop\",\"name\":\"web.",
        "\"type\":\"Warning\",\"reason\":\"HealthCheckPortFailed\",\"action\":\"Serving\",\"note\":"
        "\"node node-1 can't serve healthCheckNodePort 32000: ",
        "\"reportingController\":\"fingerpost.io/agentd\",\"reportingInstance\":\"node-1\"",
        "\"regarding\":{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"namespace\":\"shop\",\"name\":"
        "\"web\",\"uid\":\"u1\"}",
    };
    struct fixture *fx = *state;
    int year, micros;
    add_cause(fx, PORT);
    want(fx);
    run_until(fx, fx->asked == 1);
    assert_string_equal(fx->peer->path, "/apis/events.k8s.io/v1/namespaces/shop/events");
    const char *body = fake_peer_body(fx->peer);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        assert_non_null(strstr(body, parts[i]));
    const char *time = strstr(body, "\"eventTime\":\"");
    assert_non_null(time);
    assert_int_equal(
        sscanf(time, "\"eventTime\":\"%4d-%*2d-%*2dT%*2d:%*2d:%*2d.%6dZ\"", &year, &micros), 2);
    fake_peer_answer(fx->peer, 201, NULL, STATUS("no object"));
    run_until(fx, fx->asked == 2); /* that was no Event: nothing is lost by another try */
}

/* Created here, or there already: once, whatever is wanted again. */
static void each_cause_is_told_once(void **state)
{
    struct fixture *fx = *state;
    add_cause(fx, PORT);
    add_cause(fx, PORT + 1);
    want(fx);
    assert_int_equal(fx->told.waiting + fx->told.running, 2);
    answer(fx, 1, 409, STATUS("AlreadyExists"));
    answer(fx, 2, 409, STATUS("AlreadyExists"));
    run_until(fx, is_idle(fx));
    assert_int_equal(fx->told.waiting + fx->told.running, 0);
    want(fx);
    service_events_done(&fx->wanted); /* both causes go, and one comes back */
    want(fx);
    add_cause(fx, PORT);
    want(fx);
    assert_int_equal(event_keeper_reconnect(fx->keeper, config_of(fx)), 0);
    add_cause(fx, PORT + 2);
    want(fx);
    answer(fx, 3, 409, STATUS("AlreadyExists"));
    run_until(fx, is_idle(fx));
    assert_int_equal(fx->asked, 3);
}

static void what_is_mended_in_time_is_not_told(void **state)
{
    struct fixture *fx = *state;
    add_cause(fx, PORT);
    want(fx);
    service_events_done(&fx->wanted);
    want(fx);
    run_until(fx, is_idle(fx));
    assert_int_equal(fx->asked, 0);
}

/* The attempt that was under way ends, and is made again by the new connection. */
static void what_was_under_way_goes_on_by_another_kubeconfig(void **state)
{
    struct fixture *fx = *state;
    add_cause(fx, PORT);
    want(fx);
    run_until(fx, fx->asked == 1);
    assert_int_equal(fx->status.writes.running, 1);
    assert_non_null(strstr(fx->status.writes.rows[0].what, "create Event shop/web."));
    assert_int_equal(event_keeper_reconnect(fx->keeper, config_of(fx)), 0);
    answer(fx, 2, 409, STATUS("AlreadyExists"));
    run_until(fx, is_idle(fx));
}

static void too_many_are_dropped(void **state)
{
    struct fixture *fx = *state;
    for (int i = 0; i < 400; i++)
        add_cause(fx, (uint16_t)(PORT + i));
    want(fx);
    want(fx);
    assert_int_equal(fx->status.writes.waiting, 256);
    assert_int_equal(fx->status.writes.dropped, 400 - 256);
}

static void a_namespace_that_is_gone_needs_no_telling(void **state)
{
    struct fixture *fx = *state;
    add_cause(fx, PORT);
    want(fx);
    answer(fx, 1, 404, STATUS("NotFound"));
    run_until(fx, is_idle(fx));
    want(fx);
    run_until(fx, is_idle(fx));
    assert_int_equal(fx->asked, 1);
    assert_int_equal(fault_book_count(fx->status.faults), 0);
}

/* "": nothing is told. */
static const char *told_code(const struct fixture *fx)
{
    const struct fault_book *faults = fx->status.faults;
    return fault_book_count(faults) ? known_fault_code(fault_book_at(faults, 0)) : "";
}

/* The cause goes and comes back: its Event is tried at once, and not when its pause is over. */
static void want_anew(struct fixture *fx, uint16_t port)
{
    service_events_done(&fx->wanted);
    want(fx);
    add_cause(fx, port);
    want(fx);
}

/* Refuses the Event until it is given up. What is refused once may be taken the next time. */
static void refuse(struct fixture *fx, uint16_t port, int status, const char *body)
{
    enum { TRIES = 6 };
    const unsigned asked = fx->asked;
    AUTOFREE char *before = strdup(told_code(fx));
    for (unsigned try = 1; try <= TRIES; try++) {
        assert_string_equal(told_code(fx), before);
        want_anew(fx, port);
        answer(fx, asked + try, status, body);
        run_until(fx, fx->status.writes.running == 0);
    }
    assert_true(is_idle(fx));
}

static void who_refuses_events_is_told_of(void **state)
{
    struct fixture *fx = *state;
    refuse(fx, PORT, 403, STATUS("Forbidden"));
    assert_string_equal(told_code(fx), "events-forbidden");
    refuse(fx, PORT + 1, 422, STATUS("Invalid"));
    assert_string_equal(told_code(fx), "events-unwritten");
    assert_int_equal(fault_book_count(fx->status.faults), 1);
    want_anew(fx, PORT + 2);
    answer(fx, 13, 409, STATUS("AlreadyExists"));
    run_until(fx, fault_book_count(fx->status.faults) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(an_event_says_who_and_why),
        TEST(each_cause_is_told_once),
        TEST(what_is_mended_in_time_is_not_told),
        TEST(what_was_under_way_goes_on_by_another_kubeconfig),
        TEST(too_many_are_dropped),
        TEST(a_namespace_that_is_gone_needs_no_telling),
        TEST(who_refuses_events_is_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
