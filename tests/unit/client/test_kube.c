// SPDX-License-Identifier: Apache-2.0
/* Requests to the API over plain HTTP: what is sent, what comes back in pieces, what goes wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/macro.h"
#include "client/kube/kube.h"
#include "fake_api.h"
#include "loop/curl.h"

#include "cmocka_all.h"
#include "run_until.h"

/* What a request has told. */
struct answer {
    int status;
    int64_t retry_after_ms;
    struct text body;
    unsigned pieces;
    int verdict; /* of `data` */
    bool ended, failed;
    char error[KUBE_ERROR_LEN];
};

struct fixture {
    sd_event *event;
    struct fake_api api;
    struct kube_client *client;
    struct answer answer;
    struct fake_peer *peer; /* that asked last */
    unsigned asked;
};

static void on_started(void *context, int status, int64_t retry_after_ms)
{
    struct answer *answer = context;
    assert_int_equal(answer->status, 0);
    answer->status = status;
    answer->retry_after_ms = retry_after_ms;
}

static int on_data(void *context, const char *bytes, size_t size)
{
    struct answer *answer = context;
    assert_int_not_equal(answer->status, 0);
    text_add_bytes(&answer->body, bytes, size);
    answer->pieces++;
    return answer->verdict;
}

static void on_ended(void *context, const char *error, const char *remedy)
{
    (void)remedy;
    struct answer *answer = context;
    assert_false(answer->ended);
    answer->ended = true;
    answer->failed = error != NULL;
    (void)snprintf(answer->error, sizeof(answer->error), "%s", error ? error : "");
}

static const struct kube_handler handler = { on_started, on_data, on_ended };

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
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    kube_client_free(fx->client);
    fake_api_done(&fx->api);
    text_done(&fx->answer.body);
    sd_event_unref(fx->event);
    free(fx);
    return 0;
}

static struct kube_config *config_of(const char *server)
{
    struct kube_config *config = calloc(1, sizeof(*config));
    assert_non_null(config);
    config->server = strdup(server);
    return config;
}

static void use(struct fixture *fx, struct kube_config *config)
{
    assert_int_equal(kube_client_new(fx->event, config, &fx->client), 0);
}

static struct kube_request *get(struct fixture *fx, const char *path)
{
    char error[KUBE_ERROR_LEN];
    struct kube_request *request = NULL;
    unsigned asked = fx->asked;
    text_done(&fx->answer.body);
    fx->answer = (struct answer){ 0 };
    assert_int_equal(kube_client_get(fx->client, path, &handler, &fx->answer, &request, error), 0);
    run_until(fx, fx->asked > asked || fx->answer.ended);
    return request;
}

static void asks_and_hears(void **state)
{
    struct fixture *fx = *state;
    AUTOFREE char *server = text_format("%s/prefix", fx->api.url);
    use(fx, config_of(server));
    get(fx, "/api/v1/nodes?labelSelector=%21a%2Cb%3Dc");
    assert_string_equal(fx->peer->path, "/prefix/api/v1/nodes?labelSelector=%21a%2Cb%3Dc");
    assert_string_equal(fake_peer_header(fx->peer, "Accept"), "application/json");
    assert_string_equal(fake_peer_header(fx->peer, "User-Agent"), "fingerpost/" FINGERPOST_VERSION);
    assert_null(fake_peer_header(fx->peer, "Authorization"));
    fake_peer_answer(fx->peer, 200, NULL, "hello");
    run_until(fx, fx->answer.ended);
    assert_false(fx->answer.failed);
    assert_int_equal(fx->answer.status, 200);
    assert_int_equal(fx->answer.retry_after_ms, 0);
    assert_string_equal(text_str(&fx->answer.body), "hello");
}

static void the_next_request_takes_the_connection(void **state)
{
    struct fixture *fx = *state;
    use(fx, config_of(fx->api.url));
    for (int i = 0; i < 3; i++) {
        get(fx, "/");
        fake_peer_answer(fx->peer, 200, NULL, "");
        run_until(fx, fx->answer.ended);
    }
    assert_int_equal(fx->api.connections, 1);
}

static void post(struct fixture *fx)
{
    static const struct kube_call call = {
        .method = "POST", .path = "/pods", .content_type = "application/json", .body = "{\"a\":1}"
    };
    char error[KUBE_ERROR_LEN];
    struct kube_request *request = NULL;
    unsigned asked = fx->asked;
    text_done(&fx->answer.body);
    fx->answer = (struct answer){ 0 };
    assert_int_equal(kube_client_send(fx->client, &call, &handler, &fx->answer, &request, error),
                     0);
    run_until(fx, fx->asked > asked || fx->answer.ended);
}

