// SPDX-License-Identifier: Apache-2.0
/* The Kubernetes source after its watches were cut or ended: how it goes on, and what is left
 * behind. */
#include <dirent.h>
#include <string.h>

#include "kube_fixture.h"

#include "cmocka_all.h"

#define WEB LIST_OF("10", SERVICE("web", "7", "10.0.0.1"))

/* Nodes, and with them the own Node that tells how far the API has come. */
static bool forbid_nodes(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    (void)fx;
    if (kind != KIND_NODE)
        return false;
    fake_peer_answer(peer, 403, NULL, "{\"message\":\"nodes is forbidden\"}");
    return true;
}

static void a_kind_that_is_forbidden_is_of_no_concern_to_others(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = WEB;
    fx->hook = forbid_nodes;
    start_source(fx);
    run_until(fx, has_group(fx, "Node") && fx->watches[KIND_SERVICE]);
    fx->lists[KIND_SERVICE] = LIST_OF("20", SERVICE("new", "15", "10.0.0.3"));
    fake_peer_cut(fx->watches[KIND_SERVICE]);
    run_until(fx, fx->watched[KIND_SERVICE] == 2);
    assert_true(has_service(fx, "new", "10.0.0.3"));
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 1);
    assert_false(has_group(fx, "Service"));
    assert_non_null(find_fault(fx, "Node", "Node", "403: nodes is forbidden"));
}

/* The Status of an event has it. What is no number of seconds is passed over. */
static void a_time_to_wait_that_an_event_tells_is_heeded(void **state)
{
    struct fixture *fx = *state;
    static const struct {
        const char *seconds;
        int64_t least_ms;
    } cases[] = { { "1", 1000 },        { "-1", 0 },  { "1e300", 0 },
                  { "99999999999", 0 }, { "[7]", 0 }, { "null", 0 } };
    start_and_sync(fx);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOFREE char *status =
            text_format("{\"kind\":\"Status\",\"code\":429,\"message\":\"busy\","
                        "\"details\":{\"retryAfterSeconds\":%s}}",
                        cases[i].seconds);
        unsigned before = fx->watched[KIND_SERVICE];
        int64_t began_ms = clock_mono_ms();
        say_event(fx, KIND_SERVICE, "ERROR", status);
        run_until(fx, fx->watched[KIND_SERVICE] == before + 1);
        assert_true(clock_mono_ms() - began_ms >= cases[i].least_ms);
    }
    assert_int_equal(fx->listed[KIND_SERVICE], 1);
}

static void fail_somehow(struct fake_peer *peer, unsigned how)
{
    static const char no_http[] = "220 smtp.example\r\n";
    switch (how % 8) {
    case 0:
        fake_peer_cut(peer); /* without a word */
        return;
    case 1:
        fake_peer_answer(peer, 500, NULL, "{\"message\":\"etcd is away\"}");
        return;
    case 2:
        fake_peer_answer(peer, 410, NULL, "{\"message\":\"too old\"}");
        return;
    case 3:
        fake_peer_send(peer, no_http, sizeof(no_http) - 1);
        fake_peer_cut(peer);
        return;
    case 4: /* in the middle of a chunk */
        fake_peer_begin(peer, 200);
        fake_peer_send(peer, "40\r\n{\"type\":\"ADDED\",", 21);
        fake_peer_cut(peer);
        return;
    default:
        fake_peer_begin(peer, 200);
        fake_peer_say(peer, how % 8 == 5   ? "{\"type\":\"ADDED\",\"object\":{"
                            : how % 8 == 6 ? "<html>502 Bad Gateway</html>\n"
                                           : " ");
        fake_peer_end(peer);
        return;
    }
}

static bool fail_always(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    text_truncate(&fx->api.heard, 0);
    if (kind != KIND_SERVICE || fx->hooked == 0)
        return false;
    fx->hooked--;
    /* Lists and checks fail half of the time, so that watches have their turn. */
    if (!strstr(peer->path, "watch=1") && fx->hooked % 2)
        return false;
    fail_somehow(peer, fx->hooked / 2);
    return true;
}

static size_t count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    size_t count = 0;
    while (readdir(folder))
        count++;
    (void)closedir(folder);
    return count;
}

static void reconnect(struct fixture *fx, unsigned times)
{
    fx->hooked = times;
    fake_peer_cut(fx->watches[KIND_SERVICE]);
    run_until(fx, fx->hooked == 0);
    run_until(fx, fault_book_count(fx->faults) == 0 &&
                      kind_status(fx, KIND_SERVICE)->state == KUBE_WATCHING);
}

/* Of the sanitizer; without it memory is not looked at. */
__attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes(void);

static size_t count_bytes(void)
{
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : 0;
}

/* After the first ones everything has the size that it needs. */
static void reconnecting_costs_nothing(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = WEB;
    fx->timing.retry_initial_ms = fx->timing.retry_max_ms = 1;
    fx->hook = fail_always;
    start_and_sync(fx);
    reconnect(fx, 100);
    size_t descriptors = count_descriptors(), bytes = count_bytes();
    reconnect(fx, 400);
    assert_int_equal(count_descriptors(), descriptors);
    assert_true(count_bytes() <= bytes);
    assert_true(has_service(fx, "web", "10.0.0.1"));
}

static bool refuse_for_an_hour(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    if (kind != KIND_SERVICE)
        return false;
    fx->hook = NULL;
    fake_peer_answer(peer, 503, "Retry-After: 3600\r\n", "");
    return true;
}

/* The first failure of a kind; but nobody asks again before the pause is over. */
static void a_long_time_to_wait_is_told(void **state)
{
    struct fixture *fx = *state;
    fx->hook = refuse_for_an_hour;
    start_source(fx);
    run_until(fx, find_fault(fx, "Service", "Service", "503: the API does not answer as asked"));
    assert_int_equal(fx->listed[KIND_SERVICE], 1);
}

static void so_is_the_one_of_an_error(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = WEB;
    start_and_sync(fx);
    say_event(fx, KIND_SERVICE, "ERROR",
              "{\"kind\":\"Status\",\"code\":429,\"message\":\"busy\",\"details\":"
              "{\"retryAfterSeconds\":1000000000}}");
    run_until(fx, find_fault(fx, "Service", "Service", "the API ended the watch: busy"));
}

static int64_t refused_ms;

static bool forbid_once(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    if (kind != KIND_SERVICE)
        return false;
    fx->hook = NULL;
    refused_ms = clock_mono_ms();
    fake_peer_answer(peer, 403, NULL, "");
    return true;
}

/* An API that begins knows no roles yet. The pauses had grown to a second by then. */
static void a_refusal_after_an_outage_costs_no_long_pause(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = WEB;
    fx->timing.retry_initial_ms = 1;
    fx->timing.retry_max_ms = MINUTE_MS;
    fake_api_stop(&fx->api);
    int64_t began_ms = clock_mono_ms();
    start_source(fx);
    run_until(fx, clock_mono_ms() - began_ms > 1100);
    fx->hook = forbid_once;
    fake_api_listen(&fx->api);
    run_until(fx, fx->status.synced);
    assert_true(refused_ms > 0);
    assert_in_range(clock_mono_ms() - refused_ms, 0, 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, kube_setup_fixture, kube_teardown_fixture)
        TEST(a_kind_that_is_forbidden_is_of_no_concern_to_others),
        TEST(a_time_to_wait_that_an_event_tells_is_heeded),
        TEST(reconnecting_costs_nothing),
        TEST(a_long_time_to_wait_is_told),
        TEST(a_refusal_after_an_outage_costs_no_long_pause),
        TEST(so_is_the_one_of_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
