// SPDX-License-Identifier: Apache-2.0
/* One holder at a time, whose process id is told, and none once it is gone, however it went. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/files/lock.h"
#include "base/text.h"
#include "cmocka_all.h"

static char base[] = "/tmp/fingerpost-test-XXXXXX";
static char *folder, *file;

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(base));
    folder = text_format("%s/a/b", base);
    file = text_format("%s/lock", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    AUTOFREE char *parent = text_format("%s/a", base);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(rmdir(parent), 0);
    assert_int_equal(rmdir(base), 0);
    free(folder);
    free(file);
    return 0;
}

static void assert_holder_in_file(pid_t pid)
{
    AUTOFREE char *content = NULL, *expected = text_format("%d\n", (int)pid);
    size_t size;
    assert_int_equal(file_read(file, 64, &content, &size), 0);
    assert_string_equal(content, expected);
}

static void the_folder_is_made_and_locked(void **state)
{
    (void)state;
    pid_t holder = -7;
    AUTOCLOSE int fd = lock_take(folder, &holder);
    assert_true(fd >= 0);
    assert_int_equal(holder, -7);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_holder_in_file(getpid());
    assert_int_equal(lock_take(folder, &holder), -EBUSY);
    assert_int_equal(holder, getpid());
}

/* A child that holds the lock; it is killed by the caller. */
static pid_t start_holder(void)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pid_t holder;
        if (lock_take(folder, &holder) < 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    char byte;
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void a_killed_holder_holds_nothing(void **state)
{
    (void)state;
    pid_t holder = 0, child = start_holder();
    assert_int_equal(lock_take(folder, &holder), -EBUSY);
    assert_int_equal(holder, child);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    AUTOCLOSE int fd = lock_take(folder, &holder);
    assert_true(fd >= 0);
    assert_holder_in_file(getpid()); /* shorter or longer, nothing of the old one is left */
}

static void a_holder_may_be_unknown(void **state)
{
    (void)state;
    pid_t holder = -7;
    AUTOCLOSE int fd = lock_take(folder, &holder);
    assert_true(fd >= 0);
    assert_int_equal(truncate(file, 0), 0);
    assert_int_equal(lock_take(folder, &holder), -EBUSY);
    assert_int_equal(holder, 0);
}

/* As with a full disk: the file can be made and locked, and nothing can be written to it. */
static void a_full_disk_is_no_obstacle(void **state)
{
    (void)state;
    struct rlimit old, none;
    pid_t holder = -7;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    none = (struct rlimit){ .rlim_cur = 0, .rlim_max = old.rlim_max };
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    AUTOCLOSE int fd = lock_take(folder, &holder);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, SIG_DFL);
    assert_true(fd >= 0);
    assert_int_equal(lock_take(folder, &holder), -EBUSY);
    assert_int_equal(holder, 0);
}

static void what_is_no_folder_is_an_error(void **state)
{
    (void)state;
    pid_t holder;
    assert_int_equal(lock_take("/dev/null/x", &holder), -ENOTDIR);
    assert_int_equal(lock_take("/dev/null", &holder), -ENOTDIR);
}

/* A process of this user's has the name; then one of another, which keeps nobody out. */
static void one_agent_has_the_network(void **state)
{
    (void)state;
    if (unshare(CLONE_NEWNET) < 0)
        skip(); /* no privilege */
    for (uid_t user = 0; user <= 1; user++) {
        int told[2], held[2];
        pid_t seen = 0;
        char byte = 0;
        assert_int_equal(pipe(told) | pipe(held), 0);
        pid_t child = fork();
        if (child == 0) {
            close(held[1]);
            bool had =
                (user == 0 || setresuid(user, user, user) == 0) && lock_take_network(&seen) >= 0;
            _exit(had && write(told[1], "x", 1) == 1 && read(held[0], &byte, 1) == 0 ? 0 : 1);
        }
        close(held[0]);
        assert_int_equal(read(told[0], &byte, 1), 1);
        assert_int_equal(lock_take_network(&seen), user ? -EPERM : -EBUSY);
        assert_int_equal(seen, child);
        int status = 0;
        close(held[1]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        close(told[0]);
        close(told[1]);
        AUTOCLOSE int fd = lock_take_network(&seen);
        assert_true(fd >= 0);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_folder_is_made_and_locked),
        cmocka_unit_test(a_killed_holder_holds_nothing),
        cmocka_unit_test(a_holder_may_be_unknown),
        cmocka_unit_test(a_full_disk_is_no_obstacle),
        cmocka_unit_test(what_is_no_folder_is_an_error),
        cmocka_unit_test(one_agent_has_the_network),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
