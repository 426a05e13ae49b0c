// SPDX-License-Identifier: Apache-2.0
/* One server behind many TCP sockets: addresses, methods, limits, and who is put out. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/macro.h"
#include "base/net/socket_address.h"
#include "base/vec.h"
#include "cmocka_all.h"
#include "http_client.h"
#include "loop/http.h"
#include "loop/tcp.h"

enum { LIMIT = 4 };

static const struct ip v4_loopback = { .family = IP_V4, .bytes = { 127, 0, 0, 1 } };
static const struct ip v6_loopback = { .family = IP_V6, .bytes = { [15] = 1 } };
static const struct ip anywhere = { .family = IP_NONE };

struct fixture {
    sd_event *event;
    struct http_server *server;
    VEC(int) sockets;
};

/* What the request was and where it came to; /hang is not answered at all. */
static void handle(const struct http_request *request, struct http_reply *reply, void *context)
{
    char address[IP_STRLEN];
    (void)context;
    if (strcmp(request->path, "/hang") == 0)
        return;
    reply->status = 200;
    reply->content_type = "text/plain";
    reply->body = text_format("%s %s at %s:%u", request->method, request->path,
                              ip_str(&request->local, address), request->local_port);
    reply->size = strlen(reply->body);
    reply->headers[0] = (struct http_header){ "X-One", "nosniff" };
    reply->headers[1] = (struct http_header){ "X-Two", "4294967295" };
}

static void serve(struct fixture *fixture, unsigned silence_s)
{
    const struct http_limits limits = { .connections = LIMIT,
                                        .silence_s = silence_s,
                                        .memory = 4096 };
    const struct http_service service = { .handle = handle, .limits = &limits };
    assert_int_equal(http_server_new(fixture->event, &service, &fixture->server), 0);
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    assert_int_equal(sd_event_new(&fixture->event), 0);
    serve(fixture, 30);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    http_server_free(fixture->server);
    sd_event_unref(fixture->event);
    vec_each(const int, fd, &fixture->sockets)
        close(*fd);
    vec_done(&fixture->sockets);
    free(fixture);
    return 0;
}

/* A socket with a port of the kernel's choice, which the server serves. */
static unsigned add(struct fixture *fixture, const struct ip *ip)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    struct ip bound;
    uint16_t port;
    int fd = -1;
    assert_int_equal(tcp_listen(ip, 0, TCP_ADDRESS_PRESENT, &fd), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    socket_address_read(&address, &bound, &port);
    assert_int_equal(http_server_add(fixture->server, fd), 0);
    assert_int_equal(vec_push(&fixture->sockets, fd), 0);
    return port;
}

static void close_last(struct fixture *fixture)
{
    close(fixture->sockets.items[--fixture->sockets.count]);
}

static void assert_body(struct http_client *client, const char *request, const char *body)
{
    CLEANUP(http_answer_done) struct http_answer answer;
    http_client_ask(client, request);
    http_client_read(client, strncmp(request, "HEAD", 4) == 0, &answer);
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer.body, body);
    assert_non_null(strstr(answer.head, "\r\nX-One: nosniff\r\n"));
    assert_non_null(strstr(answer.head, "\r\nX-Two: 4294967295\r\n"));
}

static void assert_serves(struct fixture *fixture, int family, unsigned port, const char *address)
{
    CLEANUP(http_client_close) struct http_client client;
    AUTOFREE char *body = text_format("GET /x at %s:%u", address, port);
    http_client_tcp(&client, fixture->event, family, port);
    for (int i = 0; i < 2; i++) /* the second on the same connection */
        assert_body(&client, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n", body);
}

static void many_sockets_are_served(void **state)
{
    struct fixture *fixture = *state;
    unsigned four = add(fixture, &v4_loopback), six = add(fixture, &v6_loopback);
    unsigned both = add(fixture, &anywhere);
    for (int i = 0; i < 3; i++) {
        assert_serves(fixture, AF_INET, four, "127.0.0.1");
        assert_serves(fixture, AF_INET6, six, "::1");
        assert_serves(fixture, AF_INET, both, "127.0.0.1");
        assert_serves(fixture, AF_INET6, both, "::1");
    }
    assert_serves(fixture, AF_INET, add(fixture, &v4_loopback), "127.0.0.1");
}

static void a_port_belongs_to_one(void **state)
{
    struct fixture *fixture = *state;
    static const struct ip v4_any = { .family = IP_V4 }, v6_any = { .family = IP_V6 };
    const struct ip *others[] = { &v4_any, &v6_any, &v4_loopback, &anywhere };
    unsigned port = add(fixture, &anywhere);
    int none = -1;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_int_equal(tcp_listen(others[i], (uint16_t)port, TCP_ADDRESS_ANY, &none),
                         -EADDRINUSE);
    assert_int_equal(none, -1);
    close_last(fixture);
    AUTOCLOSE int first = -1;
    assert_int_equal(tcp_listen(&v6_any, (uint16_t)port, TCP_ADDRESS_PRESENT, &first), 0);
    AUTOCLOSE int second = -1; /* v6 alone leaves v4 free */
    assert_int_equal(tcp_listen(&v4_any, (uint16_t)port, TCP_ADDRESS_PRESENT, &second), 0);
}

static void an_address_may_come_later(void **state)
{
    (void)state;
    static const struct ip v4 = { .family = IP_V4, .bytes = { 192, 0, 2, 77 } };
    static const struct ip v6 = { .family = IP_V6, .bytes = { 0x20, 1, 0xd, 0xb8, [15] = 77 } };
    const struct ip *both[] = { &v4, &v6 };
    for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
        int none = -1;
        assert_int_equal(tcp_listen(both[i], 0, TCP_ADDRESS_PRESENT, &none), -EADDRNOTAVAIL);
        AUTOCLOSE int fd = -1;
        assert_int_equal(tcp_listen(both[i], 0, TCP_ADDRESS_ANY, &fd), 0);
        assert_true(fd >= 0);
    }
}

