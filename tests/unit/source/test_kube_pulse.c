// SPDX-License-Identifier: Apache-2.0
/* An API that hangs is found out by asking; nobody asks one that talks. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kube_fixture.h"

#include "cmocka_all.h"

/* While it hangs its watches stay open, and so do those to a kernel that goes on to acknowledge. */
static bool hang(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    (void)peer, (void)kind;
    return fx->hooked > 0;
}

static void an_api_that_hangs_is_told_of(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = LIST_OF("10", SERVICE("web", "7", "10.0.0.1"));
    fx->hook = hang;
    fx->timing.pulse_ms = 40;
    fx->timing.pulse_limit_ms = 100;
    start_and_sync(fx);
    run_until(fx, fx->checked >= 2);
    assert_int_equal(fault_book_count(fx->faults), 0);
    fx->hooked = 1;
    run_until(fx,
              find_fault(fx, "", fx->api.url,
                         "the API can't be reached: it takes questions, and has answered none"));
    assert_int_equal(fault_book_count(fx->faults), 1);
    assert_non_null(strstr(fault_book_at(fx->faults, 0)->remedy, "hangs"));
    assert_int_equal(kind_status(fx, KIND_SERVICE)->state, KUBE_WATCHING);

    fx->hooked = 0;
    run_until(fx, fault_book_count(fx->faults) == 0);
    assert_int_equal(fx->watched[KIND_SERVICE], 1); /* it goes on where it was */
    assert_int_equal(fx->listed[KIND_SERVICE], 1);
}

/* Who hears enough need not ask. */
static void nobody_asks_an_api_that_talks(void **state)
{
    struct fixture *fx = *state;
    fx->timing.pulse_ms = 2 * SECOND_MS;
    start_and_sync(fx);
    int64_t end_ms = clock_mono_ms() + 3 * SECOND_MS;
    for (int i = 0; clock_mono_ms() < end_ms; i++) {
        say_event(fx, KIND_SERVICE, i % 2 ? "DELETED" : "ADDED", SERVICE("web", "11", "10.0.0.2"));
        run_until(fx, has_service(fx, "web", "10.0.0.2") == (i % 2 == 0));
    }
    assert_int_equal(fx->checked, 0);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, kube_setup_fixture, kube_teardown_fixture)
    const struct CMUnitTest tests[] = {
        TEST(an_api_that_hangs_is_told_of),
        TEST(nobody_asks_an_api_that_talks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
