// SPDX-License-Identifier: Apache-2.0
/*
 * Who waits for a change, and streams of changes, through the real HTTP server. The timers of what
 * is tested run fifty times as fast.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../loop/http_client.h"
#include "api/api.h"
#include "cmocka_all.h"
#include "loop/timer.h"
#include "state.h"

enum { WAITING = 3, STREAMS = 2, FASTER = 50 };

struct fixture {
    struct made_state *made;
    sd_event *event;
    struct api api;
    struct http_server *server;
    char directory[32], path[64];
    int counted;
};

void __real_timer_arm(struct timer *timer, int64_t delay_ms);
void __wrap_timer_arm(struct timer *timer, int64_t delay_ms);

void __wrap_timer_arm(struct timer *timer, int64_t delay_ms)
{
    __real_timer_arm(timer, delay_ms / FASTER);
}

static void count(void *context)
{
    ((struct fixture *)context)->counted++;
}

static void listen_at(struct fixture *fixture)
{
    static const struct http_limits limits = {
        .connections = 10,
        .silence_s = 30,
        .memory = 16384,
        .waiting = WAITING,
        .wait_s = 3600,
        .streams = STREAMS,
    };
    const struct http_service service = { .handle = api_handle,
                                          .context = &fixture->api,
                                          .limits = &limits };
    strcpy(fixture->directory, "/tmp/test_changes.XXXXXX");
    assert_non_null(mkdtemp(fixture->directory));
    snprintf(fixture->path, sizeof(fixture->path), "%s/sock", fixture->directory);
    assert_int_equal(
        http_listen_unix(fixture->event, fixture->path, (gid_t)-1, &service, &fixture->server), 0);
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fixture->made = made_state_new();
    assert_int_equal(sd_event_new(&fixture->event), 0);
    const struct api_changes_options options = {
        .event = fixture->event,
        .state = &fixture->made->api,
        .count = count,
        .context = fixture,
    };
    fixture->api.state = &fixture->made->api;
    assert_int_equal(api_changes_new(&options, &fixture->api.changes), 0);
    listen_at(fixture);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    http_server_free(fixture->server);
    api_changes_free(fixture->api.changes);
    sd_event_unref(fixture->event);
    assert_int_equal(rmdir(fixture->directory), 0);
    made_state_free(fixture->made);
    free(fixture);
    return 0;
}

static void ask(struct fixture *fixture, struct http_client *client, const char *path)
{
    AUTOFREE char *request = text_format("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    http_client_unix(client, fixture->event, fixture->path);
    http_client_ask(client, request);
    loop_settle(fixture->event);
}

static void assert_answer(struct http_client *client, int status, const char *part)
{
    CLEANUP(http_answer_done) struct http_answer answer;
    http_client_read(client, false, &answer);
    assert_int_equal(answer.status, status);
    if (!strstr(answer.body, part))
        fail_msg("no %s in %s", part, answer.body);
}

static void apply(struct fixture *fixture, uint64_t generation)
{
    fixture->made->status.source.applied_generation = generation;
    api_changes_note(fixture->api.changes);
}

static void answered_when_it_is_applied(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client done, next, last;
    fixture->made->status.source.observed_generation = 9;
    ask(fixture, &done, "/v1/status?applied=7");
    ask(fixture, &next, "/v1/status?applied=8");
    ask(fixture, &last, "/v1/status?applied=9");
    assert_answer(&done, 200, "\"appliedGeneration\":7");
    apply(fixture, 8);
    assert_answer(&next, 200, "\"appliedGeneration\":8");
    loop_settle(fixture->event);
    assert_int_equal(last.received.length, 0);
    apply(fixture, 9);
    assert_answer(&last, 200, "\"appliedGeneration\":9");
    assert_int_equal(fixture->counted, 3);
}

/* It may be of the agent before this one: it will never come. */
static void what_was_never_seen_is_not_waited_for(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    ask(fixture, &client, "/v1/status?applied=9");
    assert_answer(&client, 200, "\"observedGeneration\":8");
}

static void the_start_is_waited_for(void **state)
{
    struct fixture *fixture = *state;
    struct status *status = &fixture->made->status;
    CLEANUP(http_client_close) struct http_client client;
    status->routes.complete = false;
    status->phase = PHASE_STARTING;
    ask(fixture, &client, "/v1/status?applied=0");
    status->routes.complete = true;
    apply(fixture, 8);
    loop_settle(fixture->event);
    assert_int_equal(client.received.length, 0);
    status->phase = PHASE_RUNNING;
    apply(fixture, 8);
    assert_answer(&client, 200, "\"phase\":\"running\"");
}

static void only_so_many_may_wait(void **state)
{
    struct fixture *fixture = *state;
    struct http_client waiting[WAITING];
    CLEANUP(http_client_close) struct http_client late;
    for (int i = 0; i < WAITING; i++)
        ask(fixture, &waiting[i], "/v1/status?applied=8");
    ask(fixture, &late, "/v1/status?applied=8");
    assert_answer(&late, 503, "too many wait already");
    http_client_close(&waiting[0]); /* gives its place to another */
    loop_settle(fixture->event);
    http_client_close(&late);
    ask(fixture, &late, "/v1/status?applied=8");
    apply(fixture, 8);
    assert_answer(&late, 200, "Status");
    for (int i = 1; i < WAITING; i++) {
        assert_answer(&waiting[i], 200, "Status");
        http_client_close(&waiting[i]);
    }
}