static void every_method_reaches_the_handler(void **state)
{
    static const char *const methods[] = { "GET", "POST", "PUT", "DELETE", "OPTIONS", "BREW" };
    struct fixture *fixture = *state;
    unsigned port = add(fixture, &v4_loopback);
    CLEANUP(http_client_close) struct http_client client;
    http_client_tcp(&client, fixture->event, AF_INET, port);
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        AUTOFREE char *request =
            text_format("%s /m HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", methods[i]);
        AUTOFREE char *body = text_format("%s /m at 127.0.0.1:%u", methods[i], port);
        assert_body(&client, request, body);
    }
    assert_body(&client, "HEAD /m HTTP/1.1\r\nHost: x\r\n\r\n", "");
}

static void it_can_hang_up(void **state)
{
    struct fixture *fixture = *state;
    unsigned port = add(fixture, &v4_loopback);
    CLEANUP(http_client_close) struct http_client client;
    http_client_tcp(&client, fixture->event, AF_INET, port);
    http_client_ask(&client, "GET /hang HTTP/1.1\r\nHost: x\r\n\r\n");
    http_client_wait_closed(&client);
    assert_int_equal(client.received.length, 0);
    assert_serves(fixture, AF_INET, port, "127.0.0.1");
}

static void a_closed_socket_is_gone(void **state)
{
    struct fixture *fixture = *state;
    unsigned other = add(fixture, &v4_loopback), port = add(fixture, &v4_loopback);
    int none = -1;
    CLEANUP(http_client_close) struct http_client client;
    AUTOFREE char *body = text_format("GET /x at 127.0.0.1:%u", port);
    http_client_tcp(&client, fixture->event, AF_INET, port);
    assert_body(&client, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n", body);
    close_last(fixture);
    /* The port is free, and the connection still asks the handler. */
    AUTOCLOSE int again = -1;
    assert_int_equal(tcp_listen(&v4_loopback, (uint16_t)port, TCP_ADDRESS_PRESENT, &again), 0);
    assert_int_equal(tcp_listen(&v4_loopback, (uint16_t)other, TCP_ADDRESS_PRESENT, &none),
                     -EADDRINUSE);
    assert_body(&client, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n", body);
    assert_serves(fixture, AF_INET, other, "127.0.0.1");
}

static void the_crowd_is_not_kept(void **state)
{
    struct fixture *fixture = *state;
    unsigned port = add(fixture, &v4_loopback);
    struct http_client clients[LIMIT];
    for (int i = 0; i < LIMIT; i++) {
        CLEANUP(http_answer_done) struct http_answer answer;
        http_client_tcp(&clients[i], fixture->event, AF_INET, port);
        http_client_ask(&clients[i], "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        http_client_read(&clients[i], false, &answer);
        assert_int_equal(answer.status, 200);
        /* The third would be more than half: it goes, so the fourth is the third again. */
        bool last = strstr(answer.head, "Connection: close\r\n") != NULL;
        assert_int_equal(last, i >= LIMIT / 2);
        if (last)
            http_client_wait_closed(&clients[i]);
    }
    for (int i = 0; i < LIMIT; i++)
        http_client_close(&clients[i]);
}

/* Who only listens is put out for who asks, the oldest first. */
static void the_oldest_makes_room(void **state)
{
    struct fixture *fixture = *state;
    unsigned port = add(fixture, &v4_loopback);
    struct http_client idle[LIMIT + 2];
    for (size_t i = 0; i < ARRAY_SIZE(idle); i++) {
        http_client_tcp(&idle[i], fixture->event, AF_INET, port);
        http_client_ask(&idle[i], "GET / HT");
        loop_settle(fixture->event);
    }
    for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
        assert_int_equal(idle[i].closed, i < 2);

    CLEANUP(http_client_close) struct http_client client;
    CLEANUP(http_answer_done) struct http_answer answer;
    http_client_tcp(&client, fixture->event, AF_INET, port);
    http_client_ask(&client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    http_client_read(&client, false, &answer);
    assert_int_equal(answer.status, 200);
    http_client_wait_closed(&idle[2]);
    assert_false(idle[3].closed);
    for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
        http_client_close(&idle[i]);
}

static void the_silent_are_closed(void **state)
{
    struct fixture *fixture = *state;
    http_server_free(fixture->server);
    serve(fixture, 1);
    unsigned port = add(fixture, &v4_loopback);
    CLEANUP(http_client_close) struct http_client client;
    http_client_tcp(&client, fixture->event, AF_INET, port);
    http_client_ask(&client, "GET / HTTP/1.1\r\nHo");
    http_client_wait_closed(&client);
}

static void malformed_requests_are_refused(void **state)
{
    static const char *const requests[] = {
        "\r\n\r\n\r\nGET\r\n\r\n",
        "GET / HTTP/1.1\r\nHost x\r\n\r\n",
        "\x16\x03\x01\x02\x01\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    };
    struct fixture *fixture = *state;
    unsigned port = add(fixture, &v4_loopback);
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        CLEANUP(http_client_close) struct http_client client;
        CLEANUP(http_answer_done) struct http_answer answer;
        http_client_tcp(&client, fixture->event, AF_INET, port);
        http_client_ask(&client, requests[i]);
        shutdown(client.fd, SHUT_WR);
        http_client_read(&client, false, &answer);
        if (answer.status != 0 && (answer.status < 400 || answer.status > 499))
            fail_msg("request %zu: %d", i, answer.status);
    }
    /* Headers beyond the memory of a connection. */
    AUTOTEXT struct text huge = { 0 };
    text_add(&huge, "GET / HTTP/1.1\r\nHost: x\r\nX: ");
    for (int i = 0; i < 5000; i++)
        text_add_char(&huge, 'a');
    text_add(&huge, "\r\n\r\n");
    CLEANUP(http_client_close) struct http_client client;
    CLEANUP(http_answer_done) struct http_answer answer;
    http_client_tcp(&client, fixture->event, AF_INET, port);
    (void)http_client_ask(&client, text_str(&huge));
    http_client_read(&client, false, &answer);
    assert_true(answer.status == 0 || answer.status == 413 || answer.status == 431);
    assert_serves(fixture, AF_INET, port, "127.0.0.1");
}

/* The socket stays readable all the while; the loop must rest, and come back. */
static void without_descriptors_it_rests(void **state)
{
    struct fixture *fixture = *state;
    unsigned port = add(fixture, &v4_loopback);
    CLEANUP(http_client_close) struct http_client client;
    http_client_tcp(&client, fixture->event, AF_INET, port);
    http_client_ask(&client, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){ .rlim_cur = (rlim_t)client.fd, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int runs = 0;
    while (sd_event_run(fixture->event, 0) > 0 && runs < 1000)
        runs++;
    assert_in_range(runs, 1, 10);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);

    CLEANUP(http_answer_done) struct http_answer answer;
    http_client_read(&client, false, &answer);
    assert_int_equal(answer.status, 200);
}

static void free_closes_everything(void **state)
{
    struct fixture *fixture = *state;
    unsigned port = add(fixture, &v4_loopback);
    CLEANUP(http_client_close) struct http_client idle;
    http_client_tcp(&idle, fixture->event, AF_INET, port);
    http_client_ask(&idle, "GET / HT");
    loop_settle(fixture->event);
    http_server_free(TAKE_PTR(fixture->server));
    http_client_wait_closed(&idle);
    size_t descriptors = open_descriptors();
    serve(fixture, 30);
    http_server_free(TAKE_PTR(fixture->server));
    assert_int_equal(open_descriptors(), descriptors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(many_sockets_are_served, setup, teardown),
        cmocka_unit_test_setup_teardown(a_port_belongs_to_one, setup, teardown),
        cmocka_unit_test_setup_teardown(an_address_may_come_later, setup, teardown),
        cmocka_unit_test_setup_teardown(every_method_reaches_the_handler, setup, teardown),
        cmocka_unit_test_setup_teardown(it_can_hang_up, setup, teardown),
        cmocka_unit_test_setup_teardown(a_closed_socket_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(the_crowd_is_not_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(the_oldest_makes_room, setup, teardown),
        cmocka_unit_test_setup_teardown(the_silent_are_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(malformed_requests_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(without_descriptors_it_rests, setup, teardown),
        cmocka_unit_test_setup_teardown(free_closes_everything, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
