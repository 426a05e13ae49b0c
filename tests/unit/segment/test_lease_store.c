// SPDX-License-Identifier: Apache-2.0
/* Claims as Leases, with an API that follows a script: what is asked, what an answer means, and
 * what a watch tells while it stands, breaks, and comes back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fake_api.h"
#include "segment/lease_store.h"

#include "cmocka_all.h"
#include "run_until.h"

#define LEASE(name, version, holder) LEASE_FOR(name, version, holder, "10")
#define LEASE_FOR(name, version, holder, duration)                                       \
    "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"},\"spec\"" \
    ":{\"holderIdentity\":\"" holder "\",\"leaseDurationSeconds\":" duration "}}"
#define LIST(version, items) \
    "{\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"
#define EVENT(type, lease) "{\"type\":\"" type "\",\"object\":" lease "}\n"
#define SAID(reason)       "{\"kind\":\"Status\",\"message\":\"words\",\"reason\":\"" reason "\"}"

struct fixture {
    sd_event *event;
    struct fake_api api;
    struct claim_store store;
    struct fake_peer *peer; /* who has asked, and has no answer */
    struct fake_peer *watcher;
    enum claim_outcome outcome;
    char version[LEASE_VERSION_MAX], holder[LEASE_HOLDER_MAX], why[256];
    int64_t since_ms;
    unsigned told;
    char heard[512]; /* "name=holder " of each, "name! " where it is gone */
    unsigned standing, broken;
    char trouble[256];
};

static void on_asked(struct fake_peer *peer, void *context)
{
    struct fixture *fx = context;
    if (strstr(peer->path, "labelSelector"))
        fx->watcher = peer;
    else
        fx->peer = peer;
}

static void on_told(void *context, const struct claim_answer *answer)
{
    struct fixture *fx = context;
    fx->told++;
    fx->outcome = answer->outcome;
    fx->since_ms = answer->since_ms;
    (void)snprintf(fx->version, sizeof(fx->version), "%s", answer->version);
    (void)snprintf(fx->why, sizeof(fx->why), "%s", answer->why ? answer->why : "");
    (void)snprintf(fx->holder, sizeof(fx->holder), "%s",
                   answer->record ? answer->record->holder : "-");
}

static void on_heard(void *context, const char *key, const struct lease_record *record,
                     const char *version)
{
    struct fixture *fx = context;
    size_t length = strlen(fx->heard);
    (void)version;
    (void)snprintf(fx->heard + length, sizeof(fx->heard) - length, "%s%s%s ", key,
                   record ? "=" : "!", record ? record->holder : "");
}

static void on_watching(void *context, const char *why, const char *remedy)
{
    struct fixture *fx = context;
    (void)remedy;
    fx->standing += !why;
    fx->broken += why != NULL;
    (void)snprintf(fx->trouble, sizeof(fx->trouble), "%s", why ? why : "");
}

static int setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    assert_int_equal(sd_event_new(&fx->event), 0);
    fake_api_start(&fx->api, fx->event, on_asked, fx);
    struct kube_config *config = calloc(1, sizeof(*config));
    assert_non_null(config);
    config->server = strdup(fx->api.url);
    assert_int_equal(lease_store_new(fx->event, config, "kube-system", &fx->store), 0);
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    fx->store.ops->free(fx->store.data);
    fake_api_done(&fx->api);
    sd_event_unref(fx->event);
    free(fx);
    return 0;
}

static struct claim_ask ask_for(struct fixture *fx, const struct lease_record *desired,
                                const char *version)
{
    return (struct claim_ask){
        .key = "address.192-0-2-1",
        .desired = desired,
        .version = version,
        .limit_ms = DEADLINE_MS,
        .told = on_told,
        .context = fx,
    };
}

/* The API's answer to what was asked. */
static void answer(struct fixture *fx, int status, const char *body)
{
    unsigned before = fx->told;
    run_until(fx, fx->peer);
    fake_peer_answer(fx->peer, status, NULL, body);
    fx->peer = NULL;
    run_until(fx, fx->told > before);
}

