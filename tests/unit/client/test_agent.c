// SPDX-License-Identifier: Apache-2.0
/*
 * Asking the agent: against the real HTTP server in a child process, against servers that
 * misbehave, and against sockets where nobody answers.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/text.h"
#include "client/agent.h"
#include "cmocka_all.h"
#include "loop/http.h"

enum { BIG = 5 * 1024 * 1024, TIMEOUT_MS = 60000 };

struct fixture {
    char directory[32];
    char path[64];
    pid_t child;
};

static void handle(const struct http_request *request, struct http_reply *reply, void *context)
{
    (void)context;
    const char *a = http_query(request, "address");
    reply->status = strcmp(request->path, "/none") == 0 ? 404 : 200;
    if (strcmp(request->path, "/big") == 0) {
        reply->body = malloc(BIG);
        memset(reply->body, 'x', BIG);
        reply->size = BIG;
    } else if (strcmp(request->path, "/empty") != 0) {
        reply->body = text_format("%s %s %s %d %u", request->method, request->path, a ? a : "-",
                                  request->peer_known, request->peer_uid);
        reply->size = strlen(reply->body);
    }
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    strcpy(fixture->directory, "/tmp/test_agent.XXXXXX");
    assert_non_null(mkdtemp(fixture->directory));
    snprintf(fixture->path, sizeof(fixture->path), "%s/sock", fixture->directory);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    if (fixture->child > 0) {
        kill(fixture->child, SIGKILL);
        waitpid(fixture->child, NULL, 0);
    }
    (void)unlink(fixture->path);
    assert_int_equal(rmdir(fixture->directory), 0);
    free(fixture);
    return 0;
}

/* The child's part; it ends by a signal. */
static void serve(const char *path, int ready_fd)
{
    const struct http_service service = { .handle = handle };
    sd_event *event = NULL;
    struct http_server *server = NULL;
    if (sd_event_new(&event) < 0 ||
        http_listen_unix(event, path, (gid_t)-1, &service, &server) < 0 ||
        write(ready_fd, "x", 1) != 1)
        _exit(1);
    (void)sd_event_loop(event);
    _exit(1);
}

static void start_server(struct fixture *fixture)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    fixture->child = fork();
    assert_true(fixture->child >= 0);
    if (fixture->child == 0)
        serve(fixture->path, fds[1]);
    close(fds[1]);
    char byte;
    assert_int_equal(read(fds[0], &byte, 1), 1);
    close(fds[0]);
}

