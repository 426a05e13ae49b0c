// SPDX-License-Identifier: Apache-2.0
/*
 * When passes run, and over what: the schedule with engines and a kernel that only note what they
 * are asked (fakes.h), and with time that is the test's (fake_timers.h).
 */
#include "engine/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmocka_all.h"
#include "engine/rival.h"
#include "fake_timers.h"
#include "fakes.h"

#define FULL_MS (5 * MINUTE_MS)

struct fixture {
    sd_event *event;
    struct store *store;
    struct engines *engines;
    struct status status;
    struct schedule *schedule;
    uint64_t loaded;
    uint32_t passed, doubts;
};

static uint64_t loaded_generation(void *context)
{
    return ((struct fixture *)context)->loaded;
}

static void doubt(void *context)
{
    ((struct fixture *)context)->doubts++;
}

static void passed(void *context)
{
    ((struct fixture *)context)->passed++;
}

/* Everything that is pending is done; the test ends here if that never comes to an end. */
static void settle(struct fixture *fixture)
{
    unsigned steps = 0;
    while (sd_event_run(fixture->event, 0) > 0)
        assert_true(++steps < 1000);
}

/* How many passes that makes. */
static uint64_t passes(struct fixture *fixture)
{
    uint64_t before = fixture->status.routes.passes;
    settle(fixture);
    return fixture->status.routes.passes - before;
}

static void sync_source(struct fixture *fixture)
{
    fixture->status.source.synced = true;
    schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 1);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    const struct engine_setup setup = { 0 };
    assert_non_null(fixture);
    fakes_begin();
    fake_timers_begin();
    fixture->store = store_new();
    fixture->status.faults = fault_book_new();
    assert_non_null(fixture->store);
    assert_non_null(fixture->status.faults);
    assert_true(sd_event_new(&fixture->event) >= 0);
    assert_int_equal(engines_open(&setup, fake_table, &fixture->engines), 0);
    const struct schedule_options options = {
        .event = fixture->event,
        .engines = fixture->engines,
        .store = fixture->store,
        .kernel = fake_kernel(),
        .status = &fixture->status,
        .loaded_generation = loaded_generation,
        .doubt = doubt,
        .passed = passed,
        .context = fixture,
    };
    assert_int_equal(schedule_new(&options, &fixture->schedule), 0);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    schedule_free(fixture->schedule);
    engines_close(fixture->engines);
    sd_event_unref(fixture->event);
    fault_book_free(fixture->status.faults);
    store_free(fixture->store);
    free(fixture);
    fakes_end();
    return 0;
}

/* ---- which pass ---- */

static void no_pass_runs_unasked(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(passes(fixture), 0);
    assert_int_equal(timers[FULL].delay_ms, FULL_MS);
}

static void what_is_asked_for_often_is_done_once(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 3; i++)
        schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 1);
    assert_int_equal(fixture->passed, 1);
}

/* Nothing may go, and nothing is complete, before it is known what is wanted. */
static void a_source_that_has_not_synced_removes_nothing(void **state)
{
    struct fixture *fixture = *state;
    schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 1);
    assert_false(fakes.published.may_remove);
    assert_false(fakes.published.all);
    assert_false(fixture->status.routes.complete);
}

static void the_first_pass_that_may_remove_is_over_everything(void **state)
{
    struct fixture *fixture = *state;
    fixture->status.copy.in_force = true;
    schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 1);
    assert_true(fakes.published.all);
    assert_false(fakes.published.may_remove);
    assert_true(fixture->status.routes.complete);

    sync_source(fixture);
    assert_true(fakes.published.all);
    assert_true(fakes.published.may_remove);

    schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 1);
    assert_false(fakes.published.all);
}

static void the_periodic_pass_doubts_everything(void **state)
{
    struct fixture *fixture = *state;
    sync_source(fixture);
    fire(FULL);
    assert_int_equal(fakes.resyncs, 1);
    assert_int_equal(fixture->doubts, 1);
    assert_int_equal(passes(fixture), 1);
    assert_true(fakes.published.all);
    assert_int_equal(fixture->status.routes.full_passes, 2);
    assert_int_equal(timers[FULL].delay_ms, FULL_MS);
}

/* ---- pause ---- */

static void no_pass_runs_while_paused(void **state)
{
    struct fixture *fixture = *state;
    sync_source(fixture);
    schedule_pause(fixture->schedule);
    schedule_pass(fixture->schedule, false);
    fake_kernel_tell(&(struct kernel_events){ .links = true });
    assert_int_equal(passes(fixture), 0);
    schedule_resume(fixture->schedule);
    assert_int_equal(passes(fixture), 1);
    assert_true(fakes.published.all);
}

/* ---- what others do in the kernel ---- */

