// SPDX-License-Identifier: Apache-2.0
/*
 * The Kubernetes source when the API is away, refuses, lies, stutters or falls silent: what is
 * known stays, a fault says why, and afterwards everything is as it should be.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kube_fixture.h"

#include "cmocka_all.h"

#define WEB LIST_OF("10", SERVICE("web", "7", "10.0.0.1"))

static void an_api_that_is_away_takes_nothing_with_it(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = WEB;
    start_and_sync(fx);
    fake_api_stop(&fx->api);
    run_until(fx, find_fault(fx, "", fx->api.url, "the API can't be reached: "));
    assert_int_equal(fault_book_count(fx->faults), 1); /* one, not one of each kind */
    assert_non_null(strstr(fault_book_at(fx->faults, 0)->message, "Connection refused"));
    assert_non_null(strstr(fault_book_at(fx->faults, 0)->remedy, "whether kube-apiserver runs"));
    assert_true(has_service(fx, "web", "10.0.0.1"));
    assert_true(fx->status.synced);
    assert_int_equal(kind_status(fx, KIND_SERVICE)->state, KUBE_WAITING);
    assert_true(kind_status(fx, KIND_SERVICE)->error_wall_ms > 0);

    fake_api_listen(&fx->api);
    run_until(fx, fault_book_count(fx->faults) == 0);
    assert_int_equal(kind_status(fx, KIND_SERVICE)->state, KUBE_WATCHING);
    assert_int_equal(fx->listed[KIND_SERVICE], 1);
    say_event(fx, KIND_SERVICE, "MODIFIED", SERVICE("web", "11", "10.0.0.2"));
    run_until(fx, has_service(fx, "web", "10.0.0.2"));
}

static void an_api_that_is_away_at_the_start_is_waited_for(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = WEB;
    fake_api_stop(&fx->api);
    start_source(fx);
    run_until(fx, has_group(fx, ""));
    assert_false(fx->status.synced);
    fake_api_listen(&fx->api);
    run_until(fx, fx->status.synced && fault_book_count(fx->faults) == 0);
    assert_true(has_service(fx, "web", "10.0.0.1"));
}

static bool hang_up_on_nodes(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    if (kind != KIND_NODE || fx->hooked == 0)
        return false;
    fake_peer_cut(peer);
    return true;
}

/* Whoever comes through first takes the others along: here those that look for their CRDs. */
static void nobody_waits_once_the_api_is_back(void **state)
{
    struct fixture *fx = *state;
    fx->timing.retry_initial_ms = fx->timing.retry_max_ms = 1000 * SECOND_MS;
    fx->timing.absent_ms = 10;
    fx->hook = hang_up_on_nodes;
    fx->hooked = 1;
    start_source(fx);
    run_until(fx, *kind_status(fx, KIND_NODE)->error != '\0');
    fx->hooked = 0;
    run_until(fx, fx->status.synced);
}

/* Refuses services' lists, as often as `hooked` says. */
static int refusal;
static const char *refusal_headers, *refusal_body;

static bool refuse_services(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    if (kind != KIND_SERVICE || fx->hooked == 0)
        return false;
    fx->hooked--;
    fake_peer_answer(peer, refusal, refusal_headers, refusal_body);
    return true;
}

static void refuse(struct fixture *fx, int status, const char *headers, const char *body,
                   unsigned times)
{
    refusal = status;
    refusal_headers = headers;
    refusal_body = body;
    fx->hooked = times;
    fx->hook = refuse_services;
}

