// SPDX-License-Identifier: Apache-2.0
/* The Kubernetes source where all goes well: lists, pages, events, bookmarks, resuming. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kube_fixture.h"

#include "cmocka_all.h"

#define HEADLESS "service.kubernetes.io%2Fheadless"
#define PROXY    "service.kubernetes.io%2Fservice-proxy-name"

static size_t changes(struct fixture *fx)
{
    change_list list = { 0 };
    assert_int_equal(store_changes(fx->store, &list), 0);
    size_t count = list.count;
    vec_done(&list);
    store_changes_done(fx->store);
    return count;
}

static void assert_heard(const struct fixture *fx, const char *line)
{
    AUTOFREE char *whole = text_format("%s\n", line);
    if (!strstr(text_str(&fx->api.heard), whole))
        fail_msg("%s was not asked for, but\n%s", line, text_str(&fx->api.heard));
}

static void each_kind_is_asked_for_what_the_node_needs(void **state)
{
    struct fixture *fx = *state;
    start_and_sync(fx);
    static const char *const lists[] = {
        "/api/v1/services?",
        "/apis/discovery.k8s.io/v1/endpointslices?labelSelector=%21" HEADLESS "%2C%21" PROXY "&",
        "/api/v1/nodes?",
        "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1&",
        "/apis/coil.cybozu.com/v2/addresspools?",
        "/apis/coil.cybozu.com/v2/addressblocks?",
        "/apis/coil.cybozu.com/v2/egresses?",
        "/apis/metallb.io/v1beta1/ipaddresspools?",
        "/apis/metallb.io/v1beta1/bgpadvertisements?",
        "/apis/metallb.io/v1beta1/l2advertisements?",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        AUTOFREE char *line = text_format("%slimit=500&resourceVersion=0", lists[i]);
        assert_heard(fx, line);
    }
    assert_non_null(strstr(text_str(&fx->api.heard),
                           "/api/v1/nodes?watch=1&allowWatchBookmarks=true&resourceVersion=10&"
                           "timeoutSeconds="));
    assert_int_equal(fx->status.kube.count, ARRAY_SIZE(lists));
    assert_int_equal(fault_book_count(fx->faults), 0);
    assert_string_equal(fx->status.name, "kubernetes");
    assert_string_equal(fx->status.path, fx->api.url);
}

static void a_proxy_with_a_name_asks_for_all_services(void **state)
{
    struct fixture *fx = *state;
    start_source_for(fx, "mine", false);
    run_until(fx, fx->status.synced);
    assert_heard(fx, "/api/v1/services?limit=500&resourceVersion=0");
    assert_heard(fx, "/apis/discovery.k8s.io/v1/endpointslices?labelSelector="
                     "%21service.kubernetes.io%2Fheadless&limit=500&resourceVersion=0");
}

static void a_gateway_asks_for_all_pods(void **state)
{
    struct fixture *fx = *state;
    start_source_for(fx, "", true);
    run_until(fx, fx->status.synced);
    assert_heard(fx, "/api/v1/pods?limit=500&resourceVersion=0");
}

static bool hold_nodes_back(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    if (kind != KIND_NODE)
        return false;
    fx->watches[KIND_NODE] = peer;
    return true;
}

static void it_is_in_sync_when_every_kind_was_listed(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = LIST_OF("10", SERVICE("web", "7", "10.0.0.1"));
    fx->hook = hold_nodes_back;
    start_source(fx);
    run_until(fx, fx->listed[KIND_NODE] && fx->watches[KIND_SERVICE] &&
                      kind_status(fx, KIND_EGRESS)->state == KUBE_ABSENT && fx->calls > 0);
    assert_true(has_service(fx, "web", "10.0.0.1"));
    assert_true(kind_status(fx, KIND_SERVICE)->synced);
    assert_false(fx->status.synced);
    assert_int_equal(kube_source_loaded_generation(fx->source), 0);
    fake_peer_answer(fx->watches[KIND_NODE], 200, NULL, fx->lists[KIND_NODE]);
    run_until(fx, fx->status.synced);
    assert_int_equal(kube_source_loaded_generation(fx->source), fx->status.observed_generation);
    assert_true(fx->status.observed_generation > 1);
}

static void events_change_the_store(void **state)
{
    struct fixture *fx = *state;
    start_and_sync(fx);
    say_event(fx, KIND_SERVICE, "ADDED", SERVICE("web", "11", "10.0.0.1"));
    run_until(fx, has_service(fx, "web", "10.0.0.1"));
    say_event(fx, KIND_SERVICE, "MODIFIED", SERVICE("web", "12", "10.0.0.2"));
    run_until(fx, has_service(fx, "web", "10.0.0.2"));
    say_event(fx, KIND_SERVICE, "DELETED", SERVICE("web", "13", "10.0.0.2"));
    run_until(fx, store_count(fx->store, KIND_SERVICE) == 0);
    unsigned calls = fx->calls;
    run_until(fx, fx->calls > calls ||
                      strcmp(kind_status(fx, KIND_SERVICE)->resource_version, "13") == 0);
    assert_int_equal(changes(fx), 0);
    assert_true(kind_status(fx, KIND_SERVICE)->last_event_wall_ms > 0);
}

static void many_events_may_come_at_once(void **state)
{
    struct fixture *fx = *state;
    AUTOTEXT struct text burst = { 0 };
    start_and_sync(fx);
    for (int i = 0; i < 500; i++)
        text_addf(&burst,
                  "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"s%d\",\"namespace\":"
                  "\"d\",\"resourceVersion\":\"%d\"},\"spec\":{}}}\n",
                  i, 100 + i);
    fake_peer_say(fx->watches[KIND_SERVICE], text_str(&burst));
    run_until(fx, store_count(fx->store, KIND_SERVICE) == 500);
    run_until(fx, strcmp(kind_status(fx, KIND_SERVICE)->resource_version, "599") == 0);
}

static void a_watch_is_resumed_where_it_ended(void **state)
{
    struct fixture *fx = *state;
    start_and_sync(fx);
    say_event(fx, KIND_SERVICE, "ADDED", SERVICE("web", "11", "10.0.0.1"));
    say_event(fx, KIND_SERVICE, "BOOKMARK",
              "{\"kind\":\"Service\",\"metadata\":{\"resourceVersion\":\"25\"}}");
    run_until(fx, has_service(fx, "web", "10.0.0.1"));

    /* After a cut only when the API says that it has not gone back. */
    fake_peer_cut(fx->watches[KIND_SERVICE]);
    run_until(fx, fx->watched[KIND_SERVICE] == 2);
    assert_non_null(strstr(fx->watches[KIND_SERVICE]->path, "&resourceVersion=25&"));
    assert_heard(fx, "/api/v1/nodes?fieldSelector=metadata.name%3Dnode-1&limit=1");
    assert_int_equal(fx->checked, 1);
    assert_string_not_equal(kind_status(fx, KIND_SERVICE)->error, "");

    /* A watch that has lasted and ends as it should is just taken up again. */
    run_until(fx, *kind_status(fx, KIND_SERVICE)->error == '\0');
    fake_peer_end(fx->watches[KIND_SERVICE]);
    run_until(fx, fx->watched[KIND_SERVICE] == 3);
    run_until(fx, kind_status(fx, KIND_SERVICE)->reconnects == 2);
    assert_int_equal(fx->listed[KIND_SERVICE], 1);
    assert_int_equal(fx->checked, 1);
    assert_int_equal(fault_book_count(fx->faults), 0);
}

