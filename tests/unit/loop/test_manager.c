// SPDX-License-Identifier: Apache-2.0
/* The service manager's side is played by the test: a notification socket, passed descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmocka_all.h"
#include "loop/activation.h"
#include "loop/notify.h"

enum { PRIORITY = SD_EVENT_PRIORITY_NORMAL + 10, LIMIT_MS = 20 };

struct fixture {
    sd_event *event;
    struct notifier *notifier;
    struct sockaddr_un address;
    int manager;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    assert_int_equal(sd_event_new(&fixture->event), 0);
    fixture->address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    snprintf(fixture->address.sun_path, sizeof(fixture->address.sun_path), "/tmp/test_manager.%d",
             (int)getpid());
    fixture->manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(
        bind(fixture->manager, (struct sockaddr *)&fixture->address, sizeof(fixture->address)), 0);
    setenv("NOTIFY_SOCKET", fixture->address.sun_path, 1);
    assert_int_equal(notifier_new(fixture->event, &fixture->notifier), 0);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    notifier_free(fixture->notifier);
    close(fixture->manager);
    assert_int_equal(unlink(fixture->address.sun_path), 0);
    sd_event_unref(fixture->event);
    free(fixture);
    return 0;
}

/* The next message, or "" if there is none. */
static const char *told(const struct fixture *fixture, char buffer[static 256])
{
    ssize_t size = recv(fixture->manager, buffer, 255, 0);
    buffer[size < 0 ? 0 : size] = '\0';
    return buffer;
}

static void the_manager_is_told(void **state)
{
    struct fixture *fixture = *state;
    char buffer[256];
    notifier_status(fixture->notifier, "3 things");
    notifier_status(fixture->notifier, "3 things");
    notifier_send(fixture->notifier, "READY=1");
    assert_string_equal(told(fixture, buffer), "STATUS=3 things");
    assert_string_equal(told(fixture, buffer), "READY=1");
    assert_string_equal(told(fixture, buffer), "");
}

/* Its queue is full for a while: words wait in order, of the statuses the newest. */
static void the_manager_may_be_slow(void **state)
{
    struct fixture *fixture = *state;
    char buffer[256];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    while (sendto(fd, "x", 1, 0, (struct sockaddr *)&fixture->address, sizeof(fixture->address)) ==
           1)
        ;
    close(fd);
    notifier_send(fixture->notifier, "RELOADING=1");
    notifier_status(fixture->notifier, "old");
    notifier_status(fixture->notifier, "new");
    notifier_send(fixture->notifier, "READY=1");
    while (strcmp(told(fixture, buffer), "x") == 0)
        ;
    assert_string_equal(buffer, "");
    while (strcmp(told(fixture, buffer), "") == 0)
        assert_true(sd_event_run(fixture->event, 10 * 1000 * 1000) > 0);
    assert_string_equal(buffer, "RELOADING=1");
    assert_string_equal(told(fixture, buffer), "READY=1");
    assert_string_equal(told(fixture, buffer), "STATUS=new");
}

/* A notifier of its own for this name of the socket; NULL: the variable is not there. */
static int notify_at(const struct fixture *fixture, const char *name)
{
    CLEANUP(notifier_freep) struct notifier *notifier = NULL;
    if (name)
        setenv("NOTIFY_SOCKET", name, 1);
    else
        unsetenv("NOTIFY_SOCKET");
    int r = notifier_new(fixture->event, &notifier);
    if (r == 0) {
        notifier_send(notifier, "READY=1");
        notifier_status(notifier, "some words");
    }
    return r;
}

static void the_manager_may_be_anywhere(void **state)
{
    struct fixture *fixture = *state;
    char buffer[256], name[64], long_name[200] = "/";
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int length = snprintf(name, sizeof(name), "@test_manager.%d", (int)getpid());
    memcpy(address.sun_path + 1, name + 1, (size_t)length - 1);
    int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(manager, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length)),
                     0);
    assert_int_equal(notify_at(fixture, name), 0);
    assert_int_equal(recv(manager, buffer, sizeof(buffer), 0), strlen("READY=1"));
    assert_memory_equal(buffer, "READY=1", strlen("READY=1"));
    close(manager);

    /* Gone, or never there: what was to be said is dropped. */
    assert_int_equal(notify_at(fixture, name), 0);
    assert_int_equal(notify_at(fixture, NULL), 0);
    assert_int_equal(notify_at(fixture, ""), 0);
    assert_int_equal(notify_at(fixture, "/nowhere/at/all"), 0);
    assert_int_equal(notify_at(fixture, "relative"), -EINVAL);
    memset(long_name + 1, 'x', sizeof(long_name) - 2);
    assert_int_equal(notify_at(fixture, long_name), -EINVAL);
    assert_string_equal(told(fixture, buffer), "");
}

