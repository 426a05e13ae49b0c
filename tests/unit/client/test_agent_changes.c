// SPDX-License-Identifier: Apache-2.0
/*
 * Hearing of changes: against a child process that says and does what it is told to, by a pipe. Of
 * the clock only this side is moved.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/text.h"
#include "client/agent_changes.h"
#include "cmocka_all.h"

enum { LONG_MS = 60000, SHORT_MS = 50 };

struct fixture {
    char directory[32], path[64];
    pid_t child;
    int orders; /* what the child shall do, a letter each */
    int done;   /* a byte for each that is done */
    struct agent_changes *changes;
};

static int64_t later_ms, frozen_ms; /* the clock is so far ahead; it stands still at a time, or 0 */

int64_t __real_clock_mono_ms(void);
int64_t __wrap_clock_mono_ms(void);

int64_t __wrap_clock_mono_ms(void)
{
    return (frozen_ms ? frozen_ms : __real_clock_mono_ms()) + later_ms;
}

static void say(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) < 0)
        _exit(2);
}

/* Takes the next one who asks. */
static int take(int listening, int client)
{
    char request[4096];
    if (client >= 0)
        close(client);
    client = accept(listening, NULL, NULL);
    if (client < 0 || read(client, request, sizeof(request)) <= 0 ||
        strncmp(request, "GET /v1/changes ", 16) != 0)
        _exit(3);
    return client;
}

static int obey(char order, int listening, int client)
{
    static const char stream[] =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{1}\n\r\n";
    static const char none[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\n{}\n";
    switch (order) {
    case 's': /* takes a reader, and says the first line */
        client = take(listening, client);
        say(client, stream);
        break;
    case 'o': /* an older agent */
        client = take(listening, client);
        say(client, none);
        break;
    case 't': /* says nothing */
        client = take(listening, client);
        break;
    case 'l':
        say(client, "4\r\n{2}\n\r\n");
        break;
    case 'p': /* a piece of a line */
        say(client, "2\r\n{2\r\n");
        break;
    default: /* hangs up */
        close(client);
        client = -1;
        break;
    }
    return client;
}

static void serve(int listening, int orders, int done)
{
    char order;
    int client = -1;
    while (read(orders, &order, 1) == 1) {
        client = obey(order, listening, client);
        say(done, ".");
    }
    _exit(0);
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 10), 0);
    return fd;
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    int orders[2], done[2];
    assert_non_null(fixture);
    strcpy(fixture->directory, "/tmp/test_changes.XXXXXX");
    assert_non_null(mkdtemp(fixture->directory));
    snprintf(fixture->path, sizeof(fixture->path), "%s/sock", fixture->directory);
    int listening = listen_at(fixture->path);
    assert_int_equal(pipe(orders), 0);
    assert_int_equal(pipe(done), 0);
    fixture->child = fork();
    assert_true(fixture->child >= 0);
    if (fixture->child == 0) {
        close(orders[1]);
        serve(listening, orders[0], done[1]);
    }
    close(listening);
    close(orders[0]);
    close(done[1]);
    fixture->orders = orders[1];
    fixture->done = done[0];
    assert_int_equal(agent_changes_new(fixture->path, &fixture->changes), 0);
    later_ms = frozen_ms = 0;
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    agent_changes_free(fixture->changes);
    close(fixture->orders);
    close(fixture->done);
    kill(fixture->child, SIGKILL);
    assert_int_equal(waitpid(fixture->child, NULL, 0), fixture->child);
    (void)unlink(fixture->path);
    assert_int_equal(rmdir(fixture->directory), 0);
    free(fixture);
    return 0;
}

static void order(struct fixture *fixture, const char *letters)
{
    assert_int_equal(write(fixture->orders, letters, strlen(letters)), (ssize_t)strlen(letters));
}

/* Until the child has done so many. */
static void await(struct fixture *fixture, int count)
{
    char byte;
    for (; count > 0; count--)
        assert_int_equal(read(fixture->done, &byte, 1), 1);
}