/* The API server ends a watch that it can't tell as quickly as objects change. No long pause comes
 * then, and no look whether etcd was restored. */
static void a_watch_that_is_dropped_in_a_burst_goes_on_soon(void **state)
{
    struct fixture *fx = *state;
    fx->timing.retry_initial_ms = fx->timing.retry_max_ms = 60 * MINUTE_MS;
    start_and_sync(fx);
    int64_t began_ms = clock_mono_ms();
    for (unsigned times = 1; times <= 3; times++) {
        AUTOTEXT struct text burst = { 0 };
        AUTOFREE char *resumed = text_format("&resourceVersion=%u&", times * 1000 + 9);
        for (unsigned i = 0; i < 10; i++)
            text_addf(
                &burst,
                "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"s%u\",\"namespace\":"
                "\"d\",\"resourceVersion\":\"%u\"},\"spec\":{}}}\n",
                i, times * 1000 + i);
        fake_peer_say(fx->watches[KIND_SERVICE], text_str(&burst));
        fake_peer_end(fx->watches[KIND_SERVICE]);
        run_until(fx, fx->watched[KIND_SERVICE] == times + 1);
        assert_non_null(strstr(fx->watches[KIND_SERVICE]->path, resumed));
        assert_string_equal(kind_status(fx, KIND_SERVICE)->error, "");
    }
    assert_in_range(clock_mono_ms() - began_ms, 0, 15000); /* 50 + 100 + 200 ms */
    assert_int_equal(fx->listed[KIND_SERVICE], 1);
    assert_int_equal(fx->checked, 0);
}