static void a_refusal_says_why_and_what_to_do(void **state)
{
    struct fixture *fx = *state;
    static const struct {
        int status;
        const char *body, *told;
    } cases[] = {
        { 401, "{\"kind\":\"Status\",\"message\":\"Unauthorized\"}", "401: Unauthorized" },
        { 403, "{\"message\":\"services is forbidden: User \\\"x\\\"\"}",
          "403: services is forbidden: User \"x\"" },
        { 404, "404 page not found", "404: the API does not have it" },
        { 429, "", "429: the API has too much to do" },
        { 500, "<html>", "500: the API does not answer as asked" },
        { 503, "{\"message\":\"line\\nline\\u001b[31m\"}", "503: line?line?[31m" },
        { 400, "Client sent an HTTP request to an HTTPS server.\n",
          "400: the API does not answer as asked" },
        { 302, "", "302: a redirection, which is not followed" },
        { 307, "<a href=x>", "307: a redirection, which is not followed" },
    };
    start_source(fx);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        refuse(fx, cases[i].status, NULL, cases[i].body, UINT32_MAX);
        if (fx->watches[KIND_SERVICE])
            fake_peer_cut(fx->watches[KIND_SERVICE]);
        fx->watches[KIND_SERVICE] = NULL;
        run_until(fx, find_fault(fx, "Service", "Service", cases[i].told));
        const struct known_fault *fault = find_fault(fx, "Service", "Service", cases[i].told);
        assert_non_null(fault->remedy);
        fx->hooked = 0;
        run_until(fx, !has_group(fx, "Service") && fx->watches[KIND_SERVICE]);
    }
}

static void others_are_not_kept_waiting(void **state)
{
    struct fixture *fx = *state;
    refuse(fx, 403, NULL, "", UINT32_MAX);
    start_source(fx);
    run_until(fx, has_group(fx, "Service") && fx->watches[KIND_ENDPOINT_SLICE] &&
                      fx->watches[KIND_NODE] && fx->watches[KIND_POD]);
    assert_int_equal(fault_book_count(fx->faults), 1);
    assert_false(fx->status.synced);
}

static void a_time_to_wait_is_heeded(void **state)
{
    struct fixture *fx = *state;
    refuse(fx, 429, "Retry-After: 1\r\n", "", 1);
    int64_t began_ms = clock_mono_ms();
    start_and_sync(fx);
    assert_true(clock_mono_ms() - began_ms >= 1000);
    assert_int_equal(fx->listed[KIND_SERVICE], 2);
    assert_int_equal(fault_book_count(fx->faults), 0); /* once is no fault */
}

static void a_watch_too_old_is_followed_by_a_list(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] =
        LIST_OF("10", SERVICE("a", "1", "10.0.0.1") "," SERVICE("b", "2", "10.0.0.2"));
    start_and_sync(fx);
    fx->lists[KIND_SERVICE] =
        LIST_OF("50", SERVICE("b", "2", "10.0.0.2") "," SERVICE("c", "40", "10.0.0.3"));
    say_event(fx, KIND_SERVICE, "ERROR",
              "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too old\"}");
    run_until(fx, fx->watched[KIND_SERVICE] == 2);
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 2);
    assert_true(has_service(fx, "b", "10.0.0.2") && has_service(fx, "c", "10.0.0.3"));
    assert_non_null(strstr(text_str(&fx->api.heard),
                           "/services?resourceVersion=10&resourceVersionMatch=NotOlderThan\n"));
    assert_non_null(strstr(fx->watches[KIND_SERVICE]->path, "&resourceVersion=50&"));
    assert_int_equal(fx->checked, 0);
}

static bool refuse_watches(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    (void)fx;
    if (kind != KIND_SERVICE || !strstr(peer->path, "watch=1"))
        return false;
    fake_peer_answer(peer, 410, NULL, "{\"message\":\"too old resource version\"}");
    return true;
}

/* Lists are good, watches are not: that must not become a storm. */
static void watches_that_are_always_too_old_are_asked_for_ever_more_seldom(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = WEB;
    fx->hook = refuse_watches;
    fx->timing.retry_max_ms = 60000;
    start_source(fx);
    run_until(fx, find_fault(fx, "Service", "Service", "410: too old resource version"));
    run_until(fx, fx->watched[KIND_SERVICE] == 6);
    /* After the sixth, 128 and 256 ms, of which a fifth may be missing. */
    int64_t began_ms = clock_mono_ms();
    run_until(fx, fx->watched[KIND_SERVICE] == 8);
    assert_true(clock_mono_ms() - began_ms >= (128 + 256) * 8 / 10);
    assert_true(has_service(fx, "web", "10.0.0.1"));
}