static void a_reading_tells_what_there_is(void **state)
{
    struct fixture *fx = *state;
    struct claim_request *request;
    const struct claim_ask ask = ask_for(fx, NULL, NULL);
    assert_int_equal(fx->store.ops->read(fx->store.data, &ask, &request), 0);
    answer(fx, 200, LEASE("address.192-0-2-1", "7", "node-2"));
    assert_int_equal(fx->outcome, CLAIM_DONE);
    assert_string_equal(fx->holder, "node-2");
    assert_string_equal(fx->version, "7");
    assert_int_equal(fx->store.ops->read(fx->store.data, &ask, &request), 0);
    answer(fx, 404, SAID("NotFound"));
    assert_int_equal(fx->outcome, CLAIM_ABSENT);
    assert_true(fx->since_ms == INT64_MAX);
    assert_int_equal(fx->store.ops->read(fx->store.data, &ask, &request), 0);
    answer(fx, 403, SAID("Forbidden"));
    assert_int_equal(fx->outcome, CLAIM_FAILED);
    assert_non_null(strstr(fx->why, "words"));
}

static void a_write_names_its_version_and_is_refused_over_another(void **state)
{
    struct fixture *fx = *state;
    struct claim_request *request;
    const struct lease_record desired = { .holder = "node-1", .duration_s = 10 };
    struct lease_record over = { .holder = "node-2", .renewed_wall_ms = 1763623981250 };
    const struct claim_ask create = ask_for(fx, &desired, NULL);
    struct claim_ask update = ask_for(fx, &desired, "7");
    update.over = &over;
    assert_int_equal(fx->store.ops->create(fx->store.data, &create, &request), 0);
    run_until(fx, fx->peer);
    assert_string_equal(fx->peer->method, "POST");
    assert_non_null(strstr(fake_peer_body(fx->peer), LEASE_LABEL));
    assert_null(strstr(fake_peer_body(fx->peer), "resourceVersion"));
    answer(fx, 409, SAID("AlreadyExists"));
    assert_int_equal(fx->outcome, CLAIM_CONFLICT);

    assert_int_equal(fx->store.ops->update(fx->store.data, &update, &request), 0);
    run_until(fx, fx->peer);
    assert_string_equal(fx->peer->method, "PATCH");
    const char *body = fake_peer_body(fx->peer);
    assert_non_null(strstr(body, "\"/metadata/resourceVersion\",\"value\":\"7\""));
    assert_non_null(strstr(body, "\"/spec/holderIdentity\",\"value\":\"node-2\""));
    assert_non_null(strstr(body, "\"value\":\"2025-11-20T07:33:01.250000Z\""));
    answer(fx, 422, SAID("Invalid"));
    assert_int_equal(fx->outcome, CLAIM_CONFLICT);
    assert_int_equal(fx->store.ops->update(fx->store.data, &update, &request), 0);
    answer(fx, 422,
           "{\"kind\":\"Status\",\"message\":\"words\",\"reason\":\"Invalid\","
           "\"details\":{\"kind\":\"Lease\"}}");
    assert_int_equal(fx->outcome, CLAIM_FAILED);

    /* What was written by hand is taken into our form. */
    over.foreign = true;
    assert_int_equal(fx->store.ops->update(fx->store.data, &update, &request), 0);
    run_until(fx, fx->peer);
    assert_non_null(strstr(fake_peer_body(fx->peer), "\"resourceVersion\":\"7\""));
    assert_non_null(strstr(fake_peer_body(fx->peer), LEASE_LABEL));
    answer(fx, 409, SAID("Conflict"));
    assert_int_equal(fx->outcome, CLAIM_CONFLICT);
    assert_int_equal(fx->store.ops->release(fx->store.data, &update, &request), 0);
    answer(fx, 200, LEASE("address.192-0-2-1", "8", ""));
    assert_int_equal(fx->outcome, CLAIM_DONE);
    assert_string_equal(fx->version, "8");
}