static void a_change_in_the_kernel_is_a_pass(void **state)
{
    struct fixture *fixture = *state;
    const struct kernel_events changes[] = {
        { .rules = true }, { .other_rules = true }, { .addresses = true },
        { .links = true }, { .resynced = true },
    };
    sync_source(fixture);
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        fake_kernel_tell(&changes[i]);
        assert_int_equal(passes(fixture), 1);
        assert_false(fakes.published.all);
    }
    struct route route = { .table = 119 };
    const struct kernel_events routes = { .routes = { .items = &route, .count = 1 } };
    fake_kernel_tell(&routes);
    assert_int_equal(passes(fixture), 1);
}

/* What is heard and concerns nobody (our own change, come back) is no reason to look. */
static void a_change_of_our_own_is_none(void **state)
{
    struct fixture *fixture = *state;
    fake_kernel_tell(&(struct kernel_events){ 0 });
    assert_int_equal(passes(fixture), 0);
}

static void interfere_once(const char *call)
{
    if (strcmp(call, "second.write") != 0)
        return;
    fakes.during = NULL;
    fake_kernel_tell(&(struct kernel_events){ .links = true });
    assert_int_equal(kernel_read(fake_kernel()), 0);
}

static void a_change_during_a_pass_is_another_pass(void **state)
{
    struct fixture *fixture = *state;
    fakes.during = interfere_once;
    schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 2);
}

static void notifications_that_cannot_be_read_doubt_everything(void **state)
{
    struct fixture *fixture = *state;
    sync_source(fixture);
    fakes.failing = "read";
    fake_kernel_tell(&(struct kernel_events){ 0 });
    assert_int_equal(sd_event_run(fixture->event, 0) > 0, 1);
    fakes.failing = NULL;
    assert_int_equal(passes(fixture), 1);
    assert_true(fakes.published.all);
}

/* ---- failures ---- */

static void a_failed_pass_is_followed_by_one_over_everything(void **state)
{
    struct fixture *fixture = *state;
    sync_source(fixture);
    (void)fakes_calls();
    fakes.failing = "first.write";
    schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 1);
    assert_string_equal(fakes_calls(), "read first.hear second.hear done first.plan second.plan "
                                       "first.withdraw second.withdraw first.write "
                                       "second.write first.publish second.publish");
    assert_int_equal(fakes.published.error, -EIO);
    assert_int_equal(fixture->passed, 1); /* the one that synced */
    assert_int_equal(fault_book_count(fixture->status.faults), 1);
    const struct known_fault *fault = fault_book_at(fixture->status.faults, 0);
    assert_string_equal(known_fault_code(fault), "pass-failed");
    is_about(timers[RETRY].delay_ms, SECOND_MS);

    fakes.failing = NULL;
    fire(RETRY);
    assert_int_equal(passes(fixture), 1);
    assert_true(fakes.published.all);
    assert_int_equal(fixture->passed, 2);
    assert_int_equal(fault_book_count(fixture->status.faults), 0);
    assert_int_equal(timers[RETRY].delay_ms, -1);
}

static void failures_are_retried_later_and_later(void **state)
{
    struct fixture *fixture = *state;
    static const int64_t delays_s[] = { 1, 2, 4, 8, 16, 32, 60, 60 };
    fakes.failing = "second.plan";
    schedule_pass(fixture->schedule, false);
    for (size_t i = 0; i < ARRAY_SIZE(delays_s); i++) {
        assert_int_equal(passes(fixture), 1);
        is_about(timers[RETRY].delay_ms, delays_s[i] * SECOND_MS);
        fire(RETRY);
    }
    fakes.failing = NULL;
    assert_int_equal(passes(fixture), 1);
    fakes.failing = "second.plan";
    schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 1);
    is_about(timers[RETRY].delay_ms, SECOND_MS);
}

/* ---- what engines have yet to do ---- */

static void an_engine_is_waited_for(void **state)
{
    struct fixture *fixture = *state;
    fakes.next_ms = now_ms + 700;
    schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 1);
    assert_int_equal(timers[DUE].delay_ms, 700);
    fakes.next_ms = INT64_MAX;
    fire(DUE);
    assert_int_equal(passes(fixture), 1);
    assert_int_equal(timers[DUE].delay_ms, -1);

    fakes.next_ms = now_ms - 5; /* was due while the pass ran */
    schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 1);
    assert_int_equal(timers[DUE].delay_ms, 0);
}

static void a_generation_is_applied_when_all_is_done(void **state)
{
    struct fixture *fixture = *state;
    fixture->loaded = 5;
    fakes.progress = PROGRESS_LATER;
    schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 1);
    assert_int_equal(fixture->status.source.applied_generation, 0);
    fakes.progress = PROGRESS_DONE;
    schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 1);
    assert_int_equal(fixture->status.source.applied_generation, 5);
}

/* What the source brings while a pass runs is not what the pass has applied. */
static struct fixture *loading;
static void load_more(const char *call)
{
    (void)call;
    loading->loaded = 6;
}

static void a_generation_is_that_of_the_beginning(void **state)
{
    struct fixture *fixture = *state;
    loading = fixture;
    fixture->loaded = 5;
    fakes.during = load_more;
    schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 1);
    assert_int_equal(fixture->status.source.applied_generation, 5);
}

