// SPDX-License-Identifier: Apache-2.0
/*
 * An API that answers something else than what was asked for, or what was so before: none of it is
 * believed, what is known stays in force, and it is not asked again and again without a pause.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kube_fixture.h"

#include "cmocka_all.h"

#define WEB LIST_OF("10", SERVICE("web", "7", "10.0.0.1"))

static void forget_watch(struct fixture *fx)
{
    say_event(fx, KIND_SERVICE, "ERROR", "{\"code\":410,\"message\":\"too old\"}");
}

static void assert_web_stays(const struct fixture *fx)
{
    assert_true(has_service(fx, "web", "10.0.0.1"));
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 1);
}

/* Lists that say nothing of Services, in the place of one. */
static void a_list_that_is_none_takes_nothing_out(void **state)
{
    struct fixture *fx = *state;
    static const struct {
        const char *answer, *told;
    } cases[] = {
        { "{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":\"20\"}}", "has no items" },
        { KIND_LIST("Pod", "20", ""), "no list of kind Service, but a \"PodList\"" },
        { KIND_LIST("Pod", "20", SERVICE("web", "20", "10.0.0.9")), "but a \"PodList\"" },
        { "{\"metadata\":{\"resourceVersion\":\"20\"},\"items\":[]}", "does not say its kind" },
        { "{\"items\":[" SERVICE("web", "20", "10.0.0.9") "],\"kind\":\"PodList\",\"metadata\":"
                                                          "{\"resourceVersion\":\"20\"}}",
          "but a \"PodList\"" },
        { "{\"items\":[" SERVICE("web", "20", "10.0.0.9") "],\"metadata\":{}}",
          "no resourceVersion" },
        { WEB LIST_OF("20", SERVICE("web", "20", "10.0.0.9")), "is more than one list" },
        { "{\"kind\":[],\"metadata\":{\"resourceVersion\":\"20\"},\"items\":[]}", "its kind" },
        { "{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":20},\"items\":[]}",
          "no resourceVersion" },
    };
    fx->lists[KIND_SERVICE] = WEB;
    start_and_sync(fx);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fx->lists[KIND_SERVICE] = cases[i].answer;
        forget_watch(fx);
        run_until(fx, has_group(fx, "Service"));
        const struct known_fault *fault = find_fault(fx, "Service", "Service", cases[i].told);
        if (!fault)
            fail_msg("no \"%s\" but %s", cases[i].told, kind_status(fx, KIND_SERVICE)->error);
        assert_non_null(strstr(fault->remedy, "who it is that answers"));
        assert_web_stays(fx);
        fx->lists[KIND_SERVICE] = WEB;
        run_until(fx, !has_group(fx, "Service"));
        assert_web_stays(fx);
    }
}

/* What an API server says that is behind, or a cache in front of it. Not even the elements of such
 * a list are taken in. */
static void an_older_list_is_not_believed(void **state)
{
    struct fixture *fx = *state;
    static const char *const versions[] = { "9", "0", "010", "abc" };
    static const char *const forms[] = {
        "{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":\"%s\"},\"items\":[%s]}",
        /* That of custom resources: after each item of a lie comes what it is. */
        ("{\"items\":[%2$s,{\"metadata\":{\"name\":\"bad\",\"namespace\":\"d\"},\"spec\":7}],"
         "\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":\"%1$s\"}}"),
        "{\"kind\":\"ServiceList\",\"items\":[%2$s],\"metadata\":{\"resourceVersion\":\"%1$s\"}}",
    };
    fx->lists[KIND_SERVICE] = WEB;
    start_and_sync(fx);
    for (size_t i = 0; i < ARRAY_SIZE(versions) * ARRAY_SIZE(forms); i++) {
        AUTOFREE char *list =
            text_format(forms[i % ARRAY_SIZE(forms)], versions[i / ARRAY_SIZE(forms)],
                        SERVICE("web", "3", "10.0.0.9"));
        fx->lists[KIND_SERVICE] = list;
        forget_watch(fx);
        run_until(fx, find_fault(fx, "Service", "Service", "after 10"));
        assert_web_stays(fx);
        assert_null(find_fault(fx, "Service", "Service d/bad", ""));
        fx->lists[KIND_SERVICE] = WEB;
        run_until(fx, !has_group(fx, "Service"));
        assert_web_stays(fx);
    }
}