#define FOUND(version)                                                                             \
    "{\"metadata\":{\"name\":\"address.192-0-2-1\",\"uid\":\"u-1\",\"resourceVersion\":\"" version \
    "\"}}"

static void begin_removal(struct fixture *fx, struct claim_request **ret_request)
{
    const struct claim_ask ask = ask_for(fx, NULL, "7");
    assert_int_equal(fx->store.ops->remove(fx->store.data, &ask, ret_request), 0);
    run_until(fx, fx->peer);
    assert_string_equal(fx->peer->method, "GET");
}

/* Answers the reading, and waits for the deletion. */
static void find(struct fixture *fx)
{
    struct fake_peer *reading = fx->peer;
    fx->peer = NULL;
    fake_peer_answer(reading, 200, NULL, FOUND("7"));
    run_until(fx, fx->peer);
    assert_string_equal(fx->peer->method, "DELETE");
}

static void a_removal_names_what_was_seen(void **state)
{
    struct fixture *fx = *state;
    struct claim_request *request;
    begin_removal(fx, &request);
    find(fx);
    assert_non_null(strstr(fake_peer_body(fx->peer), "\"uid\":\"u-1\""));
    assert_non_null(strstr(fake_peer_body(fx->peer), "\"resourceVersion\":\"7\""));
    answer(fx, 200, "{\"kind\":\"Status\",\"status\":\"Success\"}");
    assert_int_equal(fx->outcome, CLAIM_DONE);
    begin_removal(fx, &request);
    find(fx);
    answer(fx, 409, SAID("Conflict"));
    assert_int_equal(fx->outcome, CLAIM_CONFLICT);
    /* Another by now: nothing is asked to be deleted. */
    begin_removal(fx, &request);
    answer(fx, 200, FOUND("8"));
    assert_int_equal(fx->outcome, CLAIM_CONFLICT);
    begin_removal(fx, &request);
    answer(fx, 404, SAID("NotFound"));
    assert_int_equal(fx->outcome, CLAIM_ABSENT);
    begin_removal(fx, &request);
    find(fx);
    answer(fx, 403, SAID("Forbidden"));
    assert_int_equal(fx->outcome, CLAIM_FAILED);
    begin_removal(fx, &request);
    find(fx);
    fx->store.ops->cancel(request);
}

static void what_is_cancelled_is_told_nothing(void **state)
{
    struct fixture *fx = *state;
    struct claim_request *request;
    const struct claim_ask ask = ask_for(fx, NULL, NULL);
    assert_int_equal(fx->store.ops->read(fx->store.data, &ask, &request), 0);
    run_until(fx, fx->peer);
    fx->store.ops->cancel(request);
    assert_int_equal(fx->store.ops->read(fx->store.data, &ask, &request), 0);
    fx->peer = NULL;
    answer(fx, 404, SAID("NotFound"));
    assert_int_equal(fx->told, 1);
}

static void begin_watch(struct fixture *fx)
{
    const struct claim_listener listener = { on_heard, on_watching, fx };
    assert_int_equal(fx->store.ops->watch(fx->store.data, &listener), 0);
}

static struct fake_peer *next_watcher(struct fixture *fx)
{
    fx->watcher = NULL;
    run_until(fx, fx->watcher);
    return fx->watcher;
}

