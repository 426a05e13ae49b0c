// SPDX-License-Identifier: Apache-2.0
/* A writer for which memory is short, at every single allocation: the key is written all the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/kube/kube_writer.h"
#include "fake_api.h"

#include "cmocka_all.h"
#include "failing_heap.h"
#include "run_until.h"

enum { MOST_ALLOCATIONS = 100000 };

struct fixture {
    sd_event *event;
    struct fake_api api;
    struct kube_client *client;
    struct kube_writer *writer;
    unsigned done;
};

static int make(void *context, const char *key, struct kube_write *write, struct text *body)
{
    (void)context;
    *write = (struct kube_write){
        .verb = KUBE_CREATE,
        .target = { .group = "", .version = "v1", .plural = "nodes", .name = key },
    };
    text_addf(body, "{\"metadata\":{\"name\":\"%s\"}}", key);
    return 1;
}

static bool on_told(void *context, const char *key, const struct kube_told *told)
{
    struct fixture *fx = context;
    assert_string_equal(key, "a");
    assert_int_not_equal(told->result.outcome, KUBE_REFUSED);
    fx->done += told->result.outcome == KUBE_DONE;
    return true;
}

static void on_asked(struct fake_peer *peer, void *context)
{
    (void)context;
    fake_peer_answer(peer, 201, NULL, "{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"}}");
}

/* Every step of the loop, until the first request is on its way, has so many allocations. */
static bool writes_with(struct fixture *fx, int most)
{
    unsigned done = fx->done;
    int r = with_heap(most, kube_writer_add(fx->writer, "a"));
    bool missed = heap_missed;
    if (r < 0) {
        assert_int_equal(r, -ENOMEM);
        assert_int_equal(kube_writer_add(fx->writer, "a"), 0);
    }
    (void)with_heap(most, sd_event_run(fx->event, 0)); /* the queue's timer */
    missed |= heap_missed;
    run_until(fx, fx->done > done);
    return !missed;
}

static void a_key_is_written_with_little_memory(void **state)
{
    (void)state;
    struct fixture fx = { 0 };
    struct kube_writer_limits limits = kube_writer_limits_default;
    limits.queue.per_second = 0;
    assert_true(sd_event_new(&fx.event) >= 0);
    fake_api_start(&fx.api, fx.event, on_asked, &fx);
    struct kube_config *config = calloc(1, sizeof(*config));
    assert_non_null(config);
    config->server = strdup(fx.api.url);
    assert_int_equal(kube_client_new(fx.event, config, &fx.client), 0);
    const struct kube_writer_options options = {
        .event = fx.event,
        .client = fx.client,
        .limits = &limits,
        .make = make,
        .told = on_told,
        .context = &fx,
    };
    int most = 0;
    for (;; most++) {
        assert_true(most < MOST_ALLOCATIONS);
        int r = with_heap(most, kube_writer_new(&options, &fx.writer));
        if (r == 0)
            break;
        assert_int_equal(r, -ENOMEM);
    }
    for (most = 0; !writes_with(&fx, most); most++)
        assert_true(most < MOST_ALLOCATIONS);
    assert_true(most > 10);
    kube_writer_free(fx.writer);
    kube_client_free(fx.client);
    fake_api_done(&fx.api);
    sd_event_unref(fx.event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_written_with_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
