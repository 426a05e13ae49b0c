// SPDX-License-Identifier: Apache-2.0
/*
 * When the copy on disk is written, when it stands in for the API, and what is said of both. The
 * source is played by the test; times are short, and what must not happen in time never comes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../store/copies.h"
#include "source/copy_keeper.h"
#include "status/fault_book.h"

enum { NEVER_MS = 3600 * 1000, PATIENCE_US = 20 * 1000 * 1000 };

static const struct copy_timing quick = {
    .wait_ms = NEVER_MS,
    .calm_ms = 1,
    .interval_ms = 1,
    .bytes_per_ms = 1 << 20,
    .disk_ms = 1,
    .refresh_ms = NEVER_MS,
    .retry_initial_ms = 1,
    .retry_max_ms = 1,
};

struct fixture {
    struct copies *copies; /* its store is the agent's */
    sd_event *event;
    struct status status;
    struct copy_keeper *keeper;
    unsigned settled;
};

static void on_settled(void *context)
{
    ((struct fixture *)context)->settled++;
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->copies = copies_new();
    fixture->status.faults = fault_book_new();
    assert_true(sd_event_new(&fixture->event) >= 0);
    fixture->status.source.kube.count = 1;
    fixture->status.source.kube.kinds[0] = (struct kube_kind_status){
        .kind = "EndpointSlice",
        .state = KUBE_WATCHING,
        .resource_version = "4711",
    };
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    copy_keeper_free(fixture->keeper);
    fault_book_free(fixture->status.faults);
    sd_event_unref(fixture->event);
    copies_free(fixture->copies);
    free(fixture);
    return 0;
}

static void start(struct fixture *fixture, const struct copy_timing *timing)
{
    const struct copy_keeper_options options = {
        .event = fixture->event,
        .path = fixture->copies->path,
        .owner = copy_of_n1,
        .origin = "api",
        .timing = timing,
        .store = fixture->copies->store,
        .status = &fixture->status,
        .settled = on_settled,
        .context = fixture,
    };
    assert_int_equal(copy_keeper_new(&options, &fixture->keeper), 0);
}

/* Runs the loop until it is so. */
#define wait_until(fixture, condition)                                    \
    do {                                                                  \
        int64_t until_us_ = clock_mono_us() + PATIENCE_US;                \
        while (!(condition)) {                                            \
            if (clock_mono_us() > until_us_)                              \
                fail_msg("never came: %s", #condition);                   \
            assert_true(sd_event_run((fixture)->event, 100 * 1000) >= 0); \
        }                                                                 \
    } while (0)

static void source_syncs(struct fixture *fixture)
{
    fixture->status.source.synced = true;
    copy_keeper_source_changed(fixture->keeper);
}

/* The fault of a group; NULL: none. */
static const struct known_fault *fault_of(const struct fixture *fixture, const char *group)
{
    for (size_t i = 0; i < fault_book_count(fixture->status.faults); i++) {
        const struct known_fault *fault = fault_book_at(fixture->status.faults, i);
        assert_string_equal(fault->subsystem, "kubernetes");
        if (strcmp(fault->group, group) == 0)
            return fault;
    }
    return NULL;
}

static size_t copied(const struct fixture *fixture)
{
    AUTOLOADED struct loaded loaded = load(fixture->copies);
    return loaded.r == 1 ? store_count(loaded.store, KIND_ENDPOINT_SLICE) : 0;
}

/* An earlier agent's. */
static void leave_copy(struct fixture *fixture, int count)
{
    const struct copy_head head = { .written_wall_ms = INT64_C(1795159980000) };
    struct store *own = fixture->copies->store;
    fixture->copies->store = store_new();
    put_generation(fixture->copies->store, count, 1);
    assert_int_equal(copy_whole(fixture->copies, &head), 0);
    store_free(fixture->copies->store);
    fixture->copies->store = own;
}

static void written_when_synced(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, &quick);
    put_generation(fixture->copies->store, 5, 1);
    copy_keeper_source_changed(fixture->keeper);
    assert_int_equal(fixture->settled, 0);
    source_syncs(fixture);
    assert_int_equal(fixture->settled, 1);
    assert_false(fixture->status.copy.in_force);
    wait_until(fixture, fixture->status.copy.written_wall_ms > 0);
    assert_int_equal(fixture->status.copy.objects, 5);
    assert_true(fixture->status.copy.bytes > 500);

    AUTOLOADED struct loaded loaded = load(fixture->copies);
    assert_int_equal(store_count(loaded.store, KIND_ENDPOINT_SLICE), 5);
    assert_string_equal(loaded.head.kinds[KIND_ENDPOINT_SLICE].resource_version, "4711");
    assert_true(loaded.head.kinds[KIND_ENDPOINT_SLICE].synced_wall_ms > 0);

    put_generation(fixture->copies->store, 7, 1);
    copy_keeper_source_changed(fixture->keeper);
    wait_until(fixture, fixture->status.copy.objects == 7);
    assert_int_equal(fixture->settled, 1);
    assert_int_equal(fault_book_count(fixture->status.faults), 0);
}

