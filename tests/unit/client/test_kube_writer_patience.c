// SPDX-License-Identifier: Apache-2.0
/* How long the writer lets a key wait that can't be written: by the clock, which the test moves. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/kube/kube_writer.h"

#include "cmocka_all.h"
#include "fake_api.h"
#include "run_until.h"

static int64_t ahead_ms; /* of the real clock */

int64_t __real_clock_mono_ms(void);
int64_t __wrap_clock_mono_ms(void);
int64_t __wrap_clock_mono_ms(void)
{
    return __real_clock_mono_ms() + ahead_ms;
}

struct fixture {
    sd_event *event;
    struct fake_api api;
    struct kube_client *client;
    struct kube_writer *writer;
    struct fake_peer *peer; /* that asked last */
    unsigned made[3];       /* of the keys "0", "1", "2" */
    int64_t longest_ms, shortest_ms;
};

/* The keys "0" and "1" can't be sent; "2" is. */
static int make(void *context, const char *key, struct kube_write *write, struct text *body)
{
    struct fixture *fx = context;
    fx->made[*key - '0']++;
    if (*key != '2')
        return -EAGAIN;
    text_add(body, "{}");
    *write = (struct kube_write){
        .verb = KUBE_MERGE,
        .target = { .group = "", .version = "v1", .plural = "nodes", .name = "a" },
    };
    return 1;
}

static bool on_told(void *context, const char *key, const struct kube_told *told)
{
    (void)context, (void)key, (void)told;
    return true;
}

static void on_asked(struct fake_peer *peer, void *context)
{
    ((struct fixture *)context)->peer = peer;
}

static int setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    struct kube_config *config = calloc(1, sizeof(*config));
    assert_true(fx && config);
    ahead_ms = 0;
    assert_true(sd_event_new(&fx->event) >= 0);
    fake_api_start(&fx->api, fx->event, on_asked, fx);
    config->server = strdup(fx->api.url);
    assert_int_equal(kube_client_new(fx->event, config, &fx->client), 0);
    struct kube_writer_limits limits = kube_writer_limits_default;
    limits.queue.per_second = 0;
    const struct kube_writer_options options = {
        .event = fx->event,
        .client = fx->client,
        .limits = &limits,
        .make = make,
        .told = on_told,
        .looks = true,
        .context = fx,
    };
    assert_int_equal(kube_writer_new(&options, &fx->writer), 0);
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    kube_writer_free(fx->writer);
    kube_client_free(fx->client);
    fake_api_done(&fx->api);
    sd_event_unref(fx->event);
    free(fx);
    return 0;
}

static void note_wait(void *context, const struct kube_writer_row *row)
{
    struct fixture *fx = context;
    fx->longest_ms = row->next_ms > fx->longest_ms ? row->next_ms : fx->longest_ms;
    fx->shortest_ms = row->next_ms < fx->shortest_ms ? row->next_ms : fx->shortest_ms;
}

static void measure(struct fixture *fx)
{
    fx->longest_ms = 0;
    fx->shortest_ms = INT64_MAX;
    kube_writer_each(fx->writer, note_wait, fx);
}

/* Lets the first two keys fail so often that they wait as long as they ever do. */
static void fail_for_long(struct fixture *fx)
{
    for (unsigned i = 0; i < 30; i++) {
        unsigned made = fx->made[0] + fx->made[1];
        assert_int_equal(kube_writer_add(fx->writer, "0"), 0);
        assert_int_equal(kube_writer_add(fx->writer, "1"), 0);
        run_until(fx, fx->made[0] + fx->made[1] >= made + 2);
    }
    measure(fx);
}

static void a_key_that_fails_is_tried_again_within_a_minute(void **state)
{
    struct fixture *fx = *state;
    fail_for_long(fx);
    assert_in_range(fx->longest_ms, 47 * 1000, 72 * 1000); /* a minute, give or take a fifth */
    ahead_ms += 73 * 1000;
    measure(fx);
    assert_int_equal(fx->longest_ms, 0);
}

static void answer(struct fixture *fx)
{
    fx->peer = NULL;
    assert_int_equal(kube_writer_add(fx->writer, "2"), 0);
    run_until(fx, fx->peer);
    fake_peer_answer(fx->peer, 200, NULL, "{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"}}");
    run_until(fx, kube_writer_counts(fx->writer).running == 0);
}

static void all_are_tried_at_once_when_the_api_answers_again(void **state)
{
    struct fixture *fx = *state;
    fail_for_long(fx);
    ahead_ms += 10 * 1000;
    measure(fx);
    assert_true(fx->shortest_ms > 30 * 1000);
    unsigned made = fx->made[0] + fx->made[1];
    answer(fx);
    run_until(fx, fx->made[0] + fx->made[1] >= made + 2);
}

/* Else the success of others would take its back-off from a key that has a cause of its own. */
static void an_answer_soon_after_none_hurries_nobody(void **state)
{
    struct fixture *fx = *state;
    fail_for_long(fx);
    answer(fx); /* from here on it is known to answer */
    ahead_ms += 4 * 1000;
    unsigned made = fx->made[0] + fx->made[1];
    assert_int_equal(kube_writer_add(fx->writer, "0"), 0);
    run_until(fx, fx->made[0] + fx->made[1] == made + 1);
    ahead_ms += 4 * 1000;
    answer(fx);
    measure(fx);
    assert_true(fx->shortest_ms > 30 * 1000);
    assert_int_equal(fx->made[0] + fx->made[1], made + 1);
}

/* Runs another key, by which all are run whose time has come. */
static void pass(struct fixture *fx, int64_t time_ms)
{
    ahead_ms += time_ms;
    unsigned made = fx->made[0];
    assert_int_equal(kube_writer_add(fx->writer, "0"), 0);
    run_until(fx, fx->made[0] == made + 1);
}

/* A slow API's watch is as late as its answers: what it has not told of is not lost yet. */
static void what_was_done_is_looked_at_later_where_answers_are_slow(void **state)
{
    struct fixture *fx = *state;
    assert_int_equal(kube_writer_add(fx->writer, "2"), 0);
    run_until(fx, fx->peer);
    ahead_ms += 4 * 1000;
    fake_peer_answer(fx->peer, 200, NULL, "{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"}}");
    run_until(fx, kube_writer_counts(fx->writer).written == 1);
    pass(fx, 9 * 1000);
    assert_int_equal(fx->made[2], 1);
    pass(fx, 2 * 1000);
    run_until(fx, fx->made[2] == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_key_that_fails_is_tried_again_within_a_minute, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(all_are_tried_at_once_when_the_api_answers_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_answer_soon_after_none_hurries_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_done_is_looked_at_later_where_answers_are_slow,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
