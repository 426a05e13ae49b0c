// SPDX-License-Identifier: Apache-2.0
/* Each name that kube-service-exporter tells by DogStatsD, with its type and its tags. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"
#include "cmocka_all.h"
#include "controller/export/export_statsd.h"
#include "raised.h"

enum { RECEIVED_MAX = 16384 };

static int64_t now_ms = 1000;

/* The clock stands where the test says; the test is linked so that it is asked. */
int64_t __wrap_clock_mono_ms(void);
int64_t __wrap_clock_mono_ms(void)
{
    return now_ms;
}

struct listener {
    int fd;
    char address[64];
    char *tags[1];
    struct export_config config;
    struct export_target_status target;
    struct export_metrics metrics;
    struct export_plan plan;
    struct export_statsd *statsd;
    char received[RECEIVED_MAX]; /* "\nLINE\nLINE\n" */
};

static void listen_on(struct listener *listener)
{
    struct sockaddr_in where = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof(where);
    listener->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener->fd, (struct sockaddr *)&where, sizeof(where)), 0);
    assert_int_equal(getsockname(listener->fd, (struct sockaddr *)&where, &length), 0);
    (void)snprintf(listener->address, sizeof(listener->address), "127.0.0.1:%d",
                   ntohs(where.sin_port));
}

static int set_up(void **state)
{
    struct listener *listener = calloc(1, sizeof(*listener));
    AUTOFAULTS struct faults faults = { 0 };
    assert_non_null(listener);
    listen_on(listener);
    listener->tags[0] = (char *)"dc:x";
    listener->config.identity = (char *)"pod-0";
    listener->config.statsd.address = listener->address;
    listener->config.statsd.tags.items = listener->tags;
    listener->config.statsd.tags.count = 1;
    listener->metrics.target = &listener->target;
    listener->plan.selector = "role=a,zone=b";
    assert_int_equal(
        export_statsd_new(&listener->config, &listener->metrics, &listener->statsd, &faults), 0);
    assert_int_equal(faults.list.count, 0);
    *state = listener;
    return 0;
}

static int tear_down(void **state)
{
    struct listener *listener = *state;
    export_statsd_close(listener->statsd, 0);
    vec_done(&listener->plan.documents);
    vec_done(&listener->plan.node_names);
    (void)close(listener->fd);
    free(listener);
    return 0;
}

/* Takes in what was sent: a datagram may have many lines. */
static void receive(struct listener *listener)
{
    size_t length = 1;
    ssize_t got;
    listener->received[0] = '\n';
    while ((got = recv(listener->fd, listener->received + length, RECEIVED_MAX - length - 2, 0)) >
           0) {
        assert_true(got <= 1432);
        length += (size_t)got;
        listener->received[length++] = '\n';
    }
    listener->received[length] = '\0';
}

static void has(struct listener *listener, const char *line)
{
    char whole[256];
    (void)snprintf(whole, sizeof(whole), "\nkube-service-exporter.%s\n", line);
    if (!strstr(listener->received, whole))
        fail_msg("no %s in %s", whole, listener->received);
}

static void tells_of_start_and_end(void **state)
{
    struct listener *listener = *state;
    receive(listener);
    has(listener, "start:1|g|#dc:x");
    export_statsd_close(TAKE_PTR(listener->statsd), now_ms - 7);
    receive(listener);
    has(listener, "shutdown:1|g|#dc:x");
    has(listener, "shutdown_time:7|ms|#dc:x");
    has(listener, "kubernetes.node_handler.queue.shutdown:1|c|#dc:x,drain:false");
}

static void tells_counts_of_handlers(void **state)
{
    struct listener *listener = *state;
    listener->metrics.services[HANDLED_ADD] = 3;
    listener->metrics.services[HANDLED_UPDATE] = 2;
    listener->metrics.nodes[HANDLED_DELETE] = 1;
    listener->metrics.waiting_services.adds = 5;
    listener->metrics.waiting_nodes = (struct export_waiting){
        .adds = 9,
        .done = 7,
        .retries = 6,
        .later = 4,
    };
    static const char *const lines[] = {
        "kubernetes.service_handler.count:3|c|#dc:x,handler:add",
        "kubernetes.service_handler.count:2|c|#dc:x,handler:update",
        "kubernetes.node_handler:1|c|#dc:x,handler:delete",
        "kubernetes.service_handler.queue.adds:5|c|#dc:x,priority:0",
        "kubernetes.node_handler.queue.add:9|c|#dc:x",
        "kubernetes.node_handler.queue.add_after:4|c|#dc:x",
        "kubernetes.node_handler.queue.add_rate_limited:6|c|#dc:x",
        "kubernetes.node_handler.queue.forget:7|c|#dc:x",
        "kubernetes.node_handler.queue.done:7|c|#dc:x",
    };
    export_statsd_counts(listener->statsd);
    receive(listener);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        has(listener, lines[i]);
    export_statsd_counts(listener->statsd);
    receive(listener);
    assert_string_equal(listener->received, "\n"); /* nothing twice */
}

