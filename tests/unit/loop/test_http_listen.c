// SPDX-License-Identifier: Apache-2.0
/* The sockets of the HTTP server: stale and live files, modes, and TCP on both families. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "cmocka_all.h"
#include "http_client.h"
#include "loop/http.h"

struct fixture {
    struct http_site site;
};

/* Answers with the context, a string, and whether the peer is known. */
static void handle(const struct http_request *request, struct http_reply *reply, void *context)
{
    reply->status = 200;
    reply->body = text_format("%s %d", (const char *)context, request->peer_known);
    reply->size = strlen(reply->body);
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    http_site_open(&fixture->site, NULL);
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

static int listen_at(struct fixture *fixture, const char *name, struct http_server **ret_server)
{
    return http_listen_unix(fixture->site.event, fixture->site.path, (gid_t)-1,
                            SERVICE(handle, name), ret_server);
}

static void assert_answer(struct http_client *client, const char *expected)
{
    CLEANUP(http_answer_done) struct http_answer answer;
    http_client_ask(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    http_client_read(client, false, &answer);
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer.body, expected);
    http_client_close(client);
}

static void assert_serves(struct fixture *fixture, const char *expected)
{
    struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    assert_answer(&client, expected);
}

/* A bound socket whose owner is gone; `listening` leaves the owner there. */
static int leave_socket(const char *path, bool listening)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    if (listening) {
        assert_int_equal(listen(fd, 0), 0);
        return fd;
    }
    close(fd);
    return -1;
}

static void a_stale_socket_is_replaced(void **state)
{
    struct fixture *fixture = *state;
    (void)leave_socket(fixture->site.path, false);
    struct http_server *server = NULL;
    assert_int_equal(listen_at(fixture, "new", &server), 0);
    assert_serves(fixture, "new 1");
    http_server_free(server);
    assert_int_equal(access(fixture->site.path, F_OK), -1);
}

static void a_live_socket_is_respected(void **state)
{
    struct fixture *fixture = *state;
    struct http_server *first = NULL, *second = NULL;
    assert_int_equal(listen_at(fixture, "first", &first), 0);
    size_t descriptors = open_descriptors();
    for (int i = 0; i < 3; i++)
        assert_int_equal(listen_at(fixture, "second", &second), -EADDRINUSE);
    assert_null(second);
    assert_int_equal(open_descriptors(), descriptors);
    assert_serves(fixture, "first 1");
    http_server_free(first);
}

/* Its owner hangs: nobody accepts and the backlog is full. It is alive nevertheless. */
static void a_busy_socket_is_respected(void **state)
{
    struct fixture *fixture = *state;
    int fd = leave_socket(fixture->site.path, true);
    struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    struct http_server *server = NULL;
    for (int i = 0; i < 3; i++)
        assert_int_equal(listen_at(fixture, "new", &server), -EADDRINUSE);
    http_client_close(&client);
    close(fd);
    assert_int_equal(unlink(fixture->site.path), 0);
}

/* As the service manager does: it keeps the socket, each server in turn gets a copy. */
static void a_passed_socket_outlives_the_server(void **state)
{
    struct fixture *fixture = *state;
    int fd = leave_socket(fixture->site.path, true);
    struct http_server *server = NULL;
    assert_int_equal(
        http_listen_fd(fixture->site.event, dup(fd), SERVICE(handle, "first"), &server), 0);
    assert_serves(fixture, "first 1");
    http_server_free(server);
    size_t descriptors = open_descriptors(); /* the loop's own clock among them, from now on */

    /* Who comes when nobody serves is served by the next one. */
    struct http_client client;
    http_client_unix(&client, fixture->site.event, fixture->site.path);
    assert_int_equal(
        http_listen_fd(fixture->site.event, dup(fd), SERVICE(handle, "second"), &server), 0);
    assert_answer(&client, "second 1");
    http_server_free(server);
    assert_int_equal(open_descriptors(), descriptors);
    close(fd);
    assert_int_equal(unlink(fixture->site.path), 0);
}

