// SPDX-License-Identifier: Apache-2.0
/* A daemon's signals: what ends the loop, and with which status. */
#include <signal.h>

#include "cmocka_all.h"
#include "loop/signals.h"

struct heard {
    int ends, reloads;
};

static int on_end(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct heard *heard = userdata;
    (void)info;
    heard->ends++;
    return sd_event_exit(sd_event_source_get_event(source), 7);
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct heard *heard = userdata;
    (void)source, (void)info;
    heard->reloads++;
    return raise(SIGTERM);
}

/* The status of a loop that hears SIGHUP, and SIGTERM after it. */
static int run_loop(sd_event_signal_handler_t end, struct heard *heard)
{
    sd_event *event = NULL;
    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(signals_add(event, end, on_reload, heard), 0);
    raise(SIGHUP);
    int r = sd_event_loop(event);
    sd_event_unref(event);
    assert_int_equal(heard->reloads, 1);
    return r;
}

/* Without a handler sd-event takes what is passed to it for the loop's status. */
static void test_ends_well(void **state)
{
    struct heard heard = { 0 };
    (void)state;
    assert_int_equal(run_loop(NULL, &heard), 0);
}

static void test_own_end(void **state)
{
    struct heard heard = { 0 };
    (void)state;
    assert_int_equal(run_loop(on_end, &heard), 7);
    assert_int_equal(heard.ends, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_well),
        cmocka_unit_test(test_own_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
