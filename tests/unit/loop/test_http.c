// SPDX-License-Identifier: Apache-2.0
/* Requests and replies over a real unix socket: server and clients share one event loop. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmocka_all.h"
#include "http_client.h"
#include "loop/http.h"

enum { BIG = 5 * 1024 * 1024 };

struct fixture {
    struct http_site site;
    int calls;
};

static char *big_body(void)
{
    char *body = malloc(BIG);
    assert_non_null(body);
    for (size_t i = 0; i < BIG; i++)
        body[i] = (char)('a' + i % 23);
    return body;
}

/* /echo tells what the request was; /big is 5 MB; /nothing has no body; the rest is 404. */
static void handle(const struct http_request *request, struct http_reply *reply, void *context)
{
    struct fixture *fixture = context;
    const char *a = http_query(request, "a"), *b = http_query(request, "b");
    fixture->calls++;
    reply->status = 200;
    if (strcmp(request->path, "/big") == 0) {
        reply->body = big_body();
        reply->size = BIG;
    } else if (strcmp(request->path, "/nothing") == 0) {
        reply->status = 204;
    } else if (strncmp(request->path, "/echo", 5) == 0) {
        reply->content_type = "text/plain";
        reply->body = text_format("%s %s a=%s b=%s peer=%d %u:%u", request->method, request->path,
                                  a ? a : "none", b ? b : "none", request->peer_known,
                                  request->peer_uid, request->peer_gid);
        reply->size = strlen(reply->body);
    } else {
        reply->status = 404;
    }
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    http_site_open(&fixture->site, SERVICE(handle, fixture));
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

static void assert_echo(struct http_client *client, const char *rest)
{
    AUTOFREE char *expected = text_format("%s peer=1 %u:%u", rest, getuid(), getgid());
    http_client_expect(client, 200, expected);
}

static void a_request_is_answered(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    http_client_ask(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    CLEANUP(http_answer_done) struct http_answer answer;
    http_client_read(&client, false, &answer);
    assert_int_equal(answer.status, 200);
    assert_non_null(strstr(answer.head, "Content-Type: text/plain\r\n"));
    AUTOFREE char *expected =
        text_format("GET /echo a=none b=none peer=1 %u:%u", getuid(), getgid());
    assert_string_equal(answer.body, expected);
}

static void the_default_type_is_json(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    http_client_ask(&client, "GET /other HTTP/1.1\r\nHost: x\r\n\r\n");
    CLEANUP(http_answer_done) struct http_answer answer;
    http_client_read(&client, false, &answer);
    assert_int_equal(answer.status, 404);
    assert_non_null(strstr(answer.head, "Content-Type: application/json\r\n"));
    assert_non_null(strstr(answer.head, "Content-Length: 0\r\n"));
}

static void queries_are_decoded(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    http_client_ask(&client, "GET /echo?b=2001%3adb8::1&a=x+y%20z HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_echo(&client, "GET /echo a=x y z b=2001:db8::1");
    http_client_ask(&client, "GET /echo?a&b= HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_echo(&client, "GET /echo a=none b=");
    http_client_ask(&client, "GET /echo%2fx?aa=1&B=2 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_echo(&client, "GET /echo/x a=none b=2");
}

static void connections_are_kept(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    for (int i = 0; i < 3; i++) {
        http_client_ask(&client, "GET /echo?a=1 HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_echo(&client, "GET /echo a=1 b=none");
    }
    /* Two in one packet: the second is in the server's buffer and epoll never tells of it. */
    http_client_ask(&client, "GET /echo?a=2 HTTP/1.1\r\nHost: x\r\n\r\n"
                             "GET /echo?a=3 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_echo(&client, "GET /echo a=2 b=none");
    assert_echo(&client, "GET /echo a=3 b=none");
    assert_false(client.closed);
    http_client_ask(&client, "GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_echo(&client, "GET /echo a=none b=none");
    http_client_wait_closed(&client);
}

static void two_requests_at_once(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client one, two;
    http_client_unix(&one, fixture->site.event, fixture->site.path);
    http_client_unix(&two, fixture->site.event, fixture->site.path);
    http_client_ask(&one, "GET /echo?a=1 HT");
    http_client_ask(&two, "GET /echo?a=2 HT");
    loop_settle(fixture->site.event);
    assert_int_equal(fixture->calls, 0);

    http_client_ask(&two, "TP/1.1\r\nHost: x\r\n\r\n");
    assert_echo(&two, "GET /echo a=2 b=none");
    assert_int_equal(fixture->calls, 1);
    http_client_ask(&one, "TP/1.1\r\nHost: x\r\n\r\n");
    assert_echo(&one, "GET /echo a=1 b=none");
}

static void head_has_no_body(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    http_client_ask(&client, "HEAD /big HTTP/1.1\r\nHost: x\r\n\r\n");
    CLEANUP(http_answer_done) struct http_answer answer;
    http_client_read(&client, true, &answer);
    assert_int_equal(answer.status, 200);
    assert_non_null(strstr(answer.head, "Content-Length: 5242880\r\n"));
    http_client_ask(&client, "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n");
    http_client_expect(&client, 204, "");
}

static void other_methods_are_refused(void **state)
{
    static const char *const methods[] = { "PUT", "PATCH", "TRACE", "OPTIONS", "get" };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        CLEANUP(http_client_close) struct http_client client;
        http_client_unix(&client, fixture->site.event, fixture->site.path);
        AUTOFREE char *request =
            text_format("%s /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", methods[i]);
        http_client_ask(&client, request);
        CLEANUP(http_answer_done) struct http_answer answer;
        http_client_read(&client, false, &answer);
        assert_int_equal(answer.status, 405);
        assert_non_null(strstr(answer.head, "Allow: GET, HEAD, POST, DELETE\r\n"));
    }
    assert_int_equal(fixture->calls, 0);
}

static void broken_requests_are_refused(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client, endless;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    http_client_ask(&client, "\x16\x03\x01 nonsense\r\n\r\n");
    http_client_wait_closed(&client);

    /* Headers without an end. */
    http_client_unix(&endless, fixture->site.event, fixture->site.path);
    http_client_ask(&endless, "GET /echo HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < 10000; i++)
        if (!http_client_ask(&endless, "X-Filler: 0123456789012345678901234567890123456789\r\n"))
            break;
    http_client_wait_closed(&endless);
    assert_int_equal(fixture->calls, 0);
}

/* Sends a POST with a body of `size` bytes; false if the server hung up before its end. */
static bool post(struct http_client *client, size_t size)
{
    AUTOFREE char *head =
        text_format("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", size);
    AUTOFREE char *body = calloc(1, size);
    assert_non_null(body);
    return http_client_ask(client, head) && http_client_send(client, body, size);
}

static bool post_chunk(struct http_client *client)
{
    char chunk[2 + 4 + 0x1000 + 2];
    memset(chunk, 'x', sizeof(chunk));
    memcpy(chunk, "1000\r\n", 6);
    memcpy(chunk + sizeof(chunk) - 2, "\r\n", 2);
    return http_client_send(client, chunk, sizeof(chunk));
}

static const char chunked[] = "POST /echo HTTP/1.1\r\nHost: x\r\n"
                              "Transfer-Encoding: chunked\r\n\r\n";

static void bodies_have_a_limit(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client, above, patient;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    assert_true(post(&client, 64 * 1024));
    assert_echo(&client, "POST /echo a=none b=none");
    assert_int_equal(fixture->calls, 1);

    http_client_unix(&above, fixture->site.event, fixture->site.path);
    (void)post(&above, 64 * 1024 + 1);
    http_client_expect(&above, 413, NULL);

    /* Who asks first is told before the body is sent. */
    http_client_unix(&patient, fixture->site.event, fixture->site.path);
    http_client_ask(&patient, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                              "Content-Length: 10000000000\r\n\r\n");
    http_client_expect(&patient, 413, NULL);
    assert_int_equal(fixture->calls, 1);
}

static void bodies_of_unknown_size_have_a_limit(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client, endless;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    for (int chunks = 16; chunks <= 17; chunks++) {
        http_client_ask(&client, chunked);
        for (int i = 0; i < chunks; i++)
            assert_true(post_chunk(&client));
        http_client_ask(&client, "0\r\n\r\n");
        if (chunks == 16)
            assert_echo(&client, "POST /echo a=none b=none");
        else
            http_client_expect(&client, 413, NULL);
    }
    assert_int_equal(fixture->calls, 1);

    http_client_unix(&endless, fixture->site.event, fixture->site.path);
    http_client_ask(&endless, chunked);
    int sent = 0;
    while (sent < 100000 && post_chunk(&endless))
        sent++;
    assert_in_range(sent, 256, 1000);
    http_client_wait_closed(&endless);
    assert_int_equal(fixture->calls, 1);
}

static void big_replies_arrive_whole(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client one, two;
    AUTOFREE char *expected = big_body();
    http_client_unix(&one, fixture->site.event, fixture->site.path);
    http_client_unix(&two, fixture->site.event, fixture->site.path);
    http_client_ask(&one, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    http_client_ask(&two, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    struct http_client *clients[] = { &two, &one };
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        CLEANUP(http_answer_done) struct http_answer answer;
        http_client_read(clients[i], false, &answer);
        assert_int_equal(answer.status, 200);
        assert_int_equal(answer.size, BIG);
        assert_memory_equal(answer.body, expected, BIG);
    }
    http_client_ask(&one, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_echo(&one, "GET /echo a=none b=none");
}

/* Clients that leave at every stage; the server closes each connection and serves the next. */
static void clients_may_vanish(void **state)
{
    static const struct {
        const char *request;
        size_t wanted; /* bytes of the reply that are awaited before leaving */
    } stages[] = {
        { "", 0 },
        { "GET /ec", 0 },
        { "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n", 0 },
        { "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc", 0 },
        { "GET /big HTTP/1.1\r\nHost: x\r\n\r\n", 0 },
        { "GET /big HTTP/1.1\r\nHost: x\r\n\r\n", 1 },
        { "GET /big HTTP/1.1\r\nHost: x\r\n\r\n", 1000000 },
    };
    struct fixture *fixture = *state;
    size_t descriptors = open_descriptors();
    for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
        for (int settled = 0; settled < 2; settled++) {
            struct http_client client;
            http_client_unix(&client, fixture->site.event, fixture->site.path);
            http_client_ask(&client, stages[i].request);
            while (client.received.length < stages[i].wanted)
                loop_step(fixture->site.event);
            if (settled && stages[i].wanted == 0)
                loop_settle(fixture->site.event);
            http_client_close(&client);
            loop_settle(fixture->site.event);
            assert_int_equal(open_descriptors(), descriptors);
        }
    }
    CLEANUP(http_client_close) struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    http_client_ask(&client, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_echo(&client, "GET /echo a=none b=none");
}

/* The 65th waits in the backlog until another leaves. */
static void connections_are_limited(void **state)
{
    enum { LIMIT = 64 };
    struct fixture *fixture = *state;
    struct http_client clients[LIMIT];
    CLEANUP(http_client_close) struct http_client late;
    for (size_t i = 0; i < LIMIT; i++) {
        http_client_unix(&clients[i], fixture->site.event, fixture->site.path);
        http_client_ask(&clients[i], "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_echo(&clients[i], "GET /echo a=none b=none");
    }
    http_client_unix(&late, fixture->site.event, fixture->site.path);
    http_client_ask(&late, "GET /echo?a=late HTTP/1.1\r\nHost: x\r\n\r\n");
    loop_settle(fixture->site.event);
    assert_int_equal(fixture->calls, LIMIT);

    http_client_close(&clients[0]);
    assert_echo(&late, "GET /echo a=late b=none");
    for (size_t i = 1; i < LIMIT; i++)
        http_client_close(&clients[i]);
}

/* Nothing wakes the loop: neither without connections nor with one that is kept and silent. */
static void an_idle_server_sleeps(void **state)
{
    enum { WAIT_US = 300000 };
    struct fixture *fixture = *state;
    assert_int_equal(sd_event_run(fixture->site.event, WAIT_US), 0);

    struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    http_client_ask(&client, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    http_client_expect(&client, 200, NULL);
    loop_settle(fixture->site.event);
    assert_int_equal(sd_event_run(fixture->site.event, WAIT_US), 0);

    http_client_close(&client);
    loop_settle(fixture->site.event);
    assert_int_equal(sd_event_run(fixture->site.event, WAIT_US), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_is_answered, setup, teardown),
        cmocka_unit_test_setup_teardown(the_default_type_is_json, setup, teardown),
        cmocka_unit_test_setup_teardown(queries_are_decoded, setup, teardown),
        cmocka_unit_test_setup_teardown(connections_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(two_requests_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(head_has_no_body, setup, teardown),
        cmocka_unit_test_setup_teardown(other_methods_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(broken_requests_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(bodies_have_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(bodies_of_unknown_size_have_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(big_replies_arrive_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(clients_may_vanish, setup, teardown),
        cmocka_unit_test_setup_teardown(connections_are_limited, setup, teardown),
        cmocka_unit_test_setup_teardown(an_idle_server_sleeps, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