static void tells_what_waited_for_a_plan(void **state)
{
    struct listener *listener = *state;
    export_waiting_add(&listener->metrics.waiting_services, HANDLED_DELETE, now_ms);
    export_waiting_add(&listener->metrics.waiting_services, HANDLED_DELETE, now_ms + 1);
    export_waiting_add(&listener->metrics.waiting_nodes, HANDLED_ADD, now_ms);
    assert_int_equal(vec_push(&listener->plan.node_names, "n1"), 0);
    assert_int_equal(vec_push(&listener->plan.node_names, "n2"), 0);
    now_ms += 12;
    export_statsd_planned(listener->statsd, &listener->plan, 7);
    export_waiting_end(&listener->metrics.waiting_services, now_ms - 7, now_ms);
    export_statsd_counts(listener->statsd);
    receive(listener);
    static const char *const lines[] = {
        "kubernetes.service_handler.time:12|ms|#dc:x,handler:delete",
        "kubernetes.service_handler.queue.length:2|g|#dc:x,priority:0",
        "kubernetes.service_handler.queue.length:0|g|#dc:x,priority:0",
        "kubernetes.service_handler.queue.wait:5|d|#dc:x,priority:0",
        "kubernetes.service_handler.queue.duration:7|d|#dc:x,priority:0",
        "kubernetes.node_handler.queue.length:1|g|#dc:x",
        "kubernetes.node_handler.queue.length:0|g|#dc:x",
        /* A comma would begin another tag. */
        "nodes:1|g|#dc:x,selector:role=a_zone=b,node:n1",
        "nodes:1|g|#dc:x,selector:role=a_zone=b,node:n2",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        has(listener, lines[i]);
    const struct export_waiting *services = &listener->metrics.waiting_services;
    assert_int_equal(services->done, 2);
    assert_int_equal(services->length, 0);
    assert_int_equal(services->wait_ms, 5);
    assert_int_equal(services->plan_ms, 7);
}

static void tells_of_each_document(void **state)
{
    struct listener *listener = *state;
    const struct export_document document = { .key = "p/services/by-template/clusters/c",
                                              .id = "c-a|#,x\ny",
                                              .owner = "ns/a" };
    const struct export_op ops[] = {
        { .key = document.key },
        { .key = document.key, .index = 8 },
        { .key = "p/services/class/c-gone-http/clusters/c", .remove = true, .index = 9 },
    };
    assert_int_equal(vec_push(&listener->plan.documents, document), 0);
    for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
        export_statsd_told(listener->statsd, &listener->plan, &ops[i], i != 1);
    export_statsd_counts(listener->statsd);
    receive(listener);
    has(listener, "target.service.success:1|c|#dc:x,handler:create,service:c-a___x_y");
    has(listener, "target.service.fail:1|c|#dc:x,handler:update,service:c-a___x_y");
    has(listener, "target.service.success:1|c|#dc:x,handler:delete,service:c-gone-http");
}

static void tells_of_consul(void **state)
{
    struct listener *listener = *state;
    struct export_kv_count(*kv)[EXPORT_KVS] = listener->target.kv;
    for (int method = 0; method < EXPORT_METHODS; method++) {
        for (int of = 0; of < EXPORT_KVS; of++)
            kv[method][of] = (struct export_kv_count){ 2, 1, 3, 30 };
    }
    listener->metrics.elected = 2;
    listener->metrics.relinquished = 1;
    export_statsd_counts(listener->statsd);
    receive(listener);
    for (int method = 0; method < EXPORT_METHODS; method++) {
        for (int of = 0; of < EXPORT_KVS; of++) {
            char line[128];
            const char *names[] = { export_method_names[method], export_kv_names[of] };
            (void)snprintf(line, sizeof(line), "consul.kv.success:2|c|#dc:x,method:%s,kv:%s",
                           names[0], names[1]);
            has(listener, line);
            (void)snprintf(line, sizeof(line), "consul.kv.fail:1|c|#dc:x,method:%s,kv:%s", names[0],
                           names[1]);
            has(listener, line);
            (void)snprintf(line, sizeof(line), "consul.kv.time:10|ms|#dc:x,method:%s,kv:%s",
                           names[0], names[1]);
            has(listener, line);
        }
    }
    has(listener, "consul.leadership.elected:2|c|#dc:x,client_id:pod-0");
    has(listener, "consul.leadership.relinquished:1|c|#dc:x,client_id:pod-0");
}

static void tells_nothing_without_an_address(void **state)
{
    (void)state;
    const struct export_config config = { 0 };
    const struct export_target_status target = { 0 };
    const struct export_metrics metrics = { .target = &target, .elected = 1 };
    AUTOFAULTS struct faults faults = { 0 };
    struct export_statsd *statsd;
    assert_int_equal(export_statsd_new(&config, &metrics, &statsd, &faults), 0);
    assert_int_equal(faults.list.count, 0);
    export_statsd_close(statsd, 0);
}

static void says_what_address_is_none(void **state)
{
    (void)state;
    const struct export_config config = { .statsd.address = (char *)"127.0.0.1:none" };
    const struct export_target_status target = { 0 };
    const struct export_metrics metrics = { .target = &target };
    AUTOFAULTS struct faults faults = { 0 };
    struct export_statsd *statsd;
    assert_int_equal(export_statsd_new(&config, &metrics, &statsd, &faults), 0);
    assert_raised(&faults, "export-metrics-unsent at consul.dogstatsd.address\n");
    export_statsd_close(statsd, 0);
}

#define HEARD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HEARD(tells_of_start_and_end),
        HEARD(tells_counts_of_handlers),
        HEARD(tells_what_waited_for_a_plan),
        HEARD(tells_of_each_document),
        HEARD(tells_of_consul),
        cmocka_unit_test(tells_nothing_without_an_address),
        cmocka_unit_test(says_what_address_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
