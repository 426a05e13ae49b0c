// SPDX-License-Identifier: Apache-2.0
/*
 * An elector and a job's writer with an API that keeps one Lease: leadership is gained, lost to
 * another and to silence, and given back; what a writer sends ends with it.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/kube/kube_writer.h"
#include "controller/elector.h"
#include "controller/job_writer.h"
#include "fake_api.h"

#include "cmocka_all.h"
#include "run_until.h"

struct fixture {
    sd_event *event;
    struct fake_api api;
    struct kube_client *client;
    struct controller_config config;
    struct controller_status status;
    struct elector *elector;
    struct board board;
    struct job_writer *writer;

    char holder[300];           /* of the Lease */
    unsigned version;           /* 0: there is none */
    bool mute;                  /* the API answers no more */
    bool dry;                   /* it answers that it has written, and has not */
    unsigned conflicts;         /* so many patches are refused, after what they ask for is done */
    struct fake_peer *creating; /* what the job has asked for, and gets no answer to */
    unsigned created;
    bool released;
};

static void answer_lease(const struct fixture *fx, struct fake_peer *peer, int status)
{
    char body[700];
    (void)snprintf(body, sizeof(body),
                   "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"%u\"},"
                   "\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":1}}",
                   fx->version, fx->holder);
    fake_peer_answer(peer, status, NULL, body);
}

static void answer_failure(struct fake_peer *peer, int status, const char *reason)
{
    char body[200];
    (void)snprintf(body, sizeof(body), "{\"kind\":\"Status\",\"reason\":\"%s\"}", reason);
    fake_peer_answer(peer, status, NULL, body);
}

/* Whoever writes becomes the holder. */
static void take_holder(struct fixture *fx, const struct fake_peer *peer)
{
    static const char key[] = "\"holderIdentity\":\"";
    const char *found = strstr(fake_peer_body(peer), key);
    assert_non_null(found);
    (void)sscanf(found + strlen(key) - 1, "\"%299[^\"]", fx->holder);
    if (found[strlen(key)] == '"')
        fx->holder[0] = '\0';
    fx->version++;
}

static void on_asked(struct fake_peer *peer, void *context)
{
    struct fixture *fx = context;
    if (strstr(peer->path, "configmaps")) {
        fx->creating = peer;
        fx->created++;
    } else if (fx->mute) {
        return;
    } else if (strcmp(peer->method, "GET") == 0) {
        if (fx->version)
            answer_lease(fx, peer, 200);
        else
            answer_failure(peer, 404, "NotFound");
    } else if (fx->conflicts > 0) {
        fx->conflicts--;
        fx->version++;
        answer_failure(peer, 409, "Conflict");
    } else if (fx->dry) {
        struct fixture other = *fx;
        take_holder(&other, peer);
        other.version = fx->version;
        answer_lease(&other, peer, 200);
    } else {
        take_holder(fx, peer);
        answer_lease(fx, peer, 200);
    }
}

static void on_changed(void *context)
{
    const struct fixture *fx = context;
    if (fx->writer)
        job_writer_lead(fx->writer, fx->status.election.leading);
}

static void on_released(void *context)
{
    ((struct fixture *)context)->released = true;
}

static int make(void *context, const char *key, struct kube_write *write, struct text *body)
{
    (void)context;
    text_add(body, "{\"metadata\":{\"name\":\"a\"}}");
    *write = (struct kube_write){
        .verb = KUBE_CREATE,
        .target = { .group = "",
                    .version = "v1",
                    .plural = "configmaps",
                    .namespace = "default",
                    .name = key },
    };
    return 1;
}

static bool on_told(void *context, const char *key, const struct kube_told *told)
{
    (void)context, (void)key, (void)told;
    return true;
}

static void make_board(struct fixture *fx)
{
    fx->status.source.synced = true;
    fx->board = (struct board){
        .event = fx->event,
        .config = &fx->config,
        .client = fx->client,
        .elector = fx->elector,
        .status = &fx->status,
        .faults = fx->status.faults,
    };
    const struct job_writer_options options = {
        .board = &fx->board, .make = make, .told = on_told, .context = fx
    };
    assert_int_equal(job_writer_new(&options, &fx->writer), 0);
}

