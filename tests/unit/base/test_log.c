// SPDX-License-Identifier: Apache-2.0
/* Lines where stderr is a file: with the time once the daemon has opened its log. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cmocka_all.h"

/* What `write` sent to stderr. */
static void caught(void (*write)(void), char *text, size_t size)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    int terminal = dup(STDERR_FILENO);
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    write();
    assert_int_equal(dup2(terminal, STDERR_FILENO), STDERR_FILENO);
    close(terminal);
    rewind(file);
    size_t got = fread(text, 1, size - 1, file);
    text[got] = '\0';
    fclose(file);
}

static void write_plainly(void)
{
    log_notice("10.0.0.1/32: announced\nforged %d", 7);
}

static void write_opened(void)
{
    log_open();
    log_notice("10.0.0.1/32: announced");
}

static void test_a_line_before_the_log_is_opened(void **state)
{
    char text[256];
    (void)state;
    caught(write_plainly, text, sizeof(text));
    assert_string_equal(text, "10.0.0.1/32: announced forged 7\n");
}

static void test_a_line_of_the_daemon_has_the_time(void **state)
{
    char text[256], when[CLOCK_STRLEN];
    int64_t before_ms = clock_wall_ms(), at_ms;
    (void)state;
    caught(write_opened, text, sizeof(text));
    char *line = strchr(text, ' ');
    assert_non_null(line);
    *line++ = '\0';
    assert_string_equal(line, "10.0.0.1/32: announced\n");
    assert_int_equal(clock_parse_rfc3339(text, &at_ms), 0);
    assert_in_range(at_ms, before_ms, clock_wall_ms());
    assert_string_equal(text, clock_rfc3339_ms(at_ms, when));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_before_the_log_is_opened),
        cmocka_unit_test(test_a_line_of_the_daemon_has_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
