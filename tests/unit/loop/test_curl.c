// SPDX-License-Identifier: Apache-2.0
/* Transfers in the event loop: several at once, one after the other, and ended early. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/macro.h"
#include "fake_api.h"
#include "loop/curl.h"

#include "cmocka_all.h"
#include "run_until.h"

enum { MANY = 20 };

struct fixture;

struct transfer {
    struct curl_transfer transfer;
    struct fixture *fx;
    CURLcode code;
    unsigned done;
    struct transfer *next; /* to be started when this one is done */
};

struct fixture {
    sd_event *event;
    struct fake_api api;
    struct curl_loop *loop;
    struct fake_peer *asked[MANY];
    unsigned count;
    struct transfer transfers[MANY];
};

static void on_asked(struct fake_peer *peer, void *context)
{
    struct fixture *fx = context;
    assert_true(fx->count < MANY);
    fx->asked[fx->count++] = peer;
}

static void on_done(struct curl_transfer *base, CURLcode code)
{
    struct transfer *transfer = CONTAINER_OF(base, struct transfer, transfer);
    transfer->code = code;
    transfer->done++;
    if (transfer->next)
        assert_int_equal(curl_loop_start(transfer->fx->loop, &transfer->next->transfer), 0);
}

static size_t drop(char *bytes, size_t size, size_t count, void *context)
{
    (void)bytes, (void)context;
    return size * count;
}

static int setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    assert_true(sd_event_new(&fx->event) >= 0);
    fake_api_start(&fx->api, fx->event, on_asked, fx);
    assert_int_equal(curl_loop_new(fx->event, &fx->loop), 0);
    for (size_t i = 0; i < MANY; i++) {
        CURL *easy = curl_easy_init();
        assert_non_null(easy);
        assert_int_equal(curl_easy_setopt(easy, CURLOPT_URL, fx->api.url), CURLE_OK);
        assert_int_equal(curl_easy_setopt(easy, CURLOPT_PROXY, ""), CURLE_OK);
        assert_int_equal(curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop), CURLE_OK);
        fx->transfers[i] = (struct transfer){ .transfer = { easy, on_done }, .fx = fx };
    }
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    for (size_t i = 0; i < MANY; i++)
        curl_easy_cleanup(fx->transfers[i].transfer.easy);
    curl_loop_free(fx->loop);
    fake_api_done(&fx->api);
    sd_event_unref(fx->event);
    free(fx);
    return 0;
}

static void many_at_once(void **state)
{
    struct fixture *fx = *state;
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(curl_loop_start(fx->loop, &fx->transfers[i].transfer), 0);
    run_until(fx, fx->count == MANY);
    assert_int_equal(fx->api.connections, MANY);
    for (size_t i = MANY; i-- > 0;)
        fake_peer_answer(fx->asked[i], 200, NULL, "x");
    for (size_t i = 0; i < MANY; i++) {
        run_until(fx, fx->transfers[i].done);
        assert_int_equal(fx->transfers[i].code, CURLE_OK);
        assert_int_equal(fx->transfers[i].done, 1);
    }
}

static void one_may_start_the_next(void **state)
{
    struct fixture *fx = *state;
    for (size_t i = 0; i + 1 < MANY; i++)
        fx->transfers[i].next = &fx->transfers[i + 1];
    assert_int_equal(curl_loop_start(fx->loop, &fx->transfers[0].transfer), 0);
    for (unsigned i = 0; i < MANY; i++) {
        run_until(fx, fx->count == i + 1);
        fake_peer_answer(fx->asked[i], 200, NULL, "x");
    }
    run_until(fx, fx->transfers[MANY - 1].done);
    assert_int_equal(fx->api.connections, 1);
}

static void one_may_start_itself_again(void **state)
{
    struct fixture *fx = *state;
    fx->transfers[0].next = &fx->transfers[0];
    assert_int_equal(curl_loop_start(fx->loop, &fx->transfers[0].transfer), 0);
    for (unsigned i = 0; i < 3; i++) {
        run_until(fx, fx->count == i + 1);
        fake_peer_answer(fx->asked[i], 200, NULL, "x");
        run_until(fx, fx->transfers[0].done == i + 1);
    }
    curl_loop_cancel(fx->loop, &fx->transfers[0].transfer);
}

static void a_cancelled_one_is_not_reported(void **state)
{
    struct fixture *fx = *state;
    assert_int_equal(curl_loop_start(fx->loop, &fx->transfers[0].transfer), 0);
    assert_int_equal(curl_loop_start(fx->loop, &fx->transfers[1].transfer), 0);
    run_until(fx, fx->count == 2);
    curl_loop_cancel(fx->loop, &fx->transfers[0].transfer);
    fake_api_stop(&fx->api);
    run_until(fx, fx->transfers[1].done);
    assert_int_equal(fx->transfers[1].code, CURLE_GOT_NOTHING);
    assert_int_equal(fx->transfers[0].done, 0);
}

static void time_passes(void **state)
{
    struct fixture *fx = *state;
    CURL *easy = fx->transfers[0].transfer.easy;
    assert_int_equal(curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 100L), CURLE_OK);
    assert_int_equal(curl_loop_start(fx->loop, &fx->transfers[0].transfer), 0);
    run_until(fx, fx->transfers[0].done);
    assert_int_equal(fx->transfers[0].code, CURLE_OPERATION_TIMEDOUT);
}

static void assert_words(CURLcode code, const char *said, const char *words)
{
    char error[CURL_ERROR_SIZE];
    assert_string_equal(curl_error(code, said, error), words);
}

static void what_it_measured_is_no_word_of_an_error(void **state)
{
    (void)state;
    assert_words(CURLE_COULDNT_CONNECT,
                 "Failed to connect to api port 6443 after 26 ms: Couldn't connect to server",
                 "Failed to connect to api port 6443: Couldn't connect to server");
    assert_words(CURLE_OPERATION_TIMEDOUT,
                 "Operation timed out after 5001 milliseconds with 0 bytes received",
                 "Operation timed out");
    assert_words(CURLE_OPERATION_TIMEDOUT,
                 "Operation timed out after 9 milliseconds with 17 out of -1 bytes received",
                 "Operation timed out");
    assert_words(CURLE_RECV_ERROR, "closed after the handshake", "closed after the handshake");
    assert_words(CURLE_RECV_ERROR, "closed after ", "closed after ");
    assert_words(CURLE_GOT_NOTHING, "", curl_easy_strerror(CURLE_GOT_NOTHING));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(many_at_once),
        TEST(one_may_start_the_next),
        TEST(one_may_start_itself_again),
        TEST(a_cancelled_one_is_not_reported),
        TEST(time_passes),
        cmocka_unit_test(what_it_measured_is_no_word_of_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