/* Half of a list must not take the place of a whole copy. */
static void not_written_before(void **state)
{
    struct fixture *fixture = *state;
    leave_copy(fixture, 5);
    start(fixture, &quick);
    put_generation(fixture->copies->store, 9, 2);
    copy_keeper_source_changed(fixture->keeper);
    copy_keeper_free(TAKE_PTR(fixture->keeper));
    assert_int_equal(copied(fixture), 5);
}

static void changes_do_not_put_it_off(void **state)
{
    struct fixture *fixture = *state;
    struct copy_timing calm = quick;
    calm.calm_ms = 100;
    start(fixture, &calm);
    source_syncs(fixture);
    uint16_t generation = 0;
    int64_t until_us = clock_mono_us() + PATIENCE_US;
    while (fixture->status.copy.written_wall_ms == 0) {
        assert_true(clock_mono_us() < until_us);
        put_generation(fixture->copies->store, 1, ++generation);
        copy_keeper_source_changed(fixture->keeper);
        assert_true(sd_event_run(fixture->event, 10 * 1000) >= 0);
    }
}

static void seldom_while_changes_go_on(void **state)
{
    struct fixture *fixture = *state;
    struct copy_timing seldom = quick;
    seldom.interval_ms = NEVER_MS;
    start(fixture, &seldom);
    put_generation(fixture->copies->store, 3, 1);
    source_syncs(fixture);
    wait_until(fixture, fixture->status.copy.written_wall_ms > 0);
    put_generation(fixture->copies->store, 4, 1);
    copy_keeper_source_changed(fixture->keeper);
    for (int i = 0; i < 20; i++)
        assert_true(sd_event_run(fixture->event, 10 * 1000) >= 0);
    assert_int_equal(copied(fixture), 3);

    /* What is not written yet is when the agent ends. */
    copy_keeper_free(TAKE_PTR(fixture->keeper));
    assert_int_equal(copied(fixture), 4);
}

/* So much for a large one that changes all the time. */
static void large_copies_are_rarer(void **state)
{
    struct fixture *fixture = *state;
    struct copy_timing slow = quick;
    slow.bytes_per_ms = 1;
    start(fixture, &slow);
    put_generation(fixture->copies->store, 3000, 1); /* for minutes to come */
    source_syncs(fixture);
    wait_until(fixture, fixture->status.copy.written_wall_ms > 0);
    (void)store_remove(fixture->copies->store, "api", KIND_ENDPOINT_SLICE, "n", "web-0");
    copy_keeper_source_changed(fixture->keeper);
    for (int i = 0; i < 20; i++)
        assert_true(sd_event_run(fixture->event, 10 * 1000) >= 0);
    assert_int_equal(copied(fixture), 3000);
}

static void stays_young(void **state)
{
    struct fixture *fixture = *state;
    struct copy_timing often = quick;
    often.refresh_ms = 1;
    start(fixture, &often);
    source_syncs(fixture);
    wait_until(fixture, fixture->status.copy.written_wall_ms > 0);
    int64_t first_ms = fixture->status.copy.written_wall_ms;
    wait_until(fixture, fixture->status.copy.written_wall_ms > first_ms);

    /* But not while nobody knows whether it is true. */
    fixture->status.source.kube.kinds[0].error_wall_ms = first_ms;
    (void)strcpy(fixture->status.source.kube.kinds[0].error, "refused");
    first_ms = fixture->status.copy.written_wall_ms;
    for (int i = 0; i < 20; i++)
        assert_true(sd_event_run(fixture->event, 10 * 1000) >= 0);
    int64_t last_ms = fixture->status.copy.written_wall_ms;
    for (int i = 0; i < 20; i++)
        assert_true(sd_event_run(fixture->event, 10 * 1000) >= 0);
    assert_true(last_ms == fixture->status.copy.written_wall_ms);
}

/* A kind that can't be followed makes a new copy old. */
static void as_old_as_its_oldest_kind(void **state)
{
    struct fixture *fixture = *state;
    struct kube_status *kube = &fixture->status.source.kube;
    kube->count = 3;
    kube->kinds[1] = (struct kube_kind_status){
        .kind = "Node", .state = KUBE_WAITING, .error = "refused", .error_wall_ms = 1000
    };
    kube->kinds[2] = (struct kube_kind_status){ .kind = "Egress", .state = KUBE_ABSENT };
    start(fixture, &quick);
    source_syncs(fixture);
    wait_until(fixture, fixture->status.copy.written_wall_ms > 0);
    assert_int_equal(fixture->status.copy.as_of_wall_ms, 1000);

    AUTOLOADED struct loaded loaded = load(fixture->copies);
    assert_int_equal(loaded.head.kinds[KIND_NODE].synced_wall_ms, 1000);
    assert_int_equal(loaded.head.kinds[KIND_EGRESS].synced_wall_ms, 0);
}

