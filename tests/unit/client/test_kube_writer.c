// SPDX-License-Identifier: Apache-2.0
/* Writes to an API that follows a script: what is sent, what is told, what is tried again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/kube/kube_writer.h"
#include "fake_api.h"
#include "format/json.h"

#include "cmocka_all.h"
#include "run_until.h"

#define OBJECT \
    "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"uid\":\"u1\"},\"data\":{\"x\":\"1\"}}"
#define STATUS(reason) "{\"kind\":\"Status\",\"message\":\"words\",\"reason\":\"" reason "\"}"

struct fixture {
    sd_event *event;
    struct fake_api api;
    struct kube_client *client;
    struct kube_writer *writer;
    struct kube_write write; /* that `make` gives; of no verb: nothing */
    const char *body;
    int failure; /* of `make` */
    unsigned made;
    struct text told; /* outcomes, each with a blank behind it */
    bool give_up;
    char why[256];
    char name[64]; /* of the object in the last result */
    unsigned tries;
    struct fake_peer *peer;
    unsigned asked;
};

static int make(void *context, const char *key, struct kube_write *write, struct text *body)
{
    struct fixture *fx = context;
    assert_string_equal(key, "key");
    fx->made++;
    if (fx->failure < 0)
        return fx->failure;
    if (!fx->write.target.plural)
        return 0;
    *write = fx->write;
    text_add(body, fx->body);
    return 1;
}

static bool on_told(void *context, const char *key, const struct kube_told *told)
{
    struct fixture *fx = context;
    assert_string_equal(key, "key");
    text_addf(&fx->told, "%s%s ", kube_outcome_name(told->result.outcome), told->news ? "!" : "");
    (void)snprintf(fx->why, sizeof(fx->why), "%s", told->result.why);
    fx->tries = told->tries;
    const struct doc *name = doc_get(doc_get(told->result.object, "metadata"), "name");
    (void)snprintf(fx->name, sizeof(fx->name), "%s", name ? name->text : "");
    return !fx->give_up;
}

static void on_asked(struct fake_peer *peer, void *context)
{
    struct fixture *fx = context;
    fx->peer = peer;
    fx->asked++;
}

static int setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    assert_true(sd_event_new(&fx->event) >= 0);
    fake_api_start(&fx->api, fx->event, on_asked, fx);
    struct kube_config *config = calloc(1, sizeof(*config));
    assert_non_null(config);
    config->server = strdup(fx->api.url);
    assert_int_equal(kube_client_new(fx->event, config, &fx->client), 0);
    struct kube_writer_limits limits = kube_writer_limits_default;
    limits.queue.max_ms = 10;
    limits.answer_ms = 500;
    const struct kube_writer_options options = {
        .event = fx->event,
        .client = fx->client,
        .limits = &limits,
        .make = make,
        .told = on_told,
        .context = fx,
    };
    assert_int_equal(kube_writer_new(&options, &fx->writer), 0);
    fx->write = (struct kube_write){
        .verb = KUBE_CREATE,
        .target = { .group = "",
                    .version = "v1",
                    .plural = "configmaps",
                    .namespace = "default",
                    .name = "a" },
    };
    fx->body = "{\"metadata\":{\"name\":\"a\"},\"data\":{\"x\":\"1\"}}";
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    kube_writer_free(fx->writer);
    kube_client_free(fx->client);
    fake_api_done(&fx->api);
    text_done(&fx->told);
    sd_event_unref(fx->event);
    free(fx);
    return 0;
}

static void ask(struct fixture *fx)
{
    assert_int_equal(kube_writer_add(fx->writer, "key"), 0);
}

/* Waits for the next request. */
static void hear(struct fixture *fx, unsigned number)
{
    run_until(fx, fx->asked == number);
}

static bool is_idle(const struct fixture *fx)
{
    struct kube_writer_counts counts = kube_writer_counts(fx->writer);
    return counts.waiting + counts.running == 0;
}

/* The key has left the queue after exactly these outcomes and requests. */
static void ends(struct fixture *fx, const char *told, const char *heard)
{
    run_until(fx, is_idle(fx));
    assert_string_equal(text_str(&fx->told), told);
    assert_string_equal(text_str(&fx->api.heard), heard);
}

#define COLLECTION "/api/v1/namespaces/default/configmaps"