static void a_watch_tells_of_all_then_of_each_change(void **state)
{
    struct fixture *fx = *state;
    begin_watch(fx);
    run_until(fx, fx->watcher);
    assert_null(strstr(fx->watcher->path, "watch=1"));
    struct fake_peer *list = fx->watcher;
    fake_peer_answer(list, 200, NULL,
                     LIST("20", LEASE("a", "5", "node-1") "," LEASE("b", "6", "")));
    struct fake_peer *watch = next_watcher(fx);
    assert_non_null(strstr(watch->path, "resourceVersion=20"));
    assert_string_equal(fx->heard, "a=node-1 b= ");
    fake_peer_begin(watch, 200);
    fake_peer_say(watch, EVENT("MODIFIED", LEASE("b", "21", "node-3")));
    fake_peer_say(watch, EVENT("DELETED", LEASE("a", "22", "node-1")));
    run_until(fx, strstr(fx->heard, "a!"));
    assert_string_equal(fx->heard, "a=node-1 b= b=node-3 a! ");
    assert_int_equal(fx->standing, 1);
    fake_peer_end(watch);
    watch = next_watcher(fx);
    assert_non_null(strstr(watch->path, "resourceVersion=22"));
}

static void what_went_while_nobody_watched_is_told(void **state)
{
    struct fixture *fx = *state;
    begin_watch(fx);
    run_until(fx, fx->watcher);
    fake_peer_answer(fx->watcher, 200, NULL, LIST("20", LEASE("a", "5", "node-1")));
    struct fake_peer *watch = next_watcher(fx);
    fake_peer_begin(watch, 200);
    run_until(fx, fx->standing == 1);
    fx->watcher = NULL;
    fake_peer_cut(watch);
    run_until(fx, fx->watcher);
    assert_int_equal(fx->broken, 1);
    assert_null(strstr(fx->watcher->path, "watch=1"));
    fake_peer_answer(fx->watcher, 200, NULL, LIST("30", LEASE("c", "29", "node-2")));
    run_until(fx, strstr(fx->heard, "a!"));
    assert_string_equal(fx->heard, "a=node-1 c=node-2 a! ");
}

/* Who has a claim renews it: nothing from anybody is no news of a node that was cut off. */
static void a_silent_watch_goes_on_where_it_was(void **state)
{
    struct fixture *fx = *state;
    begin_watch(fx);
    run_until(fx, fx->watcher);
    fake_peer_answer(fx->watcher, 200, NULL, LIST("20", LEASE_FOR("a", "5", "node-1", "1")));
    struct fake_peer *watch = next_watcher(fx);
    fake_peer_begin(watch, 200);
    fake_peer_say(watch, EVENT("MODIFIED", LEASE_FOR("a", "21", "node-1", "1")));
    for (unsigned i = 0, least_ms = 600; i < 2; i++, least_ms *= 2) {
        const int64_t begin_ms = clock_mono_ms();
        watch = next_watcher(fx);
        assert_non_null(strstr(watch->path, "watch=1"));
        assert_non_null(strstr(watch->path, "resourceVersion=21"));
        assert_true(clock_mono_ms() - begin_ms >= least_ms);
        fake_peer_begin(watch, 200);
    }
    assert_int_equal(fx->broken, 0);
    fake_peer_say(watch, EVENT("MODIFIED", LEASE_FOR("a", "22", "node-2", "1")));
    run_until(fx, strstr(fx->heard, "a=node-2"));
}

static void a_refused_watch_says_why_and_tries_again(void **state)
{
    struct fixture *fx = *state;
    begin_watch(fx);
    for (unsigned i = 1; i <= 2; i++) {
        run_until(fx, fx->watcher);
        fake_peer_answer(fx->watcher, 403, NULL, SAID("Forbidden"));
        fx->watcher = NULL;
        run_until(fx, fx->broken == i);
        assert_non_null(strstr(fx->trouble, "words"));
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_reading_tells_what_there_is),
        CASE(a_write_names_its_version_and_is_refused_over_another),
        CASE(a_removal_names_what_was_seen),
        CASE(what_is_cancelled_is_told_nothing),
        CASE(a_watch_tells_of_all_then_of_each_change),
        CASE(what_went_while_nobody_watched_is_told),
        CASE(a_silent_watch_goes_on_where_it_was),
        CASE(a_refused_watch_says_why_and_tries_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
