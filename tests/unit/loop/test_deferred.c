// SPDX-License-Identifier: Apache-2.0
/* Deferred work: once however often asked, after what is more important, again from within. */
#include <sys/eventfd.h>

#include "cmocka_all.h"
#include "loop/deferred.h"

struct work {
    struct deferred *deferred;
    int runs, again;
    int events_seen; /* by on_event(), and what it was when the work ran */
    int events_at_run;
};

static void run(void *context)
{
    struct work *work = context;
    work->runs++;
    work->events_at_run = work->events_seen;
    if (work->again-- > 0)
        deferred_schedule(work->deferred);
}

static void run_and_free(void *context)
{
    struct work *work = context;
    work->runs++;
    deferred_free(work->deferred);
    work->deferred = NULL;
}

static int on_event(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)source;
    (void)revents;
    struct work *work = userdata;
    eventfd_t value;
    assert_int_equal(eventfd_read(fd, &value), 0);
    work->events_seen++;
    return 0;
}

/* Runs until nothing is pending; the number of dispatches. */
static int drain(sd_event *event)
{
    int count = 0;
    while (sd_event_run(event, 0) > 0)
        count++;
    return count;
}

static int setup(void **state)
{
    return sd_event_new((sd_event **)state);
}

static int teardown(void **state)
{
    sd_event_unref(*state);
    return 0;
}

static void runs_once_however_often_asked(void **state)
{
    struct work work = { 0 };
    assert_int_equal(deferred_new(*state, 0, run, &work, &work.deferred), 0);
    assert_int_equal(drain(*state), 0);
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 10; i++)
            deferred_schedule(work.deferred);
        assert_int_equal(work.runs, round - 1);
        assert_int_equal(drain(*state), 1);
        assert_int_equal(work.runs, round);
    }
    deferred_free(work.deferred);
}

static void schedules_itself_again(void **state)
{
    struct work work = { .again = 2 };
    assert_int_equal(deferred_new(*state, 0, run, &work, &work.deferred), 0);
    deferred_schedule(work.deferred);
    assert_int_equal(drain(*state), 3);
    assert_int_equal(work.runs, 3);
    deferred_free(work.deferred);
}

/* All that has arrived is read first, even though the work was asked for before. */
static void waits_for_what_is_pending(void **state)
{
    enum { EVENTS = 5 };
    struct work work = { 0 };
    assert_int_equal(deferred_new(*state, SD_EVENT_PRIORITY_IDLE, run, &work, &work.deferred), 0);
    deferred_schedule(work.deferred);

    int fds[EVENTS];
    sd_event_source *sources[EVENTS] = { 0 };
    for (int i = 0; i < EVENTS; i++) {
        fds[i] = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
        assert_int_equal(sd_event_add_io(*state, &sources[i], fds[i], EPOLLIN, on_event, &work), 0);
    }
    assert_int_equal(drain(*state), EVENTS + 1);
    assert_int_equal(work.runs, 1);
    assert_int_equal(work.events_at_run, EVENTS);

    for (int i = 0; i < EVENTS; i++) {
        sd_event_source_disable_unref(sources[i]);
        close(fds[i]);
    }
    deferred_free(work.deferred);
}

static void may_be_freed_while_it_runs_or_waits(void **state)
{
    struct work work = { 0 };
    assert_int_equal(deferred_new(*state, 0, run_and_free, &work, &work.deferred), 0);
    deferred_schedule(work.deferred);
    assert_int_equal(drain(*state), 1);
    assert_null(work.deferred);

    assert_int_equal(deferred_new(*state, 0, run, &work, &work.deferred), 0);
    deferred_schedule(work.deferred);
    deferred_free(work.deferred);
    assert_int_equal(drain(*state), 0);
    assert_int_equal(work.runs, 1);
    deferred_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_once_however_often_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(schedules_itself_again, setup, teardown),
        cmocka_unit_test_setup_teardown(waits_for_what_is_pending, setup, teardown),
        cmocka_unit_test_setup_teardown(may_be_freed_while_it_runs_or_waits, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