/* As when the API server refuses such a version: what etcd has is what is so. */
static void an_older_list_is_believed_of_an_older_etcd(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = WEB;
    start_and_sync(fx);
    fx->lists[KIND_SERVICE] = LIST_OF("9", SERVICE("old", "3", "10.0.0.9"));
    fx->check = KIND_LIST("Node", "9", "");
    forget_watch(fx);
    run_until(fx, has_service(fx, "old", "10.0.0.9"));
    run_until(fx, kind_status(fx, KIND_SERVICE)->lists == 2);
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 1);
    assert_true(kind_status(fx, KIND_SERVICE)->back_mono_ms > 0);
    assert_non_null(strstr(text_str(&fx->api.heard), "/services?limit=500\n"));
}

static bool forbid_checks(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    (void)fx, (void)kind;
    if (!strstr(peer->path, "metadata.name"))
        return false;
    fake_peer_answer(peer, 403, NULL, "{\"message\":\"nodes is forbidden\"}");
    return true;
}

static void who_may_not_ask_believes_the_pages_of_etcd(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = WEB;
    fx->hook = forbid_checks;
    start_and_sync(fx);
    fx->lists[KIND_SERVICE] = LIST_OF("9", SERVICE("old", "3", "10.0.0.9"));
    forget_watch(fx);
    run_until(fx, has_service(fx, "old", "10.0.0.9"));
    run_until(fx, kind_status(fx, KIND_SERVICE)->lists == 2);
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 1);
    assert_non_null(strstr(text_str(&fx->api.heard), "/services?limit=500\n"));
}

#define OF_ANOTHER(kind)                                                         \
    "{\"kind\":\"" kind "\",\"metadata\":{\"name\":\"web\",\"namespace\":\"d\"," \
    "\"resourceVersion\":\"30\"}}"

static void events_of_the_past_are_not_believed(void **state)
{
    struct fixture *fx = *state;
    static const struct {
        const char *type, *object, *told;
    } cases[] = {
        { "MODIFIED", SERVICE("web", "3", "10.0.0.9"), "tells of version 3 after 10" },
        { "ADDED", SERVICE("new", "9", "10.0.0.9"), "tells of version 9 after 10" },
        { "DELETED", SERVICE("web", "7", "10.0.0.1"), "tells of version 7 after 10" },
        { "DELETED", SERVICE("web", "abc", "10.0.0.1"), "tells of version abc after 10" },
        { "DELETED", "{\"metadata\":{\"name\":\"web\",\"namespace\":\"d\"}}", "without a version" },
        { "DELETED", OF_ANOTHER("Pod"), "is about a \"Pod\"" },
        { "DELETED", OF_ANOTHER("Status"), "is about a \"Status\"" },
        { "BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"2\"}}", "tells of version 2 after 10" },
        { "BOOKMARK", OF_ANOTHER("Pod"), "is about a \"Pod\"" },
    };
    fx->lists[KIND_SERVICE] = WEB;
    start_and_sync(fx);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        unsigned watched = fx->watched[KIND_SERVICE];
        say_event(fx, KIND_SERVICE, cases[i].type, cases[i].object);
        run_until(fx, fx->watched[KIND_SERVICE] > watched);
        const char *error = kind_status(fx, KIND_SERVICE)->error;
        if (!strstr(error, cases[i].told))
            fail_msg("\"%s\" is not in \"%s\"", cases[i].told, error);
        assert_non_null(strstr(fx->watches[KIND_SERVICE]->path, "&resourceVersion=10&"));
        assert_web_stays(fx);
        run_until(fx, *kind_status(fx, KIND_SERVICE)->error == '\0');
    }
    assert_int_equal(fx->listed[KIND_SERVICE], 1);
}