static bool answer_pages(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    static const char *const pages[] = {
        "{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":\"10\",\"continue\":\"a/b\"},\"items\":[" SERVICE(
            "one", "1", "10.0.0.1") "]}",
        "{\"kind\":\"ServiceList\",\"items\":[" SERVICE(
            "two", "2", "10.0.0.2") "],\"metadata\":{\"resourceVersion\":\"10\","
                                    "\"continue\":\"c\",\"remainingItemCount\":1}}",
        LIST_OF("10", SERVICE("three", "3", "10.0.0.3")),
    };
    if (kind != KIND_SERVICE || strstr(peer->path, "watch=1"))
        return false;
    const char *continuation = strstr(peer->path, "?limit=500&continue=");
    assert_true((continuation != NULL) == (fx->hooked > 0));
    if (continuation)
        assert_string_equal(continuation + 20, fx->hooked == 1 ? "a%2Fb" : "c");
    fake_peer_answer(peer, 200, NULL, pages[fx->hooked++]);
    return true;
}

static void a_list_may_have_pages(void **state)
{
    struct fixture *fx = *state;
    fx->hook = answer_pages;
    start_and_sync(fx);
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 3);
    assert_int_equal(kind_status(fx, KIND_SERVICE)->lists, 1);
    assert_int_equal(fx->listed[KIND_SERVICE], 3);
}

static void an_empty_list_may_be_null(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] =
        "{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":null}";
    start_and_sync(fx);
    assert_int_equal(fault_book_count(fx->faults), 0);
}

/* What a copy on disk has brought is compared with the first list, and not before it. */
static void a_first_list_is_compared_with_the_copy(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] =
        LIST_OF("10", SERVICE("a", "1", "10.0.0.1") "," SERVICE("b", "2", "10.0.0.2"));
    start_and_sync(fx);
    kube_source_free(fx->source);
    fx->source = NULL;
    assert_int_equal(changes(fx), 2);

    fx->lists[KIND_SERVICE] =
        LIST_OF("20", SERVICE("a", "11", "10.0.0.1") "," SERVICE("c", "12", "10.0.0.3"));
    start_and_sync(fx);
    assert_int_equal(changes(fx), 2); /* b and c: a says the same */
    assert_true(has_service(fx, "a", "10.0.0.1") && has_service(fx, "c", "10.0.0.3"));
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 2);
}

static void a_kind_that_is_not_served_comes_later(void **state)
{
    struct fixture *fx = *state;
    fx->timing.absent_ms = 10;
    start_and_sync(fx);
    run_until(fx, fx->listed[KIND_ADDRESS_BLOCK] >= 5); /* it is looked for */
    assert_int_equal(fault_book_count(fx->faults), 0);
    fx->lists[KIND_ADDRESS_BLOCK] =
        KIND_LIST("AddressBlock", "30",
                  "{\"apiVersion\":\"coil.cybozu.com/v2\",\"kind\":\"AddressBlock\","
                  "\"metadata\":{\"name\":\"p-0\",\"labels\":{\"coil.cybozu.com/node\":"
                  "\"node-1\",\"coil.cybozu.com/pool\":\"p\"}},\"index\":0,"
                  "\"ipv4\":\"10.1.0.0/27\"}");
    run_until(fx, kind_status(fx, KIND_ADDRESS_BLOCK)->state == KUBE_WATCHING);
    assert_int_equal(store_count(fx->store, KIND_ADDRESS_BLOCK), 1);

    /* The CRD is deleted while nobody looks: that is believed after a while. */
    fx->lists[KIND_ADDRESS_BLOCK] = NULL;
    unsigned listed = fx->listed[KIND_ADDRESS_BLOCK];
    say_event(fx, KIND_ADDRESS_BLOCK, "ERROR", "{\"code\":410,\"message\":\"too old\"}");
    run_until(fx, fx->listed[KIND_ADDRESS_BLOCK] == listed + 2);
    assert_int_equal(store_count(fx->store, KIND_ADDRESS_BLOCK), 1);
    run_until(fx, store_count(fx->store, KIND_ADDRESS_BLOCK) == 0);
    assert_true(fx->listed[KIND_ADDRESS_BLOCK] >= listed + 3);
    assert_true(fx->status.synced);
}

/* Pages without end, each with the name of the next one. */
static bool repeat_page(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    (void)fx;
    if (kind != KIND_SERVICE || strstr(peer->path, "watch=1"))
        return false;
    fake_peer_answer(
        peer, 200, NULL,
        "{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"x\"},\"items\":[]}");
    return true;
}

static void a_page_that_leads_to_itself_ends_the_list(void **state)
{
    struct fixture *fx = *state;
    fx->hook = repeat_page;
    start_source(fx);
    run_until(fx, find_fault(fx, "Service", "Service", "the list does not come to an end"));
    assert_int_equal(fx->listed[KIND_SERVICE], 4); /* two pages each time */
    assert_false(fx->status.synced);
    fx->hook = NULL;
    run_until(fx, fx->status.synced && !has_group(fx, "Service"));
}