static void the_end_of_the_server_is_theirs(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client, reader;
    ask(fixture, &client, "/v1/status?applied=8");
    ask(fixture, &reader, "/v1/changes");
    http_server_free(TAKE_PTR(fixture->server));
    assert_answer(&client, 503, "error");
    http_client_wait_closed(&reader);
    apply(fixture, 8); /* nobody is left to be told */
    loop_settle(fixture->event);
}

/* The number in the last whole line that tells of a change; -1: there is none. */
static long last_change(const struct http_client *client)
{
    static const char key[] = "{\"apiVersion\":\"v1\",\"kind\":\"Change\",\"change\":";
    const char *at = text_str(&client->received);
    long last = -1;
    while ((at = strstr(at, key))) {
        at += strlen(key);
        if (!strchr(at, '\n'))
            break;
        long change = strtol(at, NULL, 10);
        assert_true(change >= last);
        last = change;
    }
    return last;
}

static int lines(const struct http_client *client)
{
    int count = 0;
    for (const char *at = text_str(&client->received); (at = strstr(at, "\"Change\"")); at++)
        count++;
    return count;
}

static void await_change(struct fixture *fixture, struct http_client *client, long change)
{
    while (last_change(client) < change)
        loop_step(fixture->event);
}

static void a_stream_tells_of_each_change(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    ask(fixture, &client, "/v1/changes");
    await_change(fixture, &client, 0);
    assert_non_null(strstr(client.received.data, "Content-Type: application/x-ndjson"));
    assert_non_null(strstr(client.received.data, "\"health\":\"healthy\",\"faults\":0,"));
    made_fault(fixture->made, "routes", "a", "a", "x", NULL);
    for (int i = 0; i < 10; i++)
        api_changes_note(fixture->api.changes);
    await_change(fixture, &client, 1);
    assert_non_null(strstr(client.received.data, "\"health\":\"degraded\",\"faults\":1,"));
    apply(fixture, 8);
    await_change(fixture, &client, 2);
    assert_non_null(
        strstr(client.received.data, "\"observedGeneration\":8,\"appliedGeneration\":8}"));
}

/* Passes may be a thousand a second; a stream says what is so ten times. */
static void many_changes_are_few_lines(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    ask(fixture, &client, "/v1/changes");
    for (int i = 0; i < 5; i++) {
        api_changes_note(fixture->api.changes);
        /* The deferred run, without the time that a rest takes. */
        while (sd_event_run(fixture->event, 0) > 0 && lines(&client) < 2)
            ;
    }
    await_change(fixture, &client, 5);
    assert_in_range(lines(&client), 2, 6);
}

static void a_heartbeat_says_the_same_again(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    ask(fixture, &client, "/v1/changes");
    while (lines(&client) < 4)
        loop_step(fixture->event);
    assert_int_equal(last_change(&client), 0);
}

/* What lies in the sockets is all that it gets of the time in between. */
static void a_slow_reader_gets_what_is_so_now(void **state)
{
    enum { CHANGES = 1000 };
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client slow, quick;
    ask(fixture, &slow, "/v1/changes");
    ask(fixture, &quick, "/v1/changes");
    sd_event_source_set_enabled(slow.source, SD_EVENT_OFF);
    for (int i = 1; i <= CHANGES; i++) {
        api_changes_note(fixture->api.changes);
        await_change(fixture, &quick, i);
        text_truncate(&quick.received, 0);
    }
    sd_event_source_set_enabled(slow.source, SD_EVENT_ON);
    await_change(fixture, &slow, CHANGES);
    assert_true(lines(&slow) < CHANGES);
}

static void streams_are_limited_and_end_with_their_clients(void **state)
{
    struct fixture *fixture = *state;
    for (int round = 0; round < 2; round++) {
        struct http_client clients[STREAMS];
        CLEANUP(http_client_close) struct http_client late;
        for (int i = 0; i < STREAMS; i++) {
            ask(fixture, &clients[i], "/v1/changes");
            await_change(fixture, &clients[i], 0);
        }
        ask(fixture, &late, "/v1/changes");
        assert_answer(&late, 503, "too many wait already");
        for (int i = 0; i < STREAMS; i++)
            http_client_close(&clients[i]);
        loop_settle(fixture->event);
    }
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(answered_when_it_is_applied),
        WITH_SERVER(what_was_never_seen_is_not_waited_for),
        WITH_SERVER(the_start_is_waited_for),
        WITH_SERVER(only_so_many_may_wait),
        WITH_SERVER(the_end_of_the_server_is_theirs),
        WITH_SERVER(a_stream_tells_of_each_change),
        WITH_SERVER(many_changes_are_few_lines),
        WITH_SERVER(a_heartbeat_says_the_same_again),
        WITH_SERVER(a_slow_reader_gets_what_is_so_now),
        WITH_SERVER(streams_are_limited_and_end_with_their_clients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