static void each_verb_is_sent_as_the_api_wants_it(void **state)
{
    static const struct {
        enum kube_verb verb;
        const char *heard, *type, *body;
    } rows[] = {
        { KUBE_CREATE, "POST " COLLECTION, "application/json", NULL },
        { KUBE_UPDATE, "PUT " COLLECTION "/a", "application/json", NULL },
        { KUBE_MERGE, "PATCH " COLLECTION "/a", "application/merge-patch+json", NULL },
        { KUBE_STRATEGIC, "PATCH " COLLECTION "/a?fieldManager=us%20all",
          "application/strategic-merge-patch+json", NULL },
        { KUBE_APPLY, "PATCH " COLLECTION "/a?fieldManager=us%20all&force=true",
          "application/apply-patch+yaml", NULL },
        { KUBE_DELETE, "DELETE " COLLECTION "/a", "application/json",
          "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{\"uid\":\"u1\","
          "\"resourceVersion\":\"7\"}}" },
    };
    struct fixture *fx = *state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        AUTOFREE char *heard = text_format("%s\n", rows[i].heard);
        fx->write.verb = rows[i].verb;
        fx->write.manager = "us all";
        fx->write.force = true;
        fx->write.uid = "u1";
        fx->write.version = "7";
        fx->write.brief = rows[i].verb == KUBE_APPLY;
        text_truncate(&fx->told, 0);
        text_truncate(&fx->api.heard, 0);
        ask(fx);
        hear(fx, i + 1);
        assert_string_equal(fake_peer_header(fx->peer, "Content-Type"), rows[i].type);
        bool brief = strstr(fake_peer_header(fx->peer, "Accept"), ";as=PartialObjectMetadata;");
        assert_int_equal(brief, fx->write.brief);
        assert_string_equal(fake_peer_body(fx->peer), rows[i].body ? rows[i].body : fx->body);
        fake_peer_answer(fx->peer, 200, NULL, OBJECT);
        ends(fx, "done! ", heard);
        assert_string_equal(fx->name, rows[i].verb == KUBE_DELETE ? "" : "a");
    }
    assert_int_equal(kube_writer_counts(fx->writer).written, sizeof(rows) / sizeof(*rows));
}

static void a_subresource_and_a_group_are_part_of_the_path(void **state)
{
    struct fixture *fx = *state;
    fx->write = (struct kube_write){
        .verb = KUBE_MERGE,
        .target = { .group = "coil.cybozu.com",
                    .version = "v2",
                    .plural = "egresses",
                    .name = "a",
                    .subresource = "status" },
    };
    ask(fx);
    hear(fx, 1);
    fake_peer_answer(fx->peer, 200, NULL, OBJECT);
    ends(fx, "done! ", "PATCH /apis/coil.cybozu.com/v2/egresses/a/status\n");
}

static void what_is_incomplete_is_not_sent(void **state)
{
    struct fixture *fx = *state;
    struct kube_attempt *attempt;
    fx->write.body = "{}";
    struct kube_write nameless = fx->write, ownerless = fx->write, blind = fx->write;
    nameless.target.name = NULL;
    ownerless.verb = KUBE_APPLY;
    blind.verb = KUBE_DELETE;
    assert_int_equal(kube_attempt_new(fx->client, &nameless, 0, NULL, NULL, &attempt), -EINVAL);
    assert_int_equal(kube_attempt_new(fx->client, &ownerless, 0, NULL, NULL, &attempt), -EINVAL);
    assert_int_equal(kube_attempt_new(fx->client, &blind, 0, NULL, NULL, &attempt), -EINVAL);
}

static void a_review_is_answered_and_not_stored(void **state)
{
    struct fixture *fx = *state;
    fx->write = (struct kube_write){
        .verb = KUBE_CREATE,
        .target = { .group = "authorization.k8s.io",
                    .version = "v1",
                    .plural = "selfsubjectaccessreviews" },
        .review = true,
        .repeatable = true,
    };
    ask(fx);
    hear(fx, 1);
    fake_peer_answer(fx->peer, 201, NULL, "{\"kind\":\"Other\"}");
    hear(fx, 2);
    fake_peer_answer(fx->peer, 201, NULL,
                     "{\"metadata\":{\"name\":\"none\"},\"status\":{\"allowed\":true}}");
    ends(fx, "later! done! ",
         "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews\n"
         "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews\n");
    assert_string_equal(fx->name, "none");
}

static void nothing_is_written_that_is_so(void **state)
{
    struct fixture *fx = *state;
    fx->write.target.plural = NULL;
    ask(fx);
    ends(fx, "", "");
    assert_int_equal(fx->made, 1);
}

static void what_can_not_be_made_is_tried_again(void **state)
{
    struct fixture *fx = *state;
    fx->failure = -ENOMEM;
    ask(fx);
    run_until(fx, fx->made == 3);
    fx->failure = 0;
    hear(fx, 1);
    fake_peer_answer(fx->peer, 201, NULL, OBJECT);
    run_until(fx, is_idle(fx));
    assert_non_null(strstr(text_str(&fx->told), "later! later later done! "));
}

