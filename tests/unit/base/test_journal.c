// SPDX-License-Identifier: Apache-2.0
/* Entries as the journal's socket gets them: a socket of the test's own in its place. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/journal.h"
#include "cmocka_all.h"

#define NAME "SYSLOG_IDENTIFIER=test_base_journal\n"

struct fixture {
    char directory[32];
    int listener;
    struct journal journal;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    strcpy(fixture->directory, "/tmp/test_journal.XXXXXX");
    assert_non_null(mkdtemp(fixture->directory));
    char path[64];
    snprintf(path, sizeof(path), "%s/socket", fixture->directory);
    assert_int_equal(journal_open(path, &fixture->journal), 0);
    fixture->listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fixture->listener, (struct sockaddr *)&fixture->journal.address,
                          sizeof(fixture->journal.address)),
                     0);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    journal_close(&fixture->journal);
    close(fixture->listener);
    assert_int_equal(unlink(fixture->journal.address.sun_path), 0);
    assert_int_equal(rmdir(fixture->directory), 0);
    free(fixture);
    return 0;
}

static void assert_received(const struct fixture *fixture, const char *expected, size_t size)
{
    char buffer[16384];
    ssize_t got = recv(fixture->listener, buffer, sizeof(buffer), 0);
    assert_int_equal(got, size);
    assert_memory_equal(buffer, expected, size);
}

static void assert_nothing_more(const struct fixture *fixture)
{
    char byte;
    assert_int_equal(recv(fixture->listener, &byte, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
}

static void an_entry_is_a_datagram_of_fields(void **state)
{
    static const char expected[] =
        "PRIORITY=5\n" NAME "MESSAGE_ID=0123456789abcdef0123456789abcdef\n"
        "PREFIX=192.0.2.1/32\nOBJECT=Service a/b\nMESSAGE=hello there\n";
    struct fixture *fixture = *state;
    struct journal_entry entry = {
        .priority = LOG_LEVEL_NOTICE,
        .message_id = "0123456789abcdef0123456789abcdef",
        .message = "hello there",
        .fields = LOG_FIELDS({ "PREFIX", "192.0.2.1/32" }, { "REMEDY", NULL },
                             { "OBJECT", "Service a/b" }),
    };
    assert_int_equal(journal_send(&fixture->journal, &entry), 0);
    assert_received(fixture, expected, sizeof(expected) - 1);
    assert_nothing_more(fixture);
}

static void an_entry_needs_no_fields(void **state)
{
    static const char expected[] = "PRIORITY=3\n" NAME "MESSAGE=\n";
    struct fixture *fixture = *state;
    struct journal_entry entry = { .priority = LOG_LEVEL_ERROR, .message = "" };
    assert_int_equal(journal_send(&fixture->journal, &entry), 0);
    assert_received(fixture, expected, sizeof(expected) - 1);
}

static void a_newline_smuggles_nothing_in(void **state)
{
    static const char expected[] = "PRIORITY=6\n" NAME "OBJECT\n"
                                   "\x0e\0\0\0\0\0\0\0"
                                   "a\nMESSAGE_ID=b\nMESSAGE=m\n";
    struct fixture *fixture = *state;
    struct journal_entry entry = {
        .priority = LOG_LEVEL_INFO,
        .message = "m",
        .fields = LOG_FIELDS({ "OBJECT", "a\nMESSAGE_ID=b" }),
    };
    assert_int_equal(journal_send(&fixture->journal, &entry), 0);
    assert_received(fixture, expected, sizeof(expected) - 1);
}

static void a_value_is_cut(void **state)
{
    struct fixture *fixture = *state;
    char value[5000], expected[6000];
    memset(value, 'x', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    struct journal_entry entry = { .priority = 6, .message = value };
    int size = snprintf(expected, sizeof(expected), "PRIORITY=6\n" NAME "MESSAGE=%.4096s\n", value);
    assert_int_equal(journal_send(&fixture->journal, &entry), 0);
    assert_received(fixture, expected, (size_t)size);
}

static void what_a_full_journal_lost_is_counted(void **state)
{
    struct fixture *fixture = *state;
    struct journal_entry entry = { .priority = 6, .message = "m" };
    char buffer[256];
    unsigned taken = 0, lost = 5;
    while (fixture->journal.lost == 0) {
        assert_int_equal(journal_send(&fixture->journal, &entry), 0);
        assert_true(taken++ < 100000);
    }
    while (fixture->journal.lost < lost)
        assert_int_equal(journal_send(&fixture->journal, &entry), 0);
    while (recv(fixture->listener, buffer, sizeof(buffer), 0) > 0)
        taken--;
    assert_int_equal(taken, 1); /* the last of them was the first lost one */

    assert_int_equal(journal_send(&fixture->journal, &entry), 0);
    assert_int_equal(fixture->journal.lost, 0);
    static const char note[] = "PRIORITY=4\n" NAME "MESSAGE=5 lines before this one were lost\n";
    static const char line[] = "PRIORITY=6\n" NAME "MESSAGE=m\n";
    assert_received(fixture, note, sizeof(note) - 1);
    assert_received(fixture, line, sizeof(line) - 1);
    assert_nothing_more(fixture);
}

static void a_journal_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    struct journal_entry entry = { .priority = 6, .message = "m" };
    struct journal closed = { .fd = -1 }, journal;
    assert_int_equal(journal_send(&closed, &entry), -ENOTCONN);
    assert_int_equal(journal_open("/nonexistent/socket", &journal), 0);
    assert_int_equal(journal_send(&journal, &entry), -ENOENT);
    journal_close(&journal);
    char path[200];
    memset(path, 'x', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(journal_open(path, &journal), -ENAMETOOLONG);
}

static void only_the_stream_that_systemd_named_is_the_journals(void **state)
{
    (void)state;
    int fds[2];
    struct stat st;
    char stream[64];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(fstat(fds[1], &st), 0);
    unsetenv("JOURNAL_STREAM");
    assert_false(journal_owns(fds[1]));
    snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    assert_true(journal_owns(fds[1]));
    assert_false(journal_owns(STDIN_FILENO));
    setenv("JOURNAL_STREAM", "nonsense", 1);
    assert_false(journal_owns(fds[1]));
    unsetenv("JOURNAL_STREAM");
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_entry_is_a_datagram_of_fields, setup, teardown),
        cmocka_unit_test_setup_teardown(an_entry_needs_no_fields, setup, teardown),
        cmocka_unit_test_setup_teardown(a_newline_smuggles_nothing_in, setup, teardown),
        cmocka_unit_test_setup_teardown(a_value_is_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_full_journal_lost_is_counted, setup, teardown),
        cmocka_unit_test(a_journal_that_is_not_there_is_an_error),
        cmocka_unit_test(only_the_stream_that_systemd_named_is_the_journals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
