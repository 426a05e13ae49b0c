// SPDX-License-Identifier: Apache-2.0
/* When what a detector sees is raised, and when it is cleared. */
#include <errno.h>

#include "detect/detection.h"
#include "faults/bgp.h"
#include "faults/raise.h"

#include "raised.h"

#include "failing_heap.h"

enum { HOLD_MS = 100, LINGER_MS = 1000 };

#define ONE "bgp-session-missing at one\n"
#define TWO "bgp-session-missing at two\n"

/* The names of what is there, NULL behind the last. */
static const char *const *there;

static void detect(const struct detector_facts *facts, struct faults *faults)
{
    (void)facts;
    for (const char *const *place = there; *place; place++)
        fault_raise(faults, *place, bgp_session_missing);
}

static const struct detector patient = { .hold_ms = HOLD_MS,
                                         .linger_ms = LINGER_MS,
                                         .detect = detect };
static const struct detector prompt = { .detect = detect };

#define THERE(...) (there = (const char *const[]){ __VA_ARGS__, NULL })

static void assert_holds(struct detection *detection, const struct detector *detector,
                         int64_t now_ms, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    assert_int_equal(detection_run(detection, detector, NULL, now_ms), 0);
    detection_report(detection, &faults);
    assert_raised(&faults, expected);
}

static void without_hold_and_linger_it_is_told_at_once(void **state)
{
    CLEANUP(detection_done) struct detection detection = { 0 };
    (void)state;
    THERE("one", "two");
    assert_holds(&detection, &prompt, 1, ONE TWO);
    assert_true(detection_due_ms(&detection, &prompt) == INT64_MAX);
    THERE("two");
    assert_holds(&detection, &prompt, 1, TWO);
    THERE(NULL);
    assert_holds(&detection, &prompt, 1, "");
}

static void it_is_raised_after_its_hold(void **state)
{
    CLEANUP(detection_done) struct detection detection = { 0 };
    (void)state;
    THERE("one");
    assert_holds(&detection, &patient, 1, "");
    assert_int_equal(detection_due_ms(&detection, &patient), 1 + HOLD_MS);
    THERE("one", "two");
    assert_holds(&detection, &patient, HOLD_MS, "");
    assert_holds(&detection, &patient, 1 + HOLD_MS, ONE);
    assert_int_equal(detection_due_ms(&detection, &patient), 2 * HOLD_MS);
    assert_holds(&detection, &patient, 2 * HOLD_MS, ONE TWO);
    assert_true(detection_due_ms(&detection, &patient) == INT64_MAX);
}

static void a_hold_begins_anew_with_each_gap(void **state)
{
    CLEANUP(detection_done) struct detection detection = { 0 };
    (void)state;
    THERE("one");
    assert_holds(&detection, &patient, 0, "");
    THERE(NULL);
    assert_holds(&detection, &patient, HOLD_MS / 2, "");
    assert_int_equal(detection.list.count, 0);
    THERE("one");
    assert_holds(&detection, &patient, HOLD_MS, "");
    assert_holds(&detection, &patient, 2 * HOLD_MS, ONE);
}

static void it_is_cleared_after_its_linger(void **state)
{
    CLEANUP(detection_done) struct detection detection = { 0 };
    (void)state;
    THERE("one");
    assert_holds(&detection, &patient, 0, "");
    assert_holds(&detection, &patient, HOLD_MS, ONE);
    THERE(NULL);
    assert_holds(&detection, &patient, 200, ONE);
    assert_int_equal(detection_due_ms(&detection, &patient), 200 + LINGER_MS);
    THERE("one"); /* again: the time since which it is gone begins anew */
    assert_holds(&detection, &patient, 300, ONE);
    THERE(NULL);
    assert_holds(&detection, &patient, 400, ONE);
    assert_holds(&detection, &patient, 399 + LINGER_MS, ONE);
    assert_holds(&detection, &patient, 400 + LINGER_MS, "");
    assert_int_equal(detection.list.count, 0);
}

static void without_memory_it_stays_as_it_was(void **state)
{
    CLEANUP(detection_done) struct detection detection = { 0 };
    (void)state;
    THERE("one");
    assert_holds(&detection, &prompt, 0, ONE);
    THERE("one", "two", "three", "four", "five", "six", "seven", "eight", "nine");
    int r = -ENOMEM;
    for (int n = 0; r < 0; n++) {
        r = with_heap(n, detection_run(&detection, &prompt, NULL, 1));
        assert_int_equal(r, heap_missed ? -ENOMEM : 0);
        assert_int_equal(detection.list.count, r == 0 ? 9 : 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_hold_and_linger_it_is_told_at_once),
        cmocka_unit_test(it_is_raised_after_its_hold),
        cmocka_unit_test(a_hold_begins_anew_with_each_gap),
        cmocka_unit_test(it_is_cleared_after_its_linger),
        cmocka_unit_test(without_memory_it_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