static bool forget_versions(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    if (kind != KIND_SERVICE || !strstr(peer->path, "&resourceVersion=10&") || fx->hooked == 0)
        return false;
    fake_peer_answer(peer, 410, NULL, "{\"message\":\"too old resource version\"}");
    return true;
}

/* An API server that was started again refuses old versions: that is no further failure. */
static void an_api_that_comes_back_is_listed_at_once(void **state)
{
    struct fixture *fx = *state;
    start_and_sync(fx);
    fake_peer_cut(fx->watches[KIND_SERVICE]);
    run_until(fx, *kind_status(fx, KIND_SERVICE)->error != '\0');
    run_until(fx, *kind_status(fx, KIND_SERVICE)->error == '\0'); /* this watch has lasted */
    fake_api_stop(&fx->api);
    run_until(fx, has_group(fx, ""));
    fx->timing.steady_ms = 60000;
    fx->hook = forget_versions;
    fx->hooked = 1;
    fx->lists[KIND_SERVICE] = LIST_OF("20", SERVICE("web", "11", "10.0.0.1"));
    fake_api_listen(&fx->api);
    run_until(fx, kind_status(fx, KIND_SERVICE)->state == KUBE_WATCHING);
    assert_true(has_service(fx, "web", "10.0.0.1"));
    assert_non_null(strstr(kind_status(fx, KIND_SERVICE)->error, "connect"));
}

/* 410 on every page but the first; 504 on what is not older. */
static bool expire_pages(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    if (kind != KIND_SERVICE || strstr(peer->path, "watch=1"))
        return false;
    if (strstr(peer->path, "resourceVersion=0"))
        fake_peer_answer(peer, 504, NULL, "{\"message\":\"Too large resource version\"}");
    else if (strstr(peer->path, "continue="))
        fake_peer_answer(peer, 410, NULL, "{\"message\":\"continue is too old\"}");
    else if (strstr(peer->path, "limit="))
        fake_peer_answer(
            peer, 200, NULL,
            "{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":\"10\",\"continue\":\"x\"},\"items\":[" SERVICE(
                "gone", "1", "10.0.0.9") "]}");
    else
        fake_peer_answer(peer, 200, NULL, fx->lists[KIND_SERVICE]);
    return true;
}

static void pages_that_expire_are_followed_by_a_whole_list(void **state)
{
    struct fixture *fx = *state;
    fx->hook = expire_pages;
    fx->lists[KIND_SERVICE] = WEB;
    start_and_sync(fx);
    assert_int_equal(fx->listed[KIND_SERVICE], 4);
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 1);
    assert_true(has_service(fx, "web", "10.0.0.1"));
    assert_int_equal(fault_book_count(fx->faults), 0);
}

static bool lose_second_page(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    if (kind != KIND_SERVICE || strstr(peer->path, "watch=1"))
        return false;
    if (strstr(peer->path, "continue="))
        fake_peer_answer(peer, 200, NULL, "");
    else
        fake_peer_answer(
            peer, 200, NULL,
            fx->hooked++
                ? fx->lists[kind]
                : "{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":\"9\",\"continue\":"
                  "\"x\"},\"items\":[" SERVICE("old", "1", "10.0.0.9") "]}");
    return true;
}

static void a_page_that_is_empty_is_no_end(void **state)
{
    struct fixture *fx = *state;
    fx->hook = lose_second_page;
    fx->lists[KIND_SERVICE] = WEB;
    start_and_sync(fx);
    assert_int_equal(fx->listed[KIND_SERVICE], 3); /* the list began anew */
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 1);
    assert_true(has_service(fx, "web", "10.0.0.1"));
}

/* A watch from a version that is still to come would be silent: the check finds it out. */
static void an_older_etcd_is_noticed(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = LIST_OF("900", SERVICE("new", "890", "10.0.0.9"));
    start_and_sync(fx);
    fx->lists[KIND_SERVICE] = LIST_OF("99", SERVICE("old", "80", "10.0.0.1"));
    fx->check =
        "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"99\",\"continue\":\"more\"},\"items\":["
        "{\"metadata\":{\"name\":\"node-1\"}}]}";
    fake_peer_cut(fx->watches[KIND_SERVICE]);
    run_until(fx, fx->watched[KIND_SERVICE] == 2);
    assert_true(has_service(fx, "old", "10.0.0.1"));
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 1);
    assert_non_null(strstr(fx->watches[KIND_SERVICE]->path, "&resourceVersion=99&"));
    assert_int_equal(store_count(fx->store, KIND_NODE), 0); /* the check takes in nothing */
}