static void a_body_goes_with_its_request(void **state)
{
    struct fixture *fx = *state;
    use(fx, config_of(fx->api.url));
    post(fx);
    assert_string_equal(fx->peer->method, "POST");
    assert_string_equal(fake_peer_body(fx->peer), "{\"a\":1}");
    assert_string_equal(fake_peer_header(fx->peer, "Content-Type"), "application/json");
    assert_null(fake_peer_header(fx->peer, "Expect"));
    fake_peer_answer(fx->peer, 201, NULL, "made");
    run_until(fx, fx->answer.ended);
    assert_int_equal(fx->answer.status, 201);
}

/* libcurl would send it again: the connection had been used before, and no answer came. */
static void what_changes_something_is_sent_once(void **state)
{
    struct fixture *fx = *state;
    use(fx, config_of(fx->api.url));
    get(fx, "/");
    fake_peer_answer(fx->peer, 200, NULL, "");
    run_until(fx, fx->answer.ended);
    post(fx);
    fake_peer_cut(fx->peer);
    run_until(fx, fx->answer.ended);
    assert_true(fx->answer.failed);
    assert_non_null(strstr(fx->answer.error, "ended before an answer"));
    assert_string_equal(text_str(&fx->api.heard), "/\nPOST /pods\n");
}

static void a_read_is_sent_again_where_the_connection_was_dead(void **state)
{
    struct fixture *fx = *state;
    use(fx, config_of(fx->api.url));
    get(fx, "/");
    fake_peer_answer(fx->peer, 200, NULL, "");
    run_until(fx, fx->answer.ended);
    get(fx, "/again");
    fake_peer_cut(fx->peer);
    run_until(fx, fx->asked == 3);
    fake_peer_answer(fx->peer, 200, NULL, "");
    run_until(fx, fx->answer.ended);
    assert_false(fx->answer.failed);
}

static void pieces_come_as_they_are_sent(void **state)
{
    struct fixture *fx = *state;
    use(fx, config_of(fx->api.url));
    get(fx, "/watch");
    fake_peer_begin(fx->peer, 200);
    run_until(fx, fx->answer.status == 200); /* before any of the body */
    assert_int_equal(fx->answer.pieces, 0);
    fake_peer_say(fx->peer, "one");
    run_until(fx, fx->answer.pieces == 1);
    assert_string_equal(text_str(&fx->answer.body), "one");
    fake_peer_say(fx->peer, "two");
    run_until(fx, fx->answer.pieces == 2);
    fake_peer_end(fx->peer);
    run_until(fx, fx->answer.ended);
    assert_false(fx->answer.failed);
}

static void a_refusal_has_a_body_and_a_time(void **state)
{
    struct fixture *fx = *state;
    use(fx, config_of(fx->api.url));
    get(fx, "/");
    fake_peer_answer(fx->peer, 429, "Retry-After: 7\r\n", "later");
    run_until(fx, fx->answer.ended);
    assert_false(fx->answer.failed);
    assert_int_equal(fx->answer.status, 429);
    assert_int_equal(fx->answer.retry_after_ms, 7000);
    assert_string_equal(text_str(&fx->answer.body), "later");
}

/* An hour is a proxy's page for an outage: it is asked again before. */
static void a_time_to_wait_is_bounded(void **state)
{
    struct fixture *fx = *state;
    static const char *const headers[] = { "Retry-After: 3600\r\n",
                                           "Retry-After: 9223372036854775807\r\n" };
    use(fx, config_of(fx->api.url));
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        get(fx, "/");
        fake_peer_answer(fx->peer, 503, headers[i], "maintenance");
        run_until(fx, fx->answer.ended);
        assert_int_equal(fx->answer.retry_after_ms, CURL_RETRY_AFTER_MAX_MS);
    }
}