static void nobody_watches(void **state)
{
    struct fixture *fixture = *state;
    char buffer[256];
    unsetenv("WATCHDOG_USEC");
    assert_int_equal(notifier_feed_watchdog(fixture->notifier, fixture->event, PRIORITY), 0);
    assert_int_equal(sd_event_run(fixture->event, 2 * LIMIT_MS * 1000), 0);
    assert_string_equal(told(fixture, buffer), "");
}

static void start_watchdog(const struct fixture *fixture)
{
    char limit_us[16];
    snprintf(limit_us, sizeof(limit_us), "%d", LIMIT_MS * 1000);
    setenv("WATCHDOG_USEC", limit_us, 1);
    assert_int_equal(notifier_feed_watchdog(fixture->notifier, fixture->event, PRIORITY), 0);
}

static void await_feeding(const struct fixture *fixture)
{
    char buffer[256];
    assert_true(sd_event_run(fixture->event, 10 * 1000 * 1000) > 0);
    assert_string_equal(told(fixture, buffer), "WATCHDOG=1");
    assert_string_equal(told(fixture, buffer), "");
}

static void the_watchdog_is_fed_again_and_again(void **state)
{
    struct fixture *fixture = *state;
    start_watchdog(fixture);
    for (int i = 0; i < 4; i++)
        await_feeding(fixture);
}

static int do_nothing(sd_event_source *source, void *context)
{
    (void)source, (void)context;
    return 0;
}

/* The loop turns all the while, but nothing of the watchdog's priority gets its turn. */
static void a_starved_watchdog_is_not_fed(void **state)
{
    struct fixture *fixture = *state;
    char buffer[256];
    sd_event_source *flood = NULL;
    start_watchdog(fixture);
    await_feeding(fixture);
    assert_true(sd_event_add_defer(fixture->event, &flood, do_nothing, NULL) >= 0);
    assert_true(sd_event_source_set_enabled(flood, SD_EVENT_ON) >= 0);
    for (int64_t end_ms = clock_mono_ms() + 3 * LIMIT_MS; clock_mono_ms() < end_ms;)
        assert_true(sd_event_run(fixture->event, 0) > 0);
    assert_string_equal(told(fixture, buffer), "");

    sd_event_source_disable_unref(flood);
    await_feeding(fixture);
}

/* What activation_take_socket() returns to a process that was passed `fd`, `count` times. */
static int take_passed(int fd, int count)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char pid[16], number[16];
        snprintf(pid, sizeof(pid), "%d", (int)getpid());
        snprintf(number, sizeof(number), "%d", count);
        setenv("LISTEN_PID", pid, 1);
        if (count)
            setenv("LISTEN_FDS", number, 1);
        int source = fcntl(fd, F_DUPFD, 64);
        for (int i = 0; i < count; i++)
            dup2(source, SD_LISTEN_FDS_START + i);
        int r = activation_take_socket();
        if (r < 0 && count > 0 && fcntl(SD_LISTEN_FDS_START, F_GETFD) >= 0)
            _exit(101); /* refused, and left open */
        _exit(r < 0 ? -r : r == SD_LISTEN_FDS_START ? 100 : 102);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_passed_socket_is_taken(void **state)
{
    struct fixture *fixture = *state;
    struct sockaddr_un anywhere = { .sun_family = AF_UNIX }; /* the kernel chooses the address */
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&anywhere, sizeof(sa_family_t)), 0);
    assert_int_equal(take_passed(fd, 1), EINVAL); /* it does not listen yet */
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(take_passed(fd, 0), ENOENT);
    assert_int_equal(take_passed(fd, 1), 100);
    assert_int_equal(take_passed(fd, 2), EINVAL);
    assert_int_equal(take_passed(fixture->manager, 1), EINVAL);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_manager_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(the_manager_may_be_slow, setup, teardown),
        cmocka_unit_test_setup_teardown(the_manager_may_be_anywhere, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_watches, setup, teardown),
        cmocka_unit_test_setup_teardown(the_watchdog_is_fed_again_and_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_starved_watchdog_is_not_fed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_passed_socket_is_taken, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