static void stands_in_for_the_api(void **state)
{
    struct fixture *fixture = *state;
    struct copy_timing impatient = quick;
    impatient.wait_ms = 1;
    leave_copy(fixture, 5);
    start(fixture, &impatient);
    assert_int_equal(store_count(fixture->copies->store, KIND_ENDPOINT_SLICE), 5);
    assert_int_equal(fixture->status.copy.objects, 5);
    assert_false(status_is_known(&fixture->status));
    wait_until(fixture, fixture->settled);
    assert_true(fixture->status.copy.in_force);
    assert_true(status_is_known(&fixture->status));
    const struct known_fault *fault = fault_of(fixture, "start");
    assert_string_equal(fault->place, "https://api:6443");
    assert_non_null(strstr(fault->message, "what it said until 2026-11-20T07:33:00Z is in force"));

    /* The API comes back and says less. */
    (void)store_remove(fixture->copies->store, "api", KIND_ENDPOINT_SLICE, "n", "web-4");
    source_syncs(fixture);
    assert_int_equal(fixture->settled, 1);
    assert_false(fixture->status.copy.in_force);
    assert_null(fault_of(fixture, "start"));
    wait_until(fixture, copied(fixture) == 4);
}

static void nothing_stands_in(void **state)
{
    struct fixture *fixture = *state;
    struct copy_timing impatient = quick;
    impatient.wait_ms = 1;
    start(fixture, &impatient);
    wait_until(fixture, fixture->settled);
    assert_false(fixture->status.copy.in_force);
    assert_string_equal(known_fault_code(fault_of(fixture, "start")), "api-never-read");
    source_syncs(fixture);
    assert_null(fault_of(fixture, "start"));
}

static void a_bad_copy_is_a_fault_until_there_is_a_good_one(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(file_write_atomic(fixture->copies->path, "{\"fingerpost", 12), 0);
    start(fixture, &quick);
    assert_string_equal(known_fault_code(fault_of(fixture, "copy")), "copy-damaged");
    assert_int_equal(fixture->status.copy.written_wall_ms, 0);
    put_generation(fixture->copies->store, 2, 1);
    source_syncs(fixture);
    wait_until(fixture, !fault_of(fixture, "copy"));
    assert_int_equal(copied(fixture), 2);
}

static void a_copy_that_cannot_be_written_is_tried_again(void **state)
{
    struct fixture *fixture = *state;
    char away[128];
    (void)snprintf(away, sizeof(away), "%s.away", fixture->copies->folder);
    start(fixture, &quick);
    put_generation(fixture->copies->store, 2, 1);
    assert_int_equal(rename(fixture->copies->folder, away), 0);
    source_syncs(fixture);
    wait_until(fixture, fault_of(fixture, "copy"));
    assert_non_null(strstr(fault_of(fixture, "copy")->message,
                           "can't be written: No such file or directory; there is none"));
    assert_int_equal(rename(away, fixture->copies->folder), 0);
    wait_until(fixture, !fault_of(fixture, "copy"));
    assert_int_equal(copied(fixture), 2);
}

static void a_copy_that_was_written_before_is_told_of(void **state)
{
    struct fixture *fixture = *state;
    char away[128];
    (void)snprintf(away, sizeof(away), "%s.away", fixture->copies->folder);
    start(fixture, &quick);
    put_generation(fixture->copies->store, 2, 1);
    source_syncs(fixture);
    wait_until(fixture, fixture->status.copy.written_wall_ms > 0);
    assert_int_equal(rename(fixture->copies->folder, away), 0);
    put_generation(fixture->copies->store, 3, 1);
    copy_keeper_source_changed(fixture->keeper);
    wait_until(fixture, fault_of(fixture, "copy"));
    assert_string_equal(known_fault_code(fault_of(fixture, "copy")), "copy-outdated");
    assert_int_equal(rename(away, fixture->copies->folder), 0);
    wait_until(fixture, !fault_of(fixture, "copy"));
    assert_int_equal(copied(fixture), 3);
}

#define keeper_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        keeper_test(written_when_synced),
        keeper_test(not_written_before),
        keeper_test(changes_do_not_put_it_off),
        keeper_test(seldom_while_changes_go_on),
        keeper_test(large_copies_are_rarer),
        keeper_test(stays_young),
        keeper_test(as_old_as_its_oldest_kind),
        keeper_test(stands_in_for_the_api),
        keeper_test(nothing_stands_in),
        keeper_test(a_bad_copy_is_a_fault_until_there_is_a_good_one),
        keeper_test(a_copy_that_was_written_before_is_told_of),
        keeper_test(a_copy_that_cannot_be_written_is_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
