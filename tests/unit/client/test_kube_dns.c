// SPDX-License-Identifier: Apache-2.0
/*
 * A name server that does not answer: libcurl waits for it in a thread, and nobody may wait for the
 * thread. getaddrinfo() below stands in for that of the C library, in libcurl, too.
 */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/kube/kube.h"
#include "cmocka_all.h"

static int entered[2], release[2], left[2]; /* pipes */

static void signal_by(const int pipe_ends[2])
{
    if (write(pipe_ends[1], "x", 1) != 1)
        abort();
}

static void wait_for(const int pipe_ends[2])
{
    char byte;
    if (read(pipe_ends[0], &byte, 1) != 1)
        abort();
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **result)
{
    (void)node, (void)service, (void)hints, (void)result;
    signal_by(entered);
    wait_for(release);
    signal_by(left);
    return EAI_AGAIN;
}

static void on_started(void *context, int status, int64_t retry_after_ms)
{
    (void)context, (void)status, (void)retry_after_ms;
}

static int on_data(void *context, const char *bytes, size_t size)
{
    (void)context, (void)bytes, (void)size;
    return 0;
}

static void on_ended(void *context, const char *error, const char *remedy)
{
    (void)remedy;
    assert_non_null(error);
    *(bool *)context = true;
}

static const struct kube_handler handler = { on_started, on_data, on_ended };

struct fixture {
    sd_event *event;
    struct kube_client *client;
    struct kube_request *request;
    bool ended;
};

static int setup(void **state)
{
    char error[KUBE_ERROR_LEN];
    struct fixture *fx = calloc(1, sizeof(*fx));
    struct kube_config *config = calloc(1, sizeof(*config));
    assert_true(fx && config);
    assert_true(pipe(entered) == 0 && pipe(release) == 0 && pipe(left) == 0);
    assert_true(sd_event_new(&fx->event) >= 0);
    config->server = strdup("http://api.example");
    assert_int_equal(kube_client_new(fx->event, config, &fx->client), 0);
    assert_int_equal(kube_client_get(fx->client, "/", &handler, &fx->ended, &fx->request, error),
                     0);
    assert_true(sd_event_run(fx->event, UINT64_MAX) >= 0);
    wait_for(entered);
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    kube_client_free(fx->client);
    sd_event_unref(fx->event);
    for (size_t i = 0; i < 2; i++) {
        close(entered[i]);
        close(release[i]);
        close(left[i]);
    }
    free(fx);
    return 0;
}

/* If this waited for the thread, it would wait for ever. */
static void who_cancels_does_not_wait(void **state)
{
    struct fixture *fx = *state;
    kube_request_cancel(fx->request);
    signal_by(release);
    wait_for(left);
    assert_false(fx->ended);
}

static void a_name_that_is_not_found_is_an_error(void **state)
{
    struct fixture *fx = *state;
    signal_by(release);
    wait_for(left);
    while (!fx->ended)
        assert_true(sd_event_run(fx->event, UINT64_MAX) >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_cancels_does_not_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_that_is_not_found_is_an_error, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