static int setup(void **state)
{
    static char namespace[] = "n", name[] = "l", identity[] = "me";
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    assert_true(sd_event_new(&fx->event) >= 0);
    fake_api_start(&fx->api, fx->event, on_asked, fx);
    struct kube_config *config = calloc(1, sizeof(*config));
    assert_non_null(config);
    config->server = strdup(fx->api.url);
    assert_int_equal(kube_client_new(fx->event, config, &fx->client), 0);
    fx->config.election.namespace = namespace;
    fx->config.election.name = name;
    fx->config.election.identity = identity;
    fx->config.election.lease_ms = 1000;
    fx->config.election.renew_ms = 600;
    fx->config.election.retry_ms = 20;
    fx->status.faults = fault_book_new();
    const struct elector_options options = {
        .event = fx->event,
        .client = fx->client,
        .config = &fx->config,
        .status = &fx->status.election,
        .faults = fx->status.faults,
        .changed = on_changed,
        .context = fx,
    };
    assert_int_equal(elector_new(&options, &fx->elector), 0);
    make_board(fx);
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    job_writer_free(fx->writer);
    elector_free(fx->elector);
    kube_client_free(fx->client);
    fake_api_done(&fx->api);
    fault_book_free(fx->status.faults);
    sd_event_unref(fx->event);
    free(fx);
    return 0;
}

static struct write_status writes_of(const struct fixture *fx)
{
    struct write_status status = { 0 };
    job_writer_publish(fx->writer, &status);
    return status;
}

/* Leads, and has a write under way. */
static void lead_and_write(struct fixture *fx)
{
    run_until(fx, elector_leads(fx->elector));
    assert_true(board_may_write(&fx->board));
    assert_int_equal(job_writer_add(fx->writer, "a"), 0);
    run_until(fx, fx->created == 1);
    assert_int_equal(writes_of(fx).running, 1);
}

/* Nothing is under way, nothing waits, and what is added is forgotten. */
static void assert_silent(struct fixture *fx)
{
    assert_false(board_may_write(&fx->board));
    assert_int_equal(job_writer_add(fx->writer, "a"), 0);
    struct write_status status = writes_of(fx);
    assert_int_equal(status.running + status.waiting, 0);
    assert_false(status.enabled);
    assert_int_equal(fx->created, 1);
}

static void a_follower_writes_nothing(void **state)
{
    struct fixture *fx = *state;
    (void)snprintf(fx->holder, sizeof(fx->holder), "other");
    fx->version = 7;
    run_until(fx, *fx->status.election.holder);
    assert_string_equal(fx->status.election.holder, "other");
    fx->created = 1;
    assert_silent(fx);
    run_until(fx, elector_leads(fx->elector)); /* the other's lease ends, as it never renews */
    assert_string_equal(fx->status.election.holder, fx->status.election.identity);
    assert_int_equal(fx->status.election.gained, 1);
}

/* Nobody works for such a holder; who takes over has nothing to say of it. */
static void a_holder_that_is_no_controller_is_told(void **state)
{
    struct fixture *fx = *state;
    (void)snprintf(fx->holder, sizeof(fx->holder), "other");
    fx->version = 7;
    run_until(fx, fault_book_count(fx->status.faults) > 0);
    assert_non_null(strstr(fault_book_find(fx->status.faults, "election", "")->message,
                           "is held by other, which is no agent-controller"));
    run_until(fx, elector_leads(fx->elector));
    assert_int_equal(fault_book_count(fx->status.faults), 0);
}

static void another_controller_is_in_order(void **state)
{
    struct fixture *fx = *state;
    (void)snprintf(fx->holder, sizeof(fx->holder), "b_0123456789abcdef");
    fx->version = 7;
    run_until(fx, *fx->status.election.holder);
    assert_int_equal(fault_book_count(fx->status.faults), 0);
}

static void nothing_is_written_before_all_is_read(void **state)
{
    struct fixture *fx = *state;
    fx->status.source.synced = false;
    run_until(fx, elector_leads(fx->elector));
    fx->created = 1;
    assert_silent(fx);
}

