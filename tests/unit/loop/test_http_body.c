// SPDX-License-Identifier: Apache-2.0
/* Bodies of requests: kept within their limit, in time, and only of those whom the service admits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmocka_all.h"
#include "http_client.h"
#include "loop/http.h"

enum { LIMIT = 1000 };

struct fixture {
    struct http_site site;
    int calls, admissions;
};

static int64_t later_ms; /* the clock is so far ahead */

int64_t __real_clock_mono_ms(void);
int64_t __wrap_clock_mono_ms(void);

int64_t __wrap_clock_mono_ms(void)
{
    return __real_clock_mono_ms() + later_ms;
}

static void reply_json(struct http_reply *reply, unsigned status, char *body)
{
    reply->status = status;
    reply->body = body;
    reply->size = strlen(body);
}

/* Bodies are kept at /kept, dropped at /dropped, and nobody may ask for /refused. */
static size_t admit(const struct http_request *request, struct http_reply *reply, void *context)
{
    struct fixture *fixture = context;
    fixture->admissions++;
    assert_null(request->body);
    assert_true(request->peer_known);
    if (strcmp(request->path, "/refused") == 0)
        reply_json(reply, 403, strdup("no\n"));
    return strcmp(request->path, "/kept") == 0 ? LIMIT : 0;
}