/* Refusals, conflicts and the like are told, and tried again with a write that is made anew. */
static void each_answer_is_told(void **state)
{
    static const struct {
        int status;
        const char *headers, *body, *told;
    } rows[] = {
        { 409, NULL, STATUS("AlreadyExists"), "exists! " },
        { 409, NULL, STATUS("Conflict"), "conflict! " },
        { 409, NULL, STATUS("Conflict"), "conflict " },
        { 404, NULL, STATUS("NotFound"), "missing! " },
        { 403, NULL, STATUS("Forbidden"), "refused! " },
        { 422, NULL, "no JSON", "refused " },
        { 429, NULL, STATUS("TooManyRequests"), "later! " },
        { 401, NULL, STATUS("Unauthorized"), "later " },
        { 302, "Location: http://192.0.2.1/\r\n", "", "later " },
        { 201, NULL, OBJECT, "done! " },
    };
    struct fixture *fx = *state;
    ask(fx);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        hear(fx, i + 1);
        assert_string_equal(fx->peer->method, "POST");
        text_truncate(&fx->told, 0);
        fake_peer_answer(fx->peer, rows[i].status, rows[i].headers, rows[i].body);
        run_until(fx, fx->told.length > 0);
        assert_string_equal(text_str(&fx->told), rows[i].told);
        if (strchr(rows[i].body, 'w'))
            assert_non_null(strstr(fx->why, ": words"));
    }
    struct kube_writer_counts counts = kube_writer_counts(fx->writer);
    assert_int_equal(counts.conflicts, 2);
    assert_int_equal(counts.refused, 2);
    assert_int_equal(counts.retries, 9);
    assert_int_equal(fx->tries, 10);
    assert_int_equal(fx->made, 10);
}

static void who_gives_up_is_not_asked_again(void **state)
{
    struct fixture *fx = *state;
    fx->give_up = true;
    ask(fx);
    hear(fx, 1);
    fake_peer_answer(fx->peer, 403, NULL, STATUS("Forbidden"));
    ends(fx, "refused! ", "POST " COLLECTION "\n");
}

static void the_api_is_left_alone_as_it_asks(void **state)
{
    struct fixture *fx = *state;
    ask(fx);
    hear(fx, 1);
    fake_peer_answer(fx->peer, 429, "Retry-After: 3600\r\n", STATUS("TooManyRequests"));
    run_until(fx, fx->told.length > 0);
    ask(fx);
    while (sd_event_run(fx->event, 0) > 0)
        ;
    assert_int_equal(fx->asked, 1);
}

/* Ways in which an answer gets lost. */
static void lose(struct fake_peer *peer, int path)
{
    switch (path) {
    case 0:
        fake_peer_cut(peer);
        break;
    case 1:
        fake_peer_answer(peer, 500, NULL, STATUS("InternalError"));
        break;
    case 2:
        fake_peer_answer(peer, 200, NULL, "<html>welcome</html>");
        break;
    case 3:
        fake_peer_answer(peer, 200, NULL, "{\"metadata\":{\"name\":\"other\"}}");
        break;
    case 4:
        fake_peer_begin(peer, 201);
        fake_peer_say(peer, "{\"metadata\":");
        fake_peer_cut(peer);
        break;
    default: /* no answer at all: the limit ends it */
        break;
    }
}

enum { WAYS = 6 };

static void a_lost_write_that_was_done_is_found(void **state)
{
    struct fixture *fx = *state;
    for (int path = 0; path < WAYS; path++) {
        text_truncate(&fx->told, 0);
        text_truncate(&fx->api.heard, 0);
        fx->asked = 0;
        ask(fx);
        hear(fx, 1);
        lose(fx->peer, path);
        hear(fx, 2);
        lose(fx->peer, 1); /* nor is it known now */
        hear(fx, 3);
        fake_peer_answer(fx->peer, 200, NULL, OBJECT);
        ends(fx, "uncertain! uncertain done! ",
             "POST " COLLECTION "\n" COLLECTION "/a\n" COLLECTION "/a\n");
        assert_string_equal(fx->name, "a");
    }
    assert_int_equal(fx->made, WAYS);
    assert_int_equal(kube_writer_counts(fx->writer).lost, WAYS);
    assert_int_equal(kube_writer_counts(fx->writer).found, WAYS);
}