static int bind_socket(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* Accepts, reads something, says `reply`, and hangs up. */
static void answer_once(int fd, const char *reply)
{
    char buffer[4096];
    int peer = accept(fd, NULL, NULL);
    if (read(peer, buffer, sizeof(buffer)) <= 0 ||
        write(peer, reply, strlen(reply)) != (ssize_t)strlen(reply))
        _exit(1);
    close(peer);
}

/* A server of one reply, or two. */
static void start_liar(struct fixture *fixture, const char *reply, const char *second)
{
    int fd = bind_socket(fixture->path);
    assert_int_equal(listen(fd, 1), 0);
    fixture->child = fork();
    assert_true(fixture->child >= 0);
    if (fixture->child == 0) {
        answer_once(fd, reply);
        if (second)
            answer_once(fd, second);
        _exit(0);
    }
    close(fd);
}

static void assert_get(const struct fixture *fixture, const char *path, long status,
                       const char *expected)
{
    AUTOFREE char *body = NULL;
    long got = 0;
    assert_int_equal(agent_get(fixture->path, path, TIMEOUT_MS, &got, &body), 0);
    assert_int_equal(got, status);
    assert_string_equal(body, expected);
}

static void assert_error(const struct fixture *fixture, int64_t timeout_ms, int expected)
{
    char untouched[1], *body = untouched;
    long status = -1;
    assert_int_equal(agent_get(fixture->path, "/v1/status", timeout_ms, &status, &body), expected);
    assert_int_equal(status, -1);
    assert_ptr_equal(body, untouched);
}

static void the_agent_answers(void **state)
{
    struct fixture *fixture = *state;
    start_server(fixture);
    AUTOFREE char *plain = text_format("GET /v1/status - 1 %u", getuid());
    assert_get(fixture, "/v1/status", 200, plain);
    AUTOFREE char *query = text_format("GET /v1/explain 2001:db8::1 1 %u", getuid());
    assert_get(fixture, "/v1/explain?address=2001:db8::1", 200, query);
    AUTOFREE char *none = text_format("GET /none - 1 %u", getuid());
    assert_get(fixture, "/none", 404, none);
    assert_get(fixture, "/empty", 200, "");
}

static void the_answer_may_be_big(void **state)
{
    struct fixture *fixture = *state;
    start_server(fixture);
    AUTOFREE char *body = NULL;
    long status = 0;
    assert_int_equal(agent_get(fixture->path, "/big", TIMEOUT_MS, &status, &body), 0);
    assert_int_equal(strlen(body), BIG);
    assert_int_equal(strspn(body, "x"), BIG);
}

static void proxies_are_not_asked(void **state)
{
    struct fixture *fixture = *state;
    start_server(fixture);
    setenv("http_proxy", "http://127.0.0.1:1/", 1);
    setenv("all_proxy", "socks5://127.0.0.1:1/", 1);
    assert_get(fixture, "/empty", 200, "");
    unsetenv("http_proxy");
    unsetenv("all_proxy");
}

static void nobody_is_there(void **state)
{
    struct fixture *fixture = *state;
    assert_error(fixture, TIMEOUT_MS, -ENOENT);
    close(bind_socket(fixture->path));
    assert_error(fixture, TIMEOUT_MS, -ECONNREFUSED);

    char *body = NULL;
    long status;
    AUTOFREE char *longer = text_format("/%0200d", 0);
    assert_int_equal(agent_get(longer, "/", TIMEOUT_MS, &status, &body), -ENAMETOOLONG);
    assert_null(body);
}

/* In a child, because only root may become somebody else, and can't come back. */
static void permission_is_needed(void **state)
{
    struct fixture *fixture = *state;
    if (getuid() != 0)
        skip();
    assert_int_equal(chmod(fixture->directory, 0755), 0);
    start_server(fixture);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char *body = NULL;
        long status;
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(100);
        _exit(-agent_get(fixture->path, "/v1/status", TIMEOUT_MS, &status, &body));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EACCES);
}

static void silence_times_out(void **state)
{
    struct fixture *fixture = *state;
    int fd = bind_socket(fixture->path);
    assert_int_equal(listen(fd, 1), 0);
    assert_error(fixture, 50, -ETIMEDOUT);
    close(fd);
}

static void nonsense_is_a_protocol_error(void **state)
{
    struct fixture *fixture = *state;
    start_liar(fixture, "SSH-2.0-OpenSSH_9.2\r\n", NULL);
    assert_error(fixture, TIMEOUT_MS, -EPROTO);
}

static void half_an_answer_is_a_protocol_error(void **state)
{
    struct fixture *fixture = *state;
    start_liar(fixture, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"a\"", NULL);
    assert_error(fixture, TIMEOUT_MS, -EPROTO);
}

/* As when the agent ends with the connection taken in, and the next one serves the socket. */
static void who_is_hung_up_on_asks_again(void **state)
{
    struct fixture *fixture = *state;
    start_liar(fixture, "", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    assert_get(fixture, "/", 200, "hi");
}

static void but_not_for_ever(void **state)
{
    struct fixture *fixture = *state;
    start_liar(fixture, "", "");
    assert_error(fixture, TIMEOUT_MS, -ECONNRESET);
}

static void redirects_are_not_followed(void **state)
{
    struct fixture *fixture = *state;
    start_liar(fixture,
               "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
               "Content-Length: 2\r\n\r\nno",
               NULL);
    assert_get(fixture, "/", 302, "no");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_agent_answers, setup, teardown),
        cmocka_unit_test_setup_teardown(the_answer_may_be_big, setup, teardown),
        cmocka_unit_test_setup_teardown(proxies_are_not_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_is_there, setup, teardown),
        cmocka_unit_test_setup_teardown(permission_is_needed, setup, teardown),
        cmocka_unit_test_setup_teardown(silence_times_out, setup, teardown),
        cmocka_unit_test_setup_teardown(nonsense_is_a_protocol_error, setup, teardown),
        cmocka_unit_test_setup_teardown(half_an_answer_is_a_protocol_error, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_hung_up_on_asks_again, setup, teardown),
        cmocka_unit_test_setup_teardown(but_not_for_ever, setup, teardown),
        cmocka_unit_test_setup_teardown(redirects_are_not_followed, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