static void a_failed_pass_applies_nothing(void **state)
{
    struct fixture *fixture = *state;
    fixture->loaded = 5;
    fakes.failing = "first.plan";
    schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 1);
    assert_int_equal(fixture->status.source.applied_generation, 0);
}

static unsigned slices;
static void work_in_slices(const char *call)
{
    if (strcmp(call, "second.publish") != 0)
        return;
    now_ms += 10;
    fakes.progress = --slices > 0 ? PROGRESS_AT_ONCE : PROGRESS_DONE;
}

/* Rounds follow at once, none but the first is over everything, and they count as one full pass. */
static void a_full_pass_ends_with_the_last_of_its_rounds(void **state)
{
    struct fixture *fixture = *state;
    fixture->status.source.synced = true;
    fixture->loaded = 5;
    fakes.during = work_in_slices;
    slices = 4;
    schedule_pass(fixture->schedule, true);
    (void)sd_event_run(fixture->event, 0);
    assert_true(fakes.published.all);
    assert_int_equal(fixture->status.routes.full_passes, 0);
    assert_false(fixture->status.routes.complete);
    assert_int_equal(fixture->status.source.applied_generation, 0);

    assert_int_equal(passes(fixture), 3);
    assert_false(fakes.published.all);
    assert_int_equal(fixture->status.routes.full_passes, 1);
    assert_true(fixture->status.routes.complete);
    assert_int_equal(fixture->status.routes.last_full_pass_us, 40000);
    assert_int_equal(fixture->status.source.applied_generation, 5);
}

/* ---- a rival ---- */

enum { TOLERATED = 20 };

static bool is_rival_named(const struct fixture *fixture)
{
    for (size_t i = 0; i < fault_book_count(fixture->status.faults); i++) {
        if (strcmp(fault_book_at(fixture->status.faults, i)->place, "foreign writer") == 0)
            return true;
    }
    return false;
}

static void fight(struct fixture *fixture)
{
    fakes.repairs = 1;
    for (int i = 0; i <= TOLERATED; i++) {
        assert_false(is_rival_named(fixture));
        fake_kernel_tell(&(struct kernel_events){ .rules = true, .writer = 4711 });
        assert_int_equal(passes(fixture), 1);
        now_ms += 100;
    }
    assert_true(is_rival_named(fixture));
}

static void a_rival_is_answered_once_a_second(void **state)
{
    struct fixture *fixture = *state;
    sync_source(fixture);
    fight(fixture);
    assert_int_equal(timers[CALM].delay_ms, RIVAL_CALM_MS);
    for (int i = 0; i < 5; i++) {
        fake_kernel_tell(&(struct kernel_events){ .rules = true, .writer = 4711 });
        assert_int_equal(passes(fixture), 0);
        assert_int_equal(timers[CALM].delay_ms, SECOND_MS - i * 100);
        now_ms += 100;
    }
    fire(CALM);
    assert_int_equal(passes(fixture), 1);
    /* Objects are not made to wait. */
    schedule_pass(fixture->schedule, false);
    assert_int_equal(passes(fixture), 1);
}

static void a_rival_that_is_gone_is_forgotten(void **state)
{
    struct fixture *fixture = *state;
    sync_source(fixture);
    fight(fixture);
    fakes.repairs = 0;
    fire(CALM);
    assert_int_equal(passes(fixture), 1);
    assert_false(is_rival_named(fixture));
    fake_kernel_tell(&(struct kernel_events){ .rules = true, .writer = 4711 });
    assert_int_equal(passes(fixture), 1);
}

int main(void)
{
#define SCHEDULE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SCHEDULE_TEST(no_pass_runs_unasked),
        SCHEDULE_TEST(what_is_asked_for_often_is_done_once),
        SCHEDULE_TEST(a_source_that_has_not_synced_removes_nothing),
        SCHEDULE_TEST(the_first_pass_that_may_remove_is_over_everything),
        SCHEDULE_TEST(the_periodic_pass_doubts_everything),
        SCHEDULE_TEST(no_pass_runs_while_paused),
        SCHEDULE_TEST(a_change_in_the_kernel_is_a_pass),
        SCHEDULE_TEST(a_change_of_our_own_is_none),
        SCHEDULE_TEST(a_change_during_a_pass_is_another_pass),
        SCHEDULE_TEST(notifications_that_cannot_be_read_doubt_everything),
        SCHEDULE_TEST(a_failed_pass_is_followed_by_one_over_everything),
        SCHEDULE_TEST(failures_are_retried_later_and_later),
        SCHEDULE_TEST(an_engine_is_waited_for),
        SCHEDULE_TEST(a_generation_is_applied_when_all_is_done),
        SCHEDULE_TEST(a_generation_is_that_of_the_beginning),
        SCHEDULE_TEST(a_failed_pass_applies_nothing),
        SCHEDULE_TEST(a_full_pass_ends_with_the_last_of_its_rounds),
        SCHEDULE_TEST(a_rival_is_answered_once_a_second),
        SCHEDULE_TEST(a_rival_that_is_gone_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