/* Ten events, none of them news, then the end: that must not become a storm. */
static const char *repeated;

static bool repeat_events(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    (void)fx;
    if (kind != KIND_SERVICE || !strstr(peer->path, "watch=1"))
        return false;
    fake_peer_begin(peer, 200);
    for (int i = 0; i < 10; i++)
        fake_peer_say(peer, repeated);
    fake_peer_end(peer);
    return true;
}

static void watches_that_bring_no_news_are_asked_for_ever_more_seldom(void **state)
{
    struct fixture *fx = *state;
    static const char *const cases[] = {
        "{\"type\":\"MODIFIED\",\"object\":" SERVICE("web", "10", "10.0.0.1") "}\n",
        "{\"type\":\"MODIFIED\",\"object\":" SERVICE("web", "7", "10.0.0.1") "}\n",
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"10\"}}}\n",
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"11\"}}}\n",
    };
    fx->lists[KIND_SERVICE] = WEB;
    fx->timing.retry_max_ms = 60000;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        repeated = cases[i];
        fx->watched[KIND_SERVICE] = 0;
        fx->hook = repeat_events;
        start_source(fx);
        run_until(fx, fx->watched[KIND_SERVICE] == 5);
        assert_true(has_group(fx, "Service"));
        /* After the fifth, 64 and 128 ms, of which a fifth may be missing. */
        int64_t began_ms = clock_mono_ms();
        run_until(fx, fx->watched[KIND_SERVICE] == 7);
        assert_true(clock_mono_ms() - began_ms >= (64 + 128) * 8 / 10);
        assert_web_stays(fx);
        kube_source_free(fx->source);
        fx->source = NULL;
    }
}

/* Always the same ten objects, each time under versions of their own. */
static bool replay_as_news(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    if (kind != KIND_SERVICE || !strstr(peer->path, "watch=1"))
        return false;
    fake_peer_begin(peer, 200);
    for (int i = 0; i < 10; i++) {
        AUTOFREE char *event = text_format(
            "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"web\",\"namespace\":\"d\","
            "\"resourceVersion\":\"%u\"},\"spec\":{\"clusterIP\":\"10.0.0.1\",\"clusterIPs\":"
            "[\"10.0.0.1\"],\"ports\":[{\"port\":80}]}}}\n",
            100 + fx->hooked++);
        fake_peer_say(peer, event);
    }
    fake_peer_end(peer);
    return true;
}

static void a_storm_of_events_is_met_by_pauses_and_told(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = WEB;
    fx->timing.burst_initial_ms = 8;
    fx->timing.burst_max_ms = 128;
    fx->hook = replay_as_news;
    start_source(fx);
    int64_t began_ms = clock_mono_ms();
    run_until(fx, fx->watched[KIND_SERVICE] == 7);
    /* 8, 16, 32, 64 and 128 ms twice, of which a fifth may be missing. */
    assert_true(clock_mono_ms() - began_ms >= (120 + 256) * 8 / 10);
    assert_false(has_group(fx, "Service"));
    run_until(fx, find_fault(fx, "Service", "Service", "in a burst of events, again and again"));
    assert_int_equal(fx->listed[KIND_SERVICE], 1);
    assert_web_stays(fx);
    fx->hook = NULL;
    run_until(fx, !has_group(fx, "Service"));
    assert_string_equal(kind_status(fx, KIND_SERVICE)->error, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, kube_setup_fixture, kube_teardown_fixture)
        TEST(a_list_that_is_none_takes_nothing_out),
        TEST(an_older_list_is_not_believed),
        TEST(an_older_list_is_believed_of_an_older_etcd),
        TEST(who_may_not_ask_believes_the_pages_of_etcd),
        TEST(events_of_the_past_are_not_believed),
        TEST(watches_that_bring_no_news_are_asked_for_ever_more_seldom),
        TEST(a_storm_of_events_is_met_by_pauses_and_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