static void another_leader_ends_what_is_under_way(void **state)
{
    struct fixture *fx = *state;
    lead_and_write(fx);
    (void)snprintf(fx->holder, sizeof(fx->holder), "other");
    fx->conflicts = 1;
    run_until(fx, !elector_leads(fx->elector));
    assert_silent(fx);
    assert_int_equal(fx->status.election.lost, 1);
}

static void silence_ends_leadership(void **state)
{
    struct fixture *fx = *state;
    lead_and_write(fx);
    fx->mute = true;
    run_until(fx, !fx->status.election.leading);
    assert_silent(fx);
    fx->mute = false;
    fake_api_stop(&fx->api); /* those who wait for an answer hear that there is none */
    fake_api_listen(&fx->api);
    run_until(fx, elector_leads(fx->elector)); /* without a restart */
    assert_int_equal(fx->status.election.gained, 2);
}

/* A webhook or a proxy that says 409 to each write: nobody leads, and none of them lost a race. */
static void conflicts_without_end_are_told(void **state)
{
    struct fixture *fx = *state;
    fx->version = 7;
    fx->conflicts = UINT_MAX;
    run_until(fx, fault_book_count(fx->status.faults) > 0);
    assert_true(fx->conflicts <= UINT_MAX - 3);
    assert_non_null(strstr(fault_book_find(fx->status.faults, "election", "")->message,
                           "refused as a conflict, and nobody holds it: no controller leads"));
    assert_non_null(strstr(fx->status.election.error, "conflict"));
    fx->conflicts = 1; /* one more race is lost */
    run_until(fx, elector_leads(fx->elector));
    assert_int_equal(fault_book_count(fx->status.faults), 0);
    assert_string_equal(fx->status.election.error, "");
    fx->conflicts = 1;
    run_until(fx, fx->conflicts == 0);
    assert_int_equal(fault_book_count(fx->status.faults), 0);
}

/* TestReleaseRetriesOnConflict */
static void giving_back_is_tried_again_after_a_conflict(void **state)
{
    struct fixture *fx = *state;
    lead_and_write(fx);
    fx->conflicts = 2;
    elector_release(fx->elector, on_released);
    assert_silent(fx);
    run_until(fx, fx->released);
    assert_string_equal(fx->holder, "");
}

static void what_another_holds_is_not_given_back(void **state)
{
    struct fixture *fx = *state;
    lead_and_write(fx);
    (void)snprintf(fx->holder, sizeof(fx->holder), "other");
    fx->conflicts = 1;
    elector_release(fx->elector, on_released);
    run_until(fx, fx->released);
    assert_string_equal(fx->holder, "other");
}

/* A Lease that is not stored keeps nobody else from leading. */
static void an_api_that_stores_nothing_makes_no_leader(void **state)
{
    struct fixture *fx = *state;
    (void)snprintf(fx->holder, sizeof(fx->holder), "%s", "");
    fx->version = 1;
    fx->dry = true;
    run_until(fx, fault_book_count(fx->status.faults) == 1);
    const struct known_fault *fault = fault_book_at(fx->status.faults, 0);
    assert_string_equal(known_fault_code(fault), "election-failed");
    assert_non_null(strstr(fault->message, "it is not so"));
    assert_int_equal(fx->status.election.gained, 0);
    fx->dry = false;
    run_until(fx, elector_leads(fx->elector));
    assert_int_equal(fault_book_count(fx->status.faults), 0);
    fx->dry = true;
    run_until(fx, !elector_leads(fx->elector));
    assert_int_equal(fault_book_count(fx->status.faults), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_api_that_stores_nothing_makes_no_leader, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_follower_writes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_holder_that_is_no_controller_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(another_controller_is_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_written_before_all_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(another_leader_ends_what_is_under_way, setup, teardown),
        cmocka_unit_test_setup_teardown(silence_ends_leadership, setup, teardown),
        cmocka_unit_test_setup_teardown(conflicts_without_end_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(giving_back_is_tried_again_after_a_conflict, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_another_holds_is_not_given_back, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
