// SPDX-License-Identifier: Apache-2.0
/* What says nothing for long, or little by little: watches behind a proxy that holds them back, and
 * lists without end. */
#include <string.h>

#include "kube_fixture.h"

#include "cmocka_all.h"

#define WEB LIST_OF("10", SERVICE("web", "7", "10.0.0.1"))

/* As a proxy that passes answers on when they are complete: each watch begins well. */
static void a_watch_that_misses_what_changes_is_told_and_listed(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = WEB;
    fx->timing.silence_ms = 100;
    start_and_sync(fx);
    fx->lists[KIND_SERVICE] = LIST_OF("20", SERVICE("new", "15", "10.0.0.3"));
    run_until(fx, find_fault(fx, "Service", "Service", "say nothing of what has changed"));
    assert_true(has_service(fx, "new", "10.0.0.3"));
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 1);
    assert_int_equal(fx->listed[KIND_SERVICE], 2);
    assert_false(has_group(fx, "Node")); /* it says nothing either, and nothing changes */
    /* From now on after each. */
    fx->lists[KIND_SERVICE] = LIST_OF("30", SERVICE("next", "25", "10.0.0.4"));
    unsigned watched = fx->watched[KIND_SERVICE];
    run_until(fx, has_service(fx, "next", "10.0.0.4"));
    assert_true(fx->watched[KIND_SERVICE] <= watched + 1);
    fx->timing.silence_ms = MINUTE_MS; /* of the watch that follows the list */
    watched = fx->watched[KIND_SERVICE];
    run_until(fx, fx->watched[KIND_SERVICE] > watched &&
                      kind_status(fx, KIND_SERVICE)->state == KUBE_WATCHING);
    say_event(fx, KIND_SERVICE, "BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"1000\"}}");
    run_until(fx, !has_group(fx, "Service"));
    assert_string_equal(kind_status(fx, KIND_SERVICE)->error, "");
}

static struct fake_peer *slow;

static bool answer_slowly(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    if (kind != KIND_SERVICE || strstr(peer->path, "watch=1") || fx->hooked++ > 0)
        return false;
    fake_peer_begin(peer, 200);
    fake_peer_say(peer, "{\"kind\":\"ServiceList\",\"items\":[");
    slow = peer;
    return true;
}

static unsigned trickled;

static int trickle_elements(sd_event_source *source, uint64_t usec, void *context)
{
    (void)context;
    AUTOFREE char *element = text_format(
        "{\"metadata\":{\"name\":\"s%u\",\"namespace\":\"d\"},\"spec\":{}},", trickled++);
    if (slow && slow->fd >= 0)
        fake_peer_say(slow, element);
    (void)sd_event_source_set_time(source, usec + 10000);
    return 0;
}

/* Each in its time, and without end. */
static void a_list_that_trickles_is_given_up_and_told(void **state)
{
    struct fixture *fx = *state;
    sd_event_source *timer = NULL;
    fx->lists[KIND_SERVICE] = WEB;
    fx->timing.answer_ms = 300;
    fx->timing.list_ms = 500;
    slow = NULL;
    fx->hook = answer_slowly;
    assert_true(sd_event_add_time_relative(fx->event, &timer, CLOCK_MONOTONIC, 0, 1000,
                                           trickle_elements, NULL) >= 0);
    assert_true(sd_event_source_set_enabled(timer, SD_EVENT_ON) >= 0);
    start_source(fx);
    run_until(fx, find_fault(fx, "Service", "Service", "the list is not complete after"));
    run_until(fx, fx->status.synced);
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 1);
    sd_event_source_disable_unref(timer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, kube_setup_fixture, kube_teardown_fixture)
        TEST(a_watch_that_misses_what_changes_is_told_and_listed),
        TEST(a_list_that_trickles_is_given_up_and_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