static void a_silent_watch_is_asked_after(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = WEB;
    fx->timing.silence_ms = 200;
    start_and_sync(fx);
    run_until(fx, fx->watched[KIND_SERVICE] >= 2 && fx->watched[KIND_NODE] >= 2);
    assert_true(fx->checked >= 2);
    assert_int_equal(fx->listed[KIND_SERVICE], 1);
    assert_true(has_service(fx, "web", "10.0.0.1"));
    assert_string_equal(kind_status(fx, KIND_SERVICE)->error, ""); /* silence is no failure */
}

/* Bytes that never make an element are as good as silence. */
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

static int trickle(sd_event_source *source, uint64_t usec, void *context)
{
    (void)context;
    if (slow && slow->fd >= 0)
        fake_peer_say(slow, " ");
    (void)sd_event_source_set_time(source, usec + 10000);
    return 0;
}

static void an_answer_that_trickles_is_given_up(void **state)
{
    struct fixture *fx = *state;
    sd_event_source *timer = NULL;
    fx->lists[KIND_SERVICE] = WEB;
    fx->timing.answer_ms = 300;
    fx->hook = answer_slowly;
    assert_true(sd_event_add_time_relative(fx->event, &timer, CLOCK_MONOTONIC, 0, 1000, trickle,
                                           NULL) >= 0);
    assert_true(sd_event_source_set_enabled(timer, SD_EVENT_ON) >= 0);
    start_source(fx);
    run_until(fx, fx->status.synced);
    assert_true(fx->listed[KIND_SERVICE] >= 2);
    assert_true(has_service(fx, "web", "10.0.0.1"));
    sd_event_source_disable_unref(timer);
}

/* Cuts the answer about services after so many bytes, then lets it be. */
static size_t cut_at;
static bool cut_services(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    if (kind != KIND_SERVICE || strstr(peer->path, "watch=1") || fx->hooked++ > 0)
        return false;
    AUTOFREE char *part = strndup(fx->lists[kind], cut_at);
    fake_peer_begin(peer, 200);
    if (cut_at > 0)
        fake_peer_say(peer, part);
    if (cut_at % 2) /* in the middle of it, or as if all had been said */
        fake_peer_cut(peer);
    else
        fake_peer_end(peer);
    return true;
}

static void a_list_may_be_cut_anywhere(void **state)
{
    struct fixture *fx = *state;
    static const char list[] =
        LIST_OF("10", SERVICE("a", "1", "10.0.0.1") "," SERVICE("b", "2", "10.0.0.2"));
    fx->lists[KIND_SERVICE] = list;
    fx->hook = cut_services;
    fx->timing.retry_initial_ms = fx->timing.retry_max_ms = 1;
    for (cut_at = 0; cut_at + 1 < sizeof(list); cut_at++) {
        fx->hooked = 0;
        start_source(fx);
        run_until(fx, kind_status(fx, KIND_SERVICE)->synced);
        assert_int_equal(store_count(fx->store, KIND_SERVICE), 2);
        assert_true(has_service(fx, "a", "10.0.0.1") && has_service(fx, "b", "10.0.0.2"));
        assert_int_equal(fx->hooked, 2);
        kube_source_free(fx->source);
        fx->source = NULL;
    }
}