static void handle(const struct http_request *request, struct http_reply *reply, void *context)
{
    struct fixture *fixture = context;
    const char *type = http_header(request, "content-type");
    fixture->calls++;
    reply_json(reply, 200,
               text_format("%d %s %zu %s", http_has_body(request), type ? type : "-",
                           request->body_size, request->body ? request->body : "none"));
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    const struct http_service service = { .handle = handle, .admit = admit, .context = fixture };
    http_site_open(&fixture->site, &service);
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

static char *post_of(const char *path, size_t length)
{
    return text_format("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\n"
                       "Content-Length: %zu\r\n\r\n",
                       path, length);
}

static void a_body_arrives_whole(void **state)
{
    static const char body[] = "{\"a\": [1, 2]}";
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    AUTOFREE char *head = post_of("/kept", strlen(body));

    for (size_t piece = 1; piece <= sizeof(body); piece += 4) {
        http_client_ask(&client, head);
        for (size_t at = 0; at < strlen(body); at += piece) {
            size_t left = strlen(body) - at;
            assert_true(http_client_send(&client, body + at, left < piece ? left : piece));
            loop_settle(fixture->site.event);
        }
        http_client_expect(&client, 200, "1 a/b 13 {\"a\": [1, 2]}");
    }
    http_client_ask(&client, "POST /kept HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                             "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    http_client_expect(&client, 200, "1 - 5 abcde");
}

static void what_is_not_admitted_is_dropped(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    AUTOFREE char *head = post_of("/dropped", 3), *none = post_of("/kept", 0);
    http_client_ask(&client, head);
    http_client_ask(&client, "abc");
    http_client_expect(&client, 200, "1 a/b 0 none");
    http_client_ask(&client, none);
    http_client_expect(&client, 200, "0 a/b 0 none");
    http_client_ask(&client, "GET /kept HTTP/1.1\r\nHost: x\r\n\r\n");
    http_client_expect(&client, 200, "0 - 0 none");
}

static void a_limit_is_kept(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client, above;
    AUTOFREE char *body = calloc(1, LIMIT + 2);
    AUTOFREE char *head = post_of("/kept", LIMIT), *more = post_of("/kept", LIMIT + 1);
    AUTOFREE char *expected = text_format("1 a/b %d %s", LIMIT, (char *)memset(body, 'x', LIMIT));
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    http_client_ask(&client, head);
    http_client_ask(&client, body);
    http_client_expect(&client, 200, expected);

    /* Told of the size, nothing is waited for. */
    http_client_unix(&above, fixture->site.event, fixture->site.path);
    http_client_ask(&above, more);
    http_client_expect(&above, 413, "{\"error\":\"Content Too Large\"}\n");
    http_client_wait_closed(&above);
    assert_int_equal(fixture->calls, 1);
}

static void so_it_is_without_a_length(void **state)
{
    static const char chunked[] = "POST /kept HTTP/1.1\r\nHost: x\r\n"
                                  "Transfer-Encoding: chunked\r\n\r\n";
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client, endless;
    AUTOFREE char *body = calloc(1, LIMIT + 1);
    AUTOFREE char *chunk = text_format("%x\r\n%s\r\n", LIMIT, (char *)memset(body, 'x', LIMIT));
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    http_client_ask(&client, chunked);
    http_client_ask(&client, chunk);
    http_client_ask(&client, "1\r\nx\r\n0\r\n\r\n");
    http_client_expect(&client, 413, "{\"error\":\"Content Too Large\"}\n");

    http_client_unix(&endless, fixture->site.event, fixture->site.path);
    http_client_ask(&endless, chunked);
    int sent = 0;
    while (sent < 10000 && http_client_ask(&endless, chunk))
        sent++;
    assert_in_range(sent, 16, 1000);
    http_client_wait_closed(&endless);
    assert_int_equal(fixture->calls, 0);
}

/* The body never comes, and is not missed. */
static void who_is_refused_is_told_before_the_body(void **state)
{
    struct fixture *fixture = *state;
    AUTOFREE char *head = post_of("/refused", LIMIT);
    static const char patient[] = "POST /refused HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                                  "Content-Length: 10\r\n\r\n";
    const char *requests[] = { head, patient };
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        CLEANUP(http_client_close) struct http_client client;
        http_client_unix(&client, fixture->site.event, fixture->site.path);
        http_client_ask(&client, requests[i]);
        http_client_expect(&client, 403, "no\n");
        http_client_wait_closed(&client);
    }
    assert_int_equal(fixture->admissions, 2);
    assert_int_equal(fixture->calls, 0);
}

static void who_is_admitted_is_asked_for_the_body(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    http_client_ask(&client, "POST /kept HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                             "Content-Length: 3\r\n\r\n");
    http_client_expect(&client, 100, "");
    http_client_ask(&client, "abc");
    http_client_expect(&client, 200, "1 - 3 abc");
}

static void a_slow_body_is_not_waited_for(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_client_close) struct http_client slow, patient;
    AUTOFREE char *head = post_of("/kept", 10);
    http_client_unix(&slow, fixture->site.event, fixture->site.path);
    http_client_unix(&patient, fixture->site.event, fixture->site.path);
    http_client_ask(&slow, head);
    http_client_ask(&patient, head);
    for (int i = 0; i < 9; i++) {
        http_client_ask(&slow, "x");
        loop_settle(fixture->site.event);
    }
    later_ms = 9000; /* in time, so far */
    http_client_ask(&patient, "0123456789");
    http_client_expect(&patient, 200, "1 a/b 10 0123456789");
    later_ms = 11000;
    http_client_ask(&slow, "x");
    http_client_wait_closed(&slow);
    assert_int_equal(slow.received.length, 0);
    assert_int_equal(fixture->calls, 1);
}

static void senders_may_vanish(void **state)
{
    struct fixture *fixture = *state;
    size_t descriptors = open_descriptors();
    AUTOFREE char *head = post_of("/kept", 10);
    for (int sent = 0; sent < 10; sent++) {
        struct http_client client;
        http_client_unix(&client, fixture->site.event, fixture->site.path);
        http_client_ask(&client, head);
        http_client_send(&client, "0123456789", (size_t)sent);
        loop_settle(fixture->site.event);
        http_client_close(&client);
        loop_settle(fixture->site.event);
        assert_int_equal(open_descriptors(), descriptors);
    }
    assert_int_equal(fixture->calls, 0);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(a_body_arrives_whole),
        WITH_SERVER(what_is_not_admitted_is_dropped),
        WITH_SERVER(a_limit_is_kept),
        WITH_SERVER(so_it_is_without_a_length),
        WITH_SERVER(who_is_refused_is_told_before_the_body),
        WITH_SERVER(who_is_admitted_is_asked_for_the_body),
        WITH_SERVER(a_slow_body_is_not_waited_for),
        WITH_SERVER(senders_may_vanish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