/* Returns only because something was told, or the stream ended: a minute is too long for a test. */
static void hear(struct fixture *fixture)
{
    int64_t began_ms = __real_clock_mono_ms();
    agent_changes_wait(fixture->changes, LONG_MS, false);
    assert_true(__real_clock_mono_ms() - began_ms < LONG_MS);
}

static void lines_are_heard(void **state)
{
    struct fixture *fixture = *state;
    order(fixture, "s");
    hear(fixture);
    assert_true(agent_changes_heard(fixture->changes));
    for (int i = 0; i < 3; i++) {
        order(fixture, "l");
        hear(fixture);
    }
}

/* What came while nobody listened is told once, and a piece of a line not at all. */
static void many_lines_are_one_change(void **state)
{
    struct fixture *fixture = *state;
    order(fixture, "s");
    hear(fixture);
    order(fixture, "llllp");
    await(fixture, 6);
    hear(fixture);
    int64_t began_ms = __real_clock_mono_ms();
    agent_changes_wait(fixture->changes, SHORT_MS, true);
    assert_true(__real_clock_mono_ms() - began_ms >= SHORT_MS);
    assert_true(agent_changes_heard(fixture->changes));
}

static void an_end_is_told_and_another_stream_follows(void **state)
{
    struct fixture *fixture = *state;
    order(fixture, "s");
    hear(fixture);
    order(fixture, "x");
    hear(fixture);
    assert_false(agent_changes_heard(fixture->changes));
    order(fixture, "s");
    agent_changes_wait(fixture->changes, SHORT_MS, false); /* a pause before the next one */
    assert_false(agent_changes_heard(fixture->changes));
    later_ms += LONG_MS;
    hear(fixture);
    assert_true(agent_changes_heard(fixture->changes));
}

/* By an agent that is older, one that does not answer, or none at all. */
static void without_a_stream_the_interval_counts(void **state)
{
    struct fixture *fixture = *state;
    static const char *const agents[] = { "o", "t", "x" };
    for (size_t i = 0; i < 3; i++) {
        order(fixture, agents[i]);
        for (int call = 0; call < 2; call++) {
            int64_t began_ms = __real_clock_mono_ms();
            agent_changes_wait(fixture->changes, SHORT_MS, false);
            assert_true(__real_clock_mono_ms() - began_ms >= SHORT_MS);
            assert_false(agent_changes_heard(fixture->changes));
        }
        later_ms += LONG_MS; /* the pause is over, or the silence too long */
    }
}

static bool asks(struct fixture *fixture)
{
    struct pollfd done = { .fd = fixture->done, .events = POLLIN };
    agent_changes_wait(fixture->changes, 1, false);
    int r = poll(&done, 1, 0);
    if (r > 0)
        await(fixture, 1);
    return r > 0;
}

/* 500 ms, then 1 s, each a fifth more or less. */
static void pauses_grow(void **state)
{
    struct fixture *fixture = *state;
    order(fixture, "ooo");
    frozen_ms = __real_clock_mono_ms();
    assert_true(asks(fixture));
    later_ms += 390;
    assert_false(asks(fixture));
    later_ms += 220;
    assert_true(asks(fixture));
    later_ms += 790;
    assert_false(asks(fixture));
    later_ms += 420;
    assert_true(asks(fixture));
}

static void silence_is_an_end(void **state)
{
    struct fixture *fixture = *state;
    order(fixture, "s");
    hear(fixture);
    later_ms += AGENT_SILENT_MS;
    hear(fixture);
    assert_false(agent_changes_heard(fixture->changes));
}

static void a_path_may_be_too_long(void **state)
{
    struct agent_changes *changes = NULL;
    char path[200];
    (void)state;
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(agent_changes_new(path, &changes), -ENAMETOOLONG);
    assert_null(changes);
}

#define WITH_AGENT(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_AGENT(lines_are_heard),
        WITH_AGENT(many_lines_are_one_change),
        WITH_AGENT(an_end_is_told_and_another_stream_follows),
        WITH_AGENT(without_a_stream_the_interval_counts),
        WITH_AGENT(pauses_grow),
        WITH_AGENT(silence_is_an_end),
        cmocka_unit_test(a_path_may_be_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