/* libcurl keeps each trailer for its callers, and bounds only the head. */
static void trailers_without_end_end_the_answer(void **state)
{
    struct fixture *fx = *state;
    static const char head[] =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n";
    char trailer[2048] = "X-T: ";
    memset(trailer + 5, 'y', sizeof(trailer) - 7);
    memcpy(trailer + sizeof(trailer) - 2, "\r\n", 2);
    use(fx, config_of(fx->api.url));
    get(fx, "/");
    fake_peer_send(fx->peer, head, sizeof(head) - 1);
    for (size_t sent = 0; sent < 2 * CURL_HEAD_MAX && !fx->answer.ended; sent += sizeof(trailer)) {
        fake_peer_send(fx->peer, trailer, sizeof(trailer));
        while (sd_event_run(fx->event, 0) > 0)
            ;
    }
    if (!fx->answer.ended)
        fake_peer_send(fx->peer, "\r\n", 2);
    run_until(fx, fx->answer.ended);
    assert_true(fx->answer.failed);
    assert_string_equal(fx->answer.error, CURL_HEAD_LONG);
}

static void an_interim_answer_is_none(void **state)
{
    struct fixture *fx = *state;
    static const char interim[] = "HTTP/1.1 103 Early\r\nLink: x\r\n\r\n";
    use(fx, config_of(fx->api.url));
    get(fx, "/");
    fake_peer_send(fx->peer, interim, sizeof(interim) - 1);
    fake_peer_answer(fx->peer, 200, NULL, "x");
    run_until(fx, fx->answer.ended);
    assert_int_equal(fx->answer.status, 200);
}

static void a_redirect_is_not_followed(void **state)
{
    struct fixture *fx = *state;
    use(fx, config_of(fx->api.url));
    get(fx, "/");
    fake_peer_answer(fx->peer, 302, "Location: http://127.0.0.1:1/\r\n", "");
    run_until(fx, fx->answer.ended);
    assert_int_equal(fx->answer.status, 302);
    assert_int_equal(fx->api.requests, 1);
}

static void a_cut_connection_is_an_error(void **state)
{
    struct fixture *fx = *state;
    use(fx, config_of(fx->api.url));
    get(fx, "/");
    fake_peer_begin(fx->peer, 200);
    fake_peer_say(fx->peer, "half");
    fake_peer_cut(fx->peer);
    run_until(fx, fx->answer.ended);
    assert_true(fx->answer.failed);
    assert_string_equal(text_str(&fx->answer.body), "half");
}

static void nobody_there_is_an_error(void **state)
{
    struct fixture *fx = *state;
    use(fx, config_of(fx->api.url));
    fake_api_stop(&fx->api);
    get(fx, "/");
    assert_true(fx->answer.failed);
    assert_int_equal(fx->answer.status, 0);
    assert_non_null(strstr(fx->answer.error, "connect"));
}

static void what_is_no_http_is_an_error(void **state)
{
    struct fixture *fx = *state;
    use(fx, config_of(fx->api.url));
    get(fx, "/");
    fake_peer_send(fx->peer, "220 smtp.example\r\n", 18);
    fake_peer_cut(fx->peer);
    run_until(fx, fx->answer.ended);
    assert_true(fx->answer.failed);
    assert_int_equal(fx->answer.status, 0);
}

static void a_reader_may_have_enough(void **state)
{
    struct fixture *fx = *state;
    use(fx, config_of(fx->api.url));
    get(fx, "/");
    fx->answer.verdict = -1;
    fake_peer_begin(fx->peer, 200);
    fake_peer_say(fx->peer, "enough");
    run_until(fx, fx->answer.ended);
    assert_true(fx->answer.failed);
    assert_int_equal(fx->answer.pieces, 1);
}

static void a_cancelled_request_says_no_more(void **state)
{
    struct fixture *fx = *state;
    use(fx, config_of(fx->api.url));
    struct kube_request *request = get(fx, "/");
    fake_peer_begin(fx->peer, 200);
    run_until(fx, fx->answer.status == 200);
    kube_request_cancel(request);
    run_until(fx, fx->peer->fd < 0); /* the server sees that it is gone */
    assert_false(fx->answer.ended);
}

static void a_token_is_sent(void **state)
{
    struct fixture *fx = *state;
    struct kube_config *config = config_of(fx->api.url);
    config->token = strdup("secret");
    use(fx, config);
    get(fx, "/");
    assert_string_equal(fake_peer_header(fx->peer, "Authorization"), "Bearer secret");
    fake_peer_answer(fx->peer, 200, NULL, "");
    run_until(fx, fx->answer.ended);
}