static void what_cannot_be_served_is_closed(void **state)
{
    struct fixture *fixture = *state;
    struct http_server *server = NULL;
    size_t descriptors = open_descriptors();
    int sockets[2], pipes[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    assert_int_equal(pipe(pipes), 0);
    int refused[] = { sockets[0], sockets[1], pipes[0], pipes[1] };
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        assert_int_equal(
            http_listen_fd(fixture->site.event, refused[i], SERVICE(handle, "no"), &server),
            -EINVAL);
    assert_int_equal(http_listen_fd(fixture->site.event, socket(AF_INET, SOCK_DGRAM, 0),
                                    SERVICE(handle, NULL), &server),
                     -EINVAL);
    assert_int_equal(open_descriptors(), descriptors);
    assert_null(server);
}

static void other_files_stay(void **state)
{
    struct fixture *fixture = *state;
    struct http_server *server = NULL;
    FILE *file = fopen(fixture->site.path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(listen_at(fixture, "new", &server), -ENOTSOCK);
    assert_int_equal(unlink(fixture->site.path), 0);

    assert_int_equal(symlink("/nonexistent", fixture->site.path), 0);
    assert_int_equal(listen_at(fixture, "new", &server), -ENOTSOCK);
    assert_int_equal(unlink(fixture->site.path), 0);
}

static void bad_paths_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct http_server *server = NULL;
    AUTOFREE char *missing = text_format("%s/no/sock", fixture->site.directory);
    assert_int_equal(
        http_listen_unix(fixture->site.event, missing, (gid_t)-1, SERVICE(handle, "x"), &server),
        -ENOENT);
    AUTOFREE char *longer = text_format("%s/%0100d", fixture->site.directory, 0);
    assert_int_equal(
        http_listen_unix(fixture->site.event, longer, (gid_t)-1, SERVICE(handle, "x"), &server),
        -ENAMETOOLONG);
    assert_null(server);
}

static void owner_and_mode_are_set(void **state)
{
    struct fixture *fixture = *state;
    struct http_server *server = NULL;
    gid_t gid = getuid() == 0 ? 4321 : getgid();
    mode_t before = umask(0);
    for (int i = 0; i < 2; i++) {
        umask(i ? 0 : 0777);
        assert_int_equal(http_listen_unix(fixture->site.event, fixture->site.path, gid,
                                          SERVICE(handle, "x"), &server),
                         0);
        struct stat st;
        assert_int_equal(stat(fixture->site.path, &st), 0);
        assert_int_equal(st.st_mode, S_IFSOCK | 0660);
        assert_int_equal(st.st_gid, gid);
        assert_int_equal(st.st_uid, geteuid());
        http_server_free(server);
    }
    umask(before);
}

/* Somebody removed our file and another agent came: its file stays when we go. */
static void the_file_of_another_stays(void **state)
{
    struct fixture *fixture = *state;
    struct http_server *first = NULL, *second = NULL;
    assert_int_equal(listen_at(fixture, "first", &first), 0);
    assert_int_equal(unlink(fixture->site.path), 0);
    assert_int_equal(listen_at(fixture, "second", &second), 0);
    http_server_free(first);
    assert_serves(fixture, "second 1");
    http_server_free(second);
    assert_int_equal(access(fixture->site.path, F_OK), -1);
}

static void free_closes_everything(void **state)
{
    struct fixture *fixture = *state;
    size_t descriptors = 0;
    for (int round = 0; round < 3; round++) {
        struct http_server *server = NULL;
        assert_int_equal(listen_at(fixture, "x", &server), 0);
        struct http_client idle, busy;
        http_client_unix(&idle, fixture->site.event, fixture->site.path);
        http_client_unix(&busy, fixture->site.event, fixture->site.path);
        http_client_ask(&busy, "GET / HT");
        loop_settle(fixture->site.event);
        http_server_free(server);
        http_client_wait_closed(&idle);
        http_client_wait_closed(&busy);
        http_client_close(&idle);
        http_client_close(&busy);
        /* The first round leaves what the loop itself opens for timers. */
        if (round == 0)
            descriptors = open_descriptors();
        assert_int_equal(open_descriptors(), descriptors);
    }
    http_server_free(NULL);
}

/* A port that was free a moment ago. */
static unsigned free_port(int family)
{
    struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (family == AF_INET)
        memcpy(&address, &v4, sizeof(v4));
    socklen_t size = family == AF_INET ? sizeof(v4) : sizeof(address);
    AUTOCLOSE int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (bind(fd, (struct sockaddr *)&address, size) < 0)
        return 0;
    size = sizeof(address);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    return ntohs(address.sin6_port); /* at the same place in both families */
}

/* Serves a free loopback port; others may take it first, so several are tried. */
static unsigned listen_tcp(struct fixture *fixture, int family, struct http_server **ret_server)
{
    for (int i = 0; i < 20; i++) {
        unsigned port = free_port(family);
        if (port == 0)
            return 0;
        AUTOFREE char *endpoint =
            text_format(family == AF_INET ? "127.0.0.1:%u" : "[::1]:%u", port);
        int r = http_listen_tcp(fixture->site.event, endpoint, SERVICE(handle, "tcp"), ret_server);
        if (r == 0)
            return port;
        assert_int_equal(r, -EADDRINUSE);
    }
    fail_msg("no free port in twenty tries");
    return 0;
}

static void tcp_is_served(void **state)
{
    static const int families[] = { AF_INET, AF_INET6 };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        struct http_server *server = NULL, *second = NULL;
        unsigned port = listen_tcp(fixture, families[i], &server);
        if (port == 0 && families[i] == AF_INET6) {
            print_message("no IPv6 loopback here\n");
            continue;
        }
        struct http_client client;
        http_client_tcp(&client, fixture->site.event, families[i], port);
        assert_answer(&client, "tcp 0"); /* nobody vouches for the peer */

        AUTOFREE char *endpoint =
            text_format(families[i] == AF_INET ? "127.0.0.1:%u" : "[::1]:%u", port);
        assert_int_equal(
            http_listen_tcp(fixture->site.event, endpoint, SERVICE(handle, "x"), &second),
            -EADDRINUSE);

        /* The server hangs up first and so leaves TIME_WAIT, which must not keep the next out. */
        http_client_tcp(&client, fixture->site.event, families[i], port);
        http_client_ask(&client, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        http_client_wait_closed(&client);
        http_client_close(&client);
        http_server_free(server);
        assert_int_equal(
            http_listen_tcp(fixture->site.event, endpoint, SERVICE(handle, "again"), &server), 0);
        http_client_tcp(&client, fixture->site.event, families[i], port);
        assert_answer(&client, "again 0");
        http_server_free(server);
    }
}

static void handle_big(const struct http_request *request, struct http_reply *reply, void *context)
{
    (void)request;
    (void)context;
    reply->status = 200;
    reply->size = 5 * 1024 * 1024;
    reply->body = calloc(1, reply->size);
}

static void tcp_carries_big_replies(void **state)
{
    struct fixture *fixture = *state;
    struct http_server *server = NULL;
    unsigned port = listen_tcp(fixture, AF_INET, &server);
    http_server_free(server);
    AUTOFREE char *endpoint = text_format("127.0.0.1:%u", port);
    assert_int_equal(
        http_listen_tcp(fixture->site.event, endpoint, SERVICE(handle_big, NULL), &server), 0);
    struct http_client client;
    http_client_tcp(&client, fixture->site.event, AF_INET, port);
    http_client_ask(&client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    CLEANUP(http_answer_done) struct http_answer answer;
    http_client_read(&client, false, &answer);
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.size, 5 * 1024 * 1024);
    http_client_close(&client);
    http_server_free(server);
}

static void bad_endpoints_are_refused(void **state)
{
    static const char *const endpoints[] = {
        "",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        ":80",
        "localhost:80",
        "127.0.0.1:80x",
        "127.0.0.1: 80",
        "127.0.0.1:+80",
        "::1:80",
        "[::1]",
        "[::1]80",
        "[::1:80",
        "[127.0.0.1]:80",
        "[::1%lo]:80",
        "127.0.0.1:-80",
        "127.0.0.1:080808",
        "127.0.0.1:80:80",
        "[]:80",
    };
    struct fixture *fixture = *state;
    struct http_server *server = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(endpoints); i++)
        if (http_listen_tcp(fixture->site.event, endpoints[i], SERVICE(handle, "x"), &server) !=
            -EINVAL)
            fail_msg("\"%s\" is accepted", endpoints[i]);
    /* A documentation address, which no machine has. */
    assert_int_equal(
        http_listen_tcp(fixture->site.event, "192.0.2.1:80", SERVICE(handle, "x"), &server),
        -EADDRNOTAVAIL);
    assert_null(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stale_socket_is_replaced, setup, teardown),
        cmocka_unit_test_setup_teardown(a_live_socket_is_respected, setup, teardown),
        cmocka_unit_test_setup_teardown(a_busy_socket_is_respected, setup, teardown),
        cmocka_unit_test_setup_teardown(a_passed_socket_outlives_the_server, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_served_is_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(other_files_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_paths_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(owner_and_mode_are_set, setup, teardown),
        cmocka_unit_test_setup_teardown(the_file_of_another_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(free_closes_everything, setup, teardown),
        cmocka_unit_test_setup_teardown(tcp_is_served, setup, teardown),
        cmocka_unit_test_setup_teardown(tcp_carries_big_replies, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_endpoints_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