/* Of one page after the other, none of which has an element. */
static bool lead_on(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    if (kind != KIND_SERVICE || strstr(peer->path, "watch=1"))
        return false;
    AUTOFREE char *page = text_format("{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":"
                                      "\"9\",\"continue\":\"x%u\"},\"items\":[]}",
                                      fx->hooked++);
    fake_peer_answer(peer, 200, NULL, page);
    return true;
}

static void empty_pages_without_end_end_the_list(void **state)
{
    struct fixture *fx = *state;
    fx->hook = lead_on;
    start_source(fx);
    run_until(fx, find_fault(fx, "Service", "Service", "the list does not come to an end"));
    assert_in_range(fx->hooked, 2, 2 * 102); /* pages of two tries */
    fx->hook = NULL;
    run_until(fx, fx->status.synced && !has_group(fx, "Service"));
}

/* Elements without end, of which nobody can tell whether they were there before. */
static bool say_elements(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    bool check = strstr(peer->path, "metadata.name");
    if ((kind != KIND_SERVICE && !check) || strstr(peer->path, "watch=1") || fx->hooked == 0)
        return false;
    fake_peer_begin(peer, 200);
    fake_peer_say(peer, "{\"kind\":\"ServiceList\",\"items\":[{}");
    for (int i = 0; i < 200; i++)
        fake_peer_say(peer, ",{}");
    return true;
}

static void elements_without_names_come_to_an_end(void **state)
{
    struct fixture *fx = *state;
    fx->timing.list_max = 100;
    fx->hook = say_elements;
    fx->hooked = true;
    start_source(fx);
    const char *error = kind_status(fx, KIND_SERVICE)->error;
    run_until(fx, find_fault(fx, "Service", "Service", "the list does not come to an end"));
    fx->hooked = false;
    run_until(fx, fx->status.synced && !*error);
    fx->hooked = true; /* the check's, too */
    fake_peer_cut(fx->watches[KIND_SERVICE]);
    run_until(fx, strcmp(error, "the list does not come to an end") == 0);
    fx->hooked = false;
    run_until(fx, fx->watched[KIND_SERVICE] == 2 && !*error);
}

/* What is told of a group is this fault, at this place. */
static void assert_code(const struct fixture *fx, const char *group, const char *place,
                        const char *code)
{
    const struct known_fault *fault = find_fault(fx, group, place, "");
    assert_non_null(fault);
    assert_string_equal(known_fault_code(fault), code);
}

static void an_api_that_proves_nothing_is_told(void **state)
{
    struct fixture *fx = *state;
    start_and_sync(fx);
    assert_int_equal(fault_book_count(fx->faults), 0);
    kube_source_free(fx->source);
    fx->insecure = true;
    start_and_sync(fx);
    assert_code(fx, "", fx->api.url, "api-certificate-unverified");
    assert_int_equal(fault_book_count(fx->faults), 1);
}

/* Its CRD is not there, and comes. Of a kind that can be missed nothing is told. */
static void a_kind_that_is_needed_and_not_served_is_told(void **state)
{
    struct fixture *fx = *state;
    fx->needed = KIND_ADDRESS_BLOCK;
    fx->timing.absent_ms = 10;
    start_source(fx);
    run_until(fx, has_group(fx, "AddressBlock"));
    assert_code(fx, "AddressBlock", "AddressBlock", "api-kind-missing");
    run_until(fx, fx->status.synced);
    assert_int_equal(fault_book_count(fx->faults), 1);
    fx->lists[KIND_ADDRESS_BLOCK] = KIND_LIST("AddressBlock", "30", "");
    run_until(fx, fault_book_count(fx->faults) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, kube_setup_fixture, kube_teardown_fixture)
        TEST(each_kind_is_asked_for_what_the_node_needs),
        TEST(a_proxy_with_a_name_asks_for_all_services),
        TEST(a_gateway_asks_for_all_pods),
        TEST(it_is_in_sync_when_every_kind_was_listed),
        TEST(events_change_the_store),
        TEST(many_events_may_come_at_once),
        TEST(a_watch_is_resumed_where_it_ended),
        TEST(a_watch_that_is_dropped_in_a_burst_goes_on_soon),
        TEST(a_list_may_have_pages),
        TEST(an_empty_list_may_be_null),
        TEST(a_first_list_is_compared_with_the_copy),
        TEST(a_kind_that_is_not_served_comes_later),
        TEST(a_page_that_leads_to_itself_ends_the_list),
        TEST(empty_pages_without_end_end_the_list),
        TEST(elements_without_names_come_to_an_end),
        TEST(an_api_that_proves_nothing_is_told),
        TEST(a_kind_that_is_needed_and_not_served_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