static void a_watch_may_be_cut_anywhere(void **state)
{
    struct fixture *fx = *state;
    static const char event[] =
        "{\"type\":\"ADDED\",\"object\":" SERVICE("a", "11", "10.0.0.1") "}\n";
    fx->timing.retry_initial_ms = fx->timing.retry_max_ms = 1;
    fx->timing.steady_ms = 1;
    start_and_sync(fx);
    for (size_t length = 1; length + 2 < sizeof(event); length++) {
        AUTOFREE char *part = strndup(event, length);
        fake_peer_say(fx->watches[KIND_SERVICE], part);
        if (length % 2)
            fake_peer_cut(fx->watches[KIND_SERVICE]);
        else
            fake_peer_end(fx->watches[KIND_SERVICE]);
        unsigned watched = fx->watched[KIND_SERVICE];
        run_until(fx, fx->watched[KIND_SERVICE] > watched);
        assert_non_null(strstr(fx->watches[KIND_SERVICE]->path, "&resourceVersion=10&"));
        assert_int_equal(store_count(fx->store, KIND_SERVICE), 0);
    }
    fake_peer_say(fx->watches[KIND_SERVICE], event);
    run_until(fx, has_service(fx, "a", "10.0.0.1"));
    assert_int_equal(fx->listed[KIND_SERVICE], 1);
}

static void what_is_no_list_is_refused(void **state)
{
    struct fixture *fx = *state;
    static const struct {
        const char *answer, *told;
    } cases[] = {
        { "", "the answer is empty" },
        { "<html>hello</html>", "the answer is no JSON" },
        { "{}", "the answer is no list" },
        { "{\"kind\":\"Status\",\"status\":\"Success\"}", "the answer is no list" },
        { "[1,2]", "the answer is no list" },
        { "{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":\"1&x=\"},\"items\":[]}",
          "the answer is no list" },
        { "{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":{}}",
          "items that are no list" },
        { WEB WEB, "more than one list" },
    };
    start_and_sync(fx);
    fx->lists[KIND_SERVICE] = WEB;
    kube_source_free(fx->source);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fx->lists[KIND_SERVICE] = cases[i].answer;
        start_source(fx);
        run_until(fx, find_fault(fx, "Service", "Service", cases[i].told));
        assert_false(kind_status(fx, KIND_SERVICE)->synced);
        kube_source_free(fx->source);
    }
    fx->source = NULL;
}

static void what_is_no_event_ends_the_watch(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = WEB;
    fx->timing.steady_ms = 60000; /* none is success */
    start_and_sync(fx);
    fake_peer_say(fx->watches[KIND_SERVICE], "{\"type\":\"RENAMED\",\"object\":{}}\n");
    run_until(fx, fx->watched[KIND_SERVICE] == 2);
    fake_peer_say(fx->watches[KIND_SERVICE], "<html>\n");
    run_until(fx, find_fault(fx, "Service", "Service", "no event of a watch"));
    run_until(fx, fx->watched[KIND_SERVICE] == 3);
    say_event(fx, KIND_SERVICE, "ERROR", "{\"code\":500,\"message\":\"etcd is away\"}");
    run_until(fx, find_fault(fx, "Service", "Service", "the API ended the watch: etcd is away"));
    assert_true(has_service(fx, "web", "10.0.0.1"));
    assert_int_equal(fx->listed[KIND_SERVICE], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, kube_setup_fixture, kube_teardown_fixture)
        TEST(an_api_that_is_away_takes_nothing_with_it),
        TEST(an_api_that_is_away_at_the_start_is_waited_for),
        TEST(nobody_waits_once_the_api_is_back),
        TEST(a_refusal_says_why_and_what_to_do),
        TEST(others_are_not_kept_waiting),
        TEST(a_time_to_wait_is_heeded),
        TEST(a_watch_too_old_is_followed_by_a_list),
        TEST(watches_that_are_always_too_old_are_asked_for_ever_more_seldom),
        TEST(an_api_that_comes_back_is_listed_at_once),
        TEST(pages_that_expire_are_followed_by_a_whole_list),
        TEST(a_page_that_is_empty_is_no_end),
        TEST(an_older_etcd_is_noticed),
        TEST(a_silent_watch_is_asked_after),
        TEST(an_answer_that_trickles_is_given_up),
        TEST(a_list_may_be_cut_anywhere),
        TEST(a_watch_may_be_cut_anywhere),
        TEST(what_is_no_list_is_refused),
        TEST(what_is_no_event_ends_the_watch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