static void a_lost_write_that_was_not_done_is_made_anew(void **state)
{
    struct fixture *fx = *state;
    for (int path = 0; path < WAYS; path++) {
        text_truncate(&fx->told, 0);
        text_truncate(&fx->api.heard, 0);
        fx->asked = 0;
        ask(fx);
        hear(fx, 1);
        lose(fx->peer, path);
        hear(fx, 2);
        fake_peer_answer(fx->peer, 404, NULL, STATUS("NotFound"));
        hear(fx, 3);
        fake_peer_answer(fx->peer, 201, NULL, OBJECT);
        ends(fx, "uncertain! later! done! ",
             "POST " COLLECTION "\n" COLLECTION "/a\nPOST " COLLECTION "\n");
    }
    assert_int_equal(fx->made, 2 * WAYS);
}

static void a_404_of_somebody_in_between_proves_nothing(void **state)
{
    struct fixture *fx = *state;
    fx->write.verb = KUBE_DELETE;
    fx->write.uid = "u1";
    ask(fx);
    hear(fx, 1);
    lose(fx->peer, 0);
    hear(fx, 2);
    fake_peer_answer(fx->peer, 404, NULL, "<html>not here</html>");
    hear(fx, 3);
    fake_peer_answer(fx->peer, 404, NULL, STATUS("NotFound"));
    ends(fx, "uncertain! uncertain done! ",
         "DELETE " COLLECTION "/a\n" COLLECTION "/a\n" COLLECTION "/a\n");
}

static void what_may_be_repeated_is(void **state)
{
    struct fixture *fx = *state;
    fx->write.repeatable = true;
    ask(fx);
    for (int path = 0; path < WAYS; path++) {
        hear(fx, (unsigned)path + 1);
        lose(fx->peer, path);
    }
    hear(fx, WAYS + 1);
    assert_string_equal(fx->peer->method, "POST");
    fake_peer_answer(fx->peer, 201, NULL, OBJECT);
    run_until(fx, is_idle(fx));
    assert_null(strstr(text_str(&fx->api.heard), "/a\n"));
}

static void an_api_that_is_away_is_waited_for(void **state)
{
    struct fixture *fx = *state;
    fake_api_stop(&fx->api);
    ask(fx);
    run_until(fx, fx->made >= 3);
    assert_non_null(strstr(text_str(&fx->told), "later! later "));
    assert_null(strstr(text_str(&fx->told), "uncertain"));
    fake_api_listen(&fx->api);
    hear(fx, 1);
    fake_peer_answer(fx->peer, 201, NULL, OBJECT);
    run_until(fx, is_idle(fx));
}

/* What is added while it is written is looked at once more. */
static void a_change_during_a_write_is_not_lost(void **state)
{
    struct fixture *fx = *state;
    ask(fx);
    hear(fx, 1);
    ask(fx);
    fx->write.target.plural = NULL;
    fake_peer_answer(fx->peer, 201, NULL, OBJECT);
    ends(fx, "done! ", "POST " COLLECTION "\n");
    assert_int_equal(fx->made, 2);
}

static void check_row(void *context, const struct kube_writer_row *row)
{
    assert_string_equal(row->key, "key");
    assert_string_equal(row->what, "create " COLLECTION "/a");
    assert_false(row->running);
    assert_int_equal(row->outcome, KUBE_UNCERTAIN);
    assert_non_null(strstr(row->why, "500: words"));
    assert_true(row->tries == 1 && row->next_ms > 0 && row->since_wall_ms > 0);
    ++*(unsigned *)context;
}

static void what_waits_is_told_with_the_reason(void **state)
{
    struct fixture *fx = *state;
    unsigned rows = 0;
    ask(fx);
    hear(fx, 1);
    fake_peer_answer(fx->peer, 500, "Retry-After: 60\r\n", STATUS("InternalError"));
    run_until(fx, fx->told.length > 0);
    kube_writer_each(fx->writer, check_row, &rows);
    assert_int_equal(rows, 1);
    assert_int_equal(kube_writer_counts(fx->writer).waiting, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(each_verb_is_sent_as_the_api_wants_it),
        TEST(a_subresource_and_a_group_are_part_of_the_path),
        TEST(what_is_incomplete_is_not_sent),
        TEST(a_review_is_answered_and_not_stored),
        TEST(nothing_is_written_that_is_so),
        TEST(what_can_not_be_made_is_tried_again),
        TEST(each_answer_is_told),
        TEST(who_gives_up_is_not_asked_again),
        TEST(the_api_is_left_alone_as_it_asks),
        TEST(a_lost_write_that_was_done_is_found),
        TEST(a_lost_write_that_was_not_done_is_made_anew),
        TEST(a_404_of_somebody_in_between_proves_nothing),
        TEST(what_may_be_repeated_is),
        TEST(an_api_that_is_away_is_waited_for),
        TEST(a_change_during_a_write_is_not_lost),
        TEST(what_waits_is_told_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