static void a_rotated_token_counts_at_once(void **state)
{
    struct fixture *fx = *state;
    char path[] = "/tmp/test_kube.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct kube_config *config = config_of(fx->api.url);
    config->token_file = strdup(path);
    config->token = strdup("of-no-account");
    use(fx, config);
    for (const char *token = "first\n"; token; token = *token == 'f' ? "second" : NULL) {
        assert_int_equal(file_write_atomic(path, token, strlen(token)), 0);
        get(fx, "/");
        AUTOFREE char *expected = text_format("Bearer %.*s", (int)strcspn(token, "\n"), token);
        assert_string_equal(fake_peer_header(fx->peer, "Authorization"), expected);
        fake_peer_answer(fx->peer, 200, NULL, "");
        run_until(fx, fx->answer.ended);
    }
    assert_int_equal(unlink(path), 0);
}

/* The reason says which file, and never what is in it. */
static void assert_refused(struct fixture *fx, const char *reason)
{
    char error[KUBE_ERROR_LEN];
    struct kube_request *request = NULL;
    assert_true(kube_client_get(fx->client, "/", &handler, &fx->answer, &request, error) < 0);
    assert_null(request);
    assert_string_equal(error, reason);
    kube_client_free(fx->client);
    fx->client = NULL;
}

static void files_that_are_missing_are_named(void **state)
{
    struct fixture *fx = *state;
    struct kube_config *config = config_of(fx->api.url);
    config->token_file = strdup("/nowhere/token");
    use(fx, config);
    assert_refused(fx, "cannot read the token /nowhere/token: No such file or directory");
    config = config_of(fx->api.url);
    config->ca_file = strdup("/nowhere/ca.crt");
    use(fx, config);
    assert_refused(fx, "cannot read the CA /nowhere/ca.crt: No such file or directory");
    config = config_of(fx->api.url);
    config->cert_file = strdup("/nowhere/tls.crt");
    use(fx, config);
    assert_refused(
        fx, "cannot read the client certificate /nowhere/tls.crt: No such file or directory");
}

static void a_token_is_one_word(void **state)
{
    struct fixture *fx = *state;
    static const char *const bad[] = { "", "\n", "two words", "line\nline" };
    char path[] = "/tmp/test_kube.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    AUTOFREE char *reason = text_format("%s holds no token", path);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct kube_config *config = config_of(fx->api.url);
        config->token_file = strdup(path);
        use(fx, config);
        assert_int_equal(file_write_atomic(path, bad[i], strlen(bad[i])), 0);
        assert_refused(fx, reason);
    }
    assert_int_equal(unlink(path), 0);
}

static void a_proxy_is_asked_instead(void **state)
{
    struct fixture *fx = *state;
    struct kube_config *config = config_of("http://api.invalid:6443");
    config->proxy_url = strdup(fx->api.url);
    use(fx, config);
    get(fx, "/api");
    assert_string_equal(fx->peer->path, "http://api.invalid:6443/api");
    fake_peer_answer(fx->peer, 200, NULL, "");
    run_until(fx, fx->answer.ended);
    assert_false(fx->answer.failed);
}

static void proxies_of_the_environment_do_not_count(void **state)
{
    struct fixture *fx = *state;
    assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    use(fx, config_of(fx->api.url));
    get(fx, "/api");
    assert_string_equal(fx->peer->path, "/api");
    fake_peer_answer(fx->peer, 200, NULL, "");
    run_until(fx, fx->answer.ended);
    assert_int_equal(unsetenv("http_proxy"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(asks_and_hears),
        TEST(the_next_request_takes_the_connection),
        TEST(a_body_goes_with_its_request),
        TEST(what_changes_something_is_sent_once),
        TEST(a_read_is_sent_again_where_the_connection_was_dead),
        TEST(pieces_come_as_they_are_sent),
        TEST(a_refusal_has_a_body_and_a_time),
        TEST(a_time_to_wait_is_bounded),
        TEST(trailers_without_end_end_the_answer),
        TEST(an_interim_answer_is_none),
        TEST(a_redirect_is_not_followed),
        TEST(a_cut_connection_is_an_error),
        TEST(nobody_there_is_an_error),
        TEST(what_is_no_http_is_an_error),
        TEST(a_reader_may_have_enough),
        TEST(a_cancelled_request_says_no_more),
        TEST(a_token_is_sent),
        TEST(a_rotated_token_counts_at_once),
        TEST(files_that_are_missing_are_named),
        TEST(a_token_is_one_word),
        TEST(a_proxy_is_asked_instead),
        TEST(proxies_of_the_environment_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
