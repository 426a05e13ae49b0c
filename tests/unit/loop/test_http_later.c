// SPDX-License-Identifier: Apache-2.0
/* Answers that come later, and bodies that go on: in order, bounded, and ended by either side. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "cmocka_all.h"
#include "http_client.h"
#include "loop/http.h"

enum { LARGE = 90 * 1024 * 1024, LARGE_HELD = 3 }; /* together more than the server keeps */
enum { WAITING = 1000, STREAMS = 2, WAIT_S = 60, NONE = -1 };

struct asked {
    struct http_exchange *exchange; /* NULL: it is over */
    int end;                        /* enum http_end, or NONE */
};

struct fixture {
    struct http_site site;
    struct asked asked[WAITING];
    int calls, busy, ended;
    int to_say; /* lines that the stream has not told yet */
    int told;
};

static void set_reply(struct http_reply *reply, unsigned status, char *body)
{
    reply->status = status;
    reply->body = body;
    reply->size = strlen(body);
}

static void on_end(enum http_end end, void *context)
{
    struct asked *asked = context;
    assert_int_equal(asked->end, NONE);
    asked->end = (int)end;
    asked->exchange = NULL;
}

/* What is to be said at the time is one line, however often it was woken. */
static size_t more(char *buffer, size_t size, void *context)
{
    struct fixture *fixture = context;
    if (fixture->to_say == 0)
        return 0;
    fixture->told += fixture->to_say;
    fixture->to_say = 0;
    int length = snprintf(buffer, size, "%d\n", fixture->told);
    assert_true(length > 0 && (size_t)length < size);
    return (size_t)length;
}

static void on_stream_end(enum http_end end, void *context)
{
    struct fixture *fixture = context;
    fixture->ended = (int)end;
}

static void handle(const struct http_request *request, struct http_reply *reply, void *context)
{
    struct fixture *fixture = context;
    struct http_exchange *exchange = NULL;
    if (strcmp(request->path, "/now") == 0) {
        set_reply(reply, 200, strdup("now"));
        return;
    }
    if (strcmp(request->path, "/large") == 0) {
        *reply = (struct http_reply){ .status = 200, .body = malloc(LARGE), .size = LARGE };
        assert_non_null(reply->body);
        return;
    }
    if (strcmp(request->path, "/stream") == 0) {
        if (http_stream(request, "text/plain", more, on_stream_end, fixture,
                        &fixture->asked[0].exchange) < 0)
            set_reply(reply, 503, strdup("busy"));
        return;
    }
    struct asked *asked = &fixture->asked[fixture->calls % WAITING];
    int r = http_later(request, on_end, asked, &exchange);
    if (r < 0) {
        assert_int_equal(r, -EBUSY);
        fixture->busy++;
        set_reply(reply, 503, strdup("busy"));
        return;
    }
    fixture->calls++;
    *asked = (struct asked){ .exchange = exchange, .end = NONE };
    if (strcmp(request->path, "/same") == 0) {
        struct http_reply own = { 0 };
        set_reply(&own, 200, strdup("same"));
        http_later_answer(exchange, &own);
    }
}

static int64_t later_ms; /* the clock is so far ahead */

int64_t __real_clock_mono_ms(void);
int64_t __wrap_clock_mono_ms(void);

int64_t __wrap_clock_mono_ms(void)
{
    return __real_clock_mono_ms() + later_ms;
}

static int setup(void **state)
{
    static const struct http_limits limits = {
        .connections = WAITING + 10,
        .silence_s = 30,
        .memory = 32768,
        .waiting = WAITING,
        .wait_s = WAIT_S,
        .streams = STREAMS,
    };
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    const struct http_service service = { .handle = handle, .context = fixture, .limits = &limits };
    http_site_open(&fixture->site, &service);
    fixture->ended = NONE;
    later_ms = 0;
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    http_site_close(&fixture->site);
    free(fixture);
    return 0;
}

static void ask(struct fixture *fixture, struct http_client *client, const char *path)
{
    AUTOFREE char *request = text_format("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    int before = fixture->calls;
    http_client_ask(client, request);
    while (strcmp(path, "/later") == 0 && fixture->calls == before)
        loop_step(fixture->site.event);
}

static void say(struct asked *asked, const char *text)
{
    struct http_reply reply = { 0 };
    set_reply(&reply, 200, strdup(text));
    http_later_answer(asked->exchange, &reply);
}

static void an_answer_may_come_later(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client, other;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    http_client_unix(&other, fixture->site.event, fixture->site.path);
    for (int i = 0; i < 3; i++) {
        ask(fixture, &client, "/later");
        loop_settle(fixture->site.event);
        assert_int_equal(client.received.length, 0);
        ask(fixture, &other, "/now");
        http_client_expect(&other, 200, "now");
        say(&fixture->asked[i], "later");
        http_client_expect(&client, 200, "later");
    }
    ask(fixture, &client, "/same");
    http_client_expect(&client, 200, "same");
    assert_int_equal(fixture->asked[3].end, NONE);
}

/* Nothing wakes the loop meanwhile. */
static void who_waits_costs_nothing(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client, reader;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    http_client_unix(&reader, fixture->site.event, fixture->site.path);
    ask(fixture, &client, "/later");
    ask(fixture, &reader, "/stream");
    loop_settle(fixture->site.event);
    assert_int_equal(sd_event_run(fixture->site.event, 300000), 0);
}

static void a_thousand_may_wait(void **state)
{
    struct fixture *fixture = *state;
    const struct rlimit files = { 4096, 4096 };
    static struct http_client clients[WAITING];
    CLEANUP(http_client_close) struct http_client late;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    for (int i = 0; i < WAITING; i++) {
        http_client_unix(&clients[i], fixture->site.event, fixture->site.path);
        ask(fixture, &clients[i], "/later");
    }
    http_client_unix(&late, fixture->site.event, fixture->site.path);
    http_client_ask(&late, "GET /one-more HTTP/1.1\r\nHost: x\r\n\r\n");
    http_client_expect(&late, 503, "busy");
    assert_int_equal(fixture->busy, 1);

    for (int i = WAITING - 1; i >= 0; i--) {
        AUTOFREE char *text = text_format("answer %d", i);
        say(&fixture->asked[i], text);
    }
    for (int i = 0; i < WAITING; i++) {
        AUTOFREE char *text = text_format("answer %d", i);
        http_client_expect(&clients[i], 200, text);
        assert_int_equal(fixture->asked[i].end, NONE);
        http_client_close(&clients[i]);
    }
    ask(fixture, &late, "/later"); /* there is room again */
    say(&fixture->asked[0], "done");
    http_client_expect(&late, 200, "done");
}

static void a_client_that_goes_is_told_of(void **state)
{
    struct fixture *fixture = *state;
    size_t descriptors = open_descriptors();
    for (int i = 0; i < 3; i++) {
        struct http_client client;
        http_client_unix(&client, fixture->site.event, fixture->site.path);
        ask(fixture, &client, "/later");
        loop_settle(fixture->site.event);
        http_client_close(&client);
        while (fixture->asked[i].end == NONE)
            loop_step(fixture->site.event);
        assert_int_equal(fixture->asked[i].end, HTTP_END_CLIENT);
        loop_settle(fixture->site.event);
        /* The first wait made a timer, which has a descriptor of its own. */
        assert_true(open_descriptors() <= descriptors + 1);
    }
}

/* It has only said that it will send no more. */
static void a_client_may_close_its_half(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    ask(fixture, &client, "/later");
    assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
    loop_settle(fixture->site.event);
    assert_int_equal(fixture->asked[0].end, NONE);
    say(&fixture->asked[0], "still");
    http_client_expect(&client, 200, "still");
}

static void nobody_waits_for_ever(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client first, second;
    http_client_unix(&first, fixture->site.event, fixture->site.path);
    http_client_unix(&second, fixture->site.event, fixture->site.path);
    ask(fixture, &first, "/later");
    later_ms = 1000L * WAIT_S;
    ask(fixture, &second, "/later"); /* which sets the timer anew */
    http_client_expect(&first, 504, "{\"error\":\"Gateway Timeout\"}\n");
    assert_int_equal(fixture->asked[0].end, HTTP_END_TIME);
    assert_int_equal(fixture->asked[1].end, NONE);
    say(&fixture->asked[1], "in time");
    http_client_expect(&second, 200, "in time");
}

static void the_servers_end_answers_all(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client reader;
    struct http_client clients[3];
    for (int i = 0; i < 3; i++) {
        http_client_unix(&clients[i], fixture->site.event, fixture->site.path);
        ask(fixture, &clients[i], "/later");
    }
    http_client_unix(&reader, fixture->site.event, fixture->site.path);
    ask(fixture, &reader, "/stream");
    loop_settle(fixture->site.event);
    http_server_free(TAKE_PTR(fixture->site.server));
    for (int i = 0; i < 3; i++) {
        http_client_expect(&clients[i], 503, "{\"error\":\"Service Unavailable\"}\n");
        assert_int_equal(fixture->asked[i].end, HTTP_END_SERVER);
    }
    assert_int_equal(fixture->ended, HTTP_END_SERVER);
    http_client_wait_closed(&reader);
    assert_non_null(strstr(reader.received.data, "0\r\n\r\n")); /* chunked: its end was told */
    for (int i = 0; i < 3; i++)
        http_client_close(&clients[i]);
}

/* Its request is read in the last runs: set aside then, it would make libmicrohttpd abort. */
static void who_asks_at_the_end_is_refused(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client, late;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    ask(fixture, &client, "/later");
    http_client_unix(&late, fixture->site.event, fixture->site.path);
    http_client_ask(&late, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    int calls = fixture->calls;
    http_server_free(TAKE_PTR(fixture->site.server));
    assert_int_equal(fixture->calls, calls);
    http_client_expect(&client, 503, "{\"error\":\"Service Unavailable\"}\n");
    http_client_expect(&late, 503, "{\"error\":\"Service Unavailable\"}\n");
}

/* Until one of them reads, or goes. */
static void replies_that_nobody_reads_are_bounded(void **state)
{
    struct fixture *fixture = *state;
    struct http_client deaf[LARGE_HELD];
    CLEANUP(http_client_close) struct http_client client, waiting;
    http_client_unix(&waiting, fixture->site.event, fixture->site.path);
    ask(fixture, &waiting, "/later");
    for (int i = 0; i < LARGE_HELD; i++) {
        http_client_unix(&deaf[i], fixture->site.event, fixture->site.path);
        sd_event_source_set_enabled(deaf[i].source, SD_EVENT_OFF);
        ask(fixture, &deaf[i], "/large");
        loop_settle(fixture->site.event);
    }
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    ask(fixture, &client, "/now");
    http_client_expect(&client, 503, "{\"error\":\"Service Unavailable\"}\n");
    say(&fixture->asked[0], "too late");
    http_client_expect(&waiting, 503, "{\"error\":\"Service Unavailable\"}\n");
    for (int i = 0; i < LARGE_HELD; i++)
        http_client_close(&deaf[i]);
    loop_settle(fixture->site.event);
    ask(fixture, &client, "/now");
    http_client_expect(&client, 200, "now");
}

static void await(struct fixture *fixture, struct http_client *client, const char *text)
{
    while (!strstr(text_str(&client->received), text))
        loop_step(fixture->site.event);
}

static void tell(struct fixture *fixture, int count)
{
    for (int i = 0; i < count; i++) {
        fixture->to_say++;
        http_stream_wake(fixture->asked[0].exchange);
    }
}

static void a_stream_goes_on(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    ask(fixture, &client, "/stream");
    await(fixture, &client, "Content-Type: text/plain");
    await(fixture, &client, "Transfer-Encoding: chunked");
    for (int i = 1; i < 5; i++) {
        AUTOFREE char *chunk = text_format("2\r\n%d\n\r\n", i);
        tell(fixture, 1);
        await(fixture, &client, chunk);
    }
    tell(fixture, 5); /* at once: one line */
    await(fixture, &client, "2\r\n9\n\r\n");
    assert_null(strstr(client.received.data, "8\n"));
}

static void a_stream_ends_with_its_client(void **state)
{
    struct fixture *fixture = *state;
    for (int settled = 0; settled < 2; settled++) {
        struct http_client client;
        http_client_unix(&client, fixture->site.event, fixture->site.path);
        fixture->ended = NONE;
        ask(fixture, &client, "/stream");
        await(fixture, &client, "\r\n\r\n");
        if (settled)
            loop_settle(fixture->site.event);
        else
            tell(fixture, 1);
        http_client_close(&client);
        while (fixture->ended == NONE)
            loop_step(fixture->site.event);
        assert_int_equal(fixture->ended, HTTP_END_CLIENT);
    }
}

/* A client that does not read: what the sockets hold is all that is kept for it. */
static void a_slow_reader_misses_what_is_between(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    ask(fixture, &client, "/stream");
    await(fixture, &client, "\r\n\r\n");
    sd_event_source_set_enabled(client.source, SD_EVENT_OFF);
    int asked = 0;
    for (; fixture->to_say < 100; asked++) {
        assert_true(asked < 1000000);
        tell(fixture, 1);
        loop_settle(fixture->site.event);
    }
    tell(fixture, 100000 - asked);
    sd_event_source_set_enabled(client.source, SD_EVENT_ON);
    await(fixture, &client, "\n100000\n");
    int last = 0, lines = 0;
    for (const char *at = client.received.data; (at = strstr(at, "\n\r\n")); at++, lines++) {
        const char *line = at;
        while (line[-1] >= '0' && line[-1] <= '9')
            line--;
        assert_true(atoi(line) > last || line == at);
        last = line == at ? last : atoi(line);
    }
    assert_int_equal(last, 100000);
    assert_in_range(lines, asked / 2, asked + 10);
}

static void streams_are_limited(void **state)
{
    struct fixture *fixture = *state;
    struct http_client clients[STREAMS];
    CLEANUP(http_client_close) struct http_client late;
    for (int i = 0; i < STREAMS; i++) {
        http_client_unix(&clients[i], fixture->site.event, fixture->site.path);
        ask(fixture, &clients[i], "/stream");
        await(fixture, &clients[i], "\r\n\r\n");
    }
    http_client_unix(&late, fixture->site.event, fixture->site.path);
    ask(fixture, &late, "/stream");
    http_client_expect(&late, 503, "busy");
    for (int i = 0; i < STREAMS; i++)
        http_client_close(&clients[i]);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(an_answer_may_come_later),
        WITH_SERVER(who_waits_costs_nothing),
        WITH_SERVER(a_thousand_may_wait),
        WITH_SERVER(a_client_that_goes_is_told_of),
        WITH_SERVER(a_client_may_close_its_half),
        WITH_SERVER(nobody_waits_for_ever),
        WITH_SERVER(the_servers_end_answers_all),
        WITH_SERVER(who_asks_at_the_end_is_refused),
        WITH_SERVER(replies_that_nobody_reads_are_bounded),
        WITH_SERVER(a_stream_goes_on),
        WITH_SERVER(a_stream_ends_with_its_client),
        WITH_SERVER(a_slow_reader_misses_what_is_between),
        WITH_SERVER(streams_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
