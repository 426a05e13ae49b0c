// SPDX-License-Identifier: Apache-2.0
/*
 * Health ports over the loopback of a network namespace: the bytes that kube-proxy sends, changes,
 * ports that others have, crowds.
 *
 * It is long because each case needs a server, its client and the bytes of the answer.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "../failing_heap.h"
#include "../loop/http_client.h"
#include "base/macro.h"
#include "base/text.h"
#include "cmocka_all.h"
#include "health/health_ports.h"
#include "loop/tcp.h"

enum { PORT = 30256 };

static const struct ip everywhere = { .family = IP_NONE };
static const struct ip loopback = { .family = IP_V4, .bytes = { 127, 0, 0, 1 } };

struct fixture {
    sd_event *event;
    struct health_ports *ports;
    bool unhealthy;
    int tries;
};

static bool is_healthy(void *context)
{
    return !((struct fixture *)context)->unhealthy;
}

static void on_tried(void *context)
{
    ((struct fixture *)context)->tries++;
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    if (!fixture || unshare(CLONE_NEWNET) < 0 || system("ip link set lo up") != 0)
        return -1;
    assert_int_equal(sd_event_new(&fixture->event), 0);
    const struct health_ports_options options = {
        .event = fixture->event,
        .healthy = is_healthy,
        .tried = on_tried,
        .context = fixture,
        .retry_initial_ms = 10,
        .retry_max_ms = 20,
    };
    assert_int_equal(health_ports_new(&options, &fixture->ports), 0);
    assert_int_equal(health_ports_listen_on(fixture->ports, &everywhere, 1), 0);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    health_ports_free(fixture->ports);
    sd_event_unref(fixture->event);
    free(fixture);
    return 0;
}

static void want(struct fixture *fixture, const char *name, uint16_t port, int64_t v4, int64_t v6)
{
    const struct nat_health_port wanted = {
        .namespace = "shop", .name = name, .port = port, .ready_v4 = v4, .ready_v6 = v6
    };
    assert_int_equal(health_ports_want(fixture->ports, &wanted), 0);
    health_ports_sync(fixture->ports);
}

static char *body_of(const char *name, int count, bool healthy)
{
    return text_format("{\n\t\"service\": {\n\t\t\"namespace\": \"shop\",\n\t\t\"name\": \"%s\"\n"
                       "\t},\n\t\"localEndpoints\": %d,\n\t\"serviceProxyHealthy\": %s\n}",
                       name, count, healthy ? "true" : "false");
}

/* Asks on an open connection, and holds the answer against every byte that it should have. */
static void assert_asked(struct http_client *client, int status, const char *name, int count,
                         bool healthy)
{
    CLEANUP(http_answer_done) struct http_answer answer;
    AUTOFREE char *body = body_of(name, count, healthy);
    AUTOFREE char *weight = text_format("\r\nX-Load-Balancing-Endpoint-Weight: %d\r\n", count);
    AUTOFREE char *length = text_format("\r\nContent-Length: %zu\r\n", strlen(body));
    AUTOFREE char *first =
        text_format("HTTP/1.1 %d %s\r\n", status, status == 200 ? "OK" : "Service Unavailable");
    http_client_ask(client, "GET /any/path?x=1 HTTP/1.1\r\nHost: node\r\n\r\n");
    http_client_read(client, false, &answer);
    assert_string_equal(answer.body, body);
    assert_int_equal(strncmp(answer.head, first, strlen(first)), 0);
    assert_non_null(strstr(answer.head, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(answer.head, "\r\nX-Content-Type-Options: nosniff\r\n"));
    assert_non_null(strstr(answer.head, weight));
    assert_non_null(strstr(answer.head, length));
}

static void assert_told(struct fixture *fixture, int family, unsigned port, int status,
                        const char *name, int count)
{
    CLEANUP(http_client_close) struct http_client client;
    http_client_tcp(&client, fixture->event, family, port);
    assert_asked(&client, status, name, count, !fixture->unhealthy);
}

static void assert_refused(const struct ip *ip, unsigned port)
{
    AUTOCLOSE int fd = -1; /* nobody has the port: it can be had */
    assert_int_equal(tcp_listen(ip, (uint16_t)port, TCP_ADDRESS_PRESENT, &fd), 0);
}

static void assert_faults(const struct fixture *fixture, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text out = { 0 };
    health_ports_faults(fixture->ports, "node-1", &faults);
    vec_each(const struct fault, fault, &faults.list)
        text_addf(&out, "%s: %s [%s]\n", fault->place, fault->message,
                  fault->remedy ? fault->remedy : "");
    assert_string_equal(text_str(&out), expected);
}

/* Written out once, as kube-proxy's own tests have it. */
static void the_bytes_are_kube_proxys(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(http_answer_done) struct http_answer answer;
    CLEANUP(http_client_close) struct http_client client;
    want(fixture, "web", PORT, 2, 0);
    http_client_tcp(&client, fixture->event, AF_INET, PORT);
    http_client_ask(&client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    http_client_read(&client, false, &answer);
    assert_int_equal(answer.size, 111);
    assert_string_equal(answer.body, "{\n"
                                     "\t\"service\": {\n"
                                     "\t\t\"namespace\": \"shop\",\n"
                                     "\t\t\"name\": \"web\"\n"
                                     "\t},\n"
                                     "\t\"localEndpoints\": 2,\n"
                                     "\t\"serviceProxyHealthy\": true\n"
                                     "}");
}

static void status_is_of_endpoints_and_proxy(void **state)
{
    struct fixture *fixture = *state;
    want(fixture, "web", PORT, 2, 0);
    CLEANUP(http_client_close) struct http_client client;
    http_client_tcp(&client, fixture->event, AF_INET, PORT);
    assert_asked(&client, 200, "web", 2, true);
    fixture->unhealthy = true;
    assert_asked(&client, 503, "web", 2, false);
    want(fixture, "web", PORT, 0, 0); /* counts change on the way */
    assert_asked(&client, 503, "web", 0, false);
    fixture->unhealthy = false;
    assert_asked(&client, 503, "web", 0, true);
    want(fixture, "web", PORT, 1, 0);
    assert_asked(&client, 200, "web", 1, true);
}

static void any_method_will_do(void **state)
{
    static const char *const requests[] = {
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
        "DELETE /x HTTP/1.1\r\nHost: x\r\n\r\n",
        "OPTIONS /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
    };
    struct fixture *fixture = *state;
    want(fixture, "web", PORT, 3, 0);
    CLEANUP(http_client_close) struct http_client client;
    http_client_tcp(&client, fixture->event, AF_INET, PORT);
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        CLEANUP(http_answer_done) struct http_answer answer;
        bool head = strncmp(requests[i], "HEAD", 4) == 0;
        AUTOFREE char *body = body_of("web", 3, true);
        http_client_ask(&client, requests[i]);
        http_client_read(&client, head, &answer);
        assert_int_equal(answer.status, 200);
        assert_string_equal(answer.body, head ? "" : body);
        assert_non_null(strstr(answer.head, "X-Load-Balancing-Endpoint-Weight: 3\r\n"));
    }
}

static void families_are_counted_apart(void **state)
{
    struct fixture *fixture = *state;
    want(fixture, "web", PORT, 2, 1);
    assert_told(fixture, AF_INET, PORT, 200, "web", 2);
    assert_told(fixture, AF_INET6, PORT, 200, "web", 1);
    want(fixture, "web", PORT, 2, 0);
    assert_told(fixture, AF_INET, PORT, 200, "web", 2);
    assert_told(fixture, AF_INET6, PORT, 503, "web", 0);
    /* It loses IPv6, then is IPv6 only. */
    want(fixture, "web", PORT, 2, NAT_HEALTH_ABSENT);
    assert_told(fixture, AF_INET6, PORT, 200, "web", 2);
    want(fixture, "web", PORT, NAT_HEALTH_ABSENT, 7);
    assert_told(fixture, AF_INET, PORT, 200, "web", 7);
    assert_told(fixture, AF_INET6, PORT, 200, "web", 7);
}

/* Neither the old port nor what it said survives, not even on a connection that was kept. */
static void another_port_replaces_the_old(void **state)
{
    struct fixture *fixture = *state;
    want(fixture, "web", PORT, 2, 0);
    CLEANUP(http_client_close) struct http_client kept;
    http_client_tcp(&kept, fixture->event, AF_INET, PORT);
    assert_asked(&kept, 200, "web", 2, true);

    want(fixture, "web", PORT + 1, 5, 0);
    assert_int_equal(health_ports_open(fixture->ports), 1);
    assert_refused(&everywhere, PORT);
    assert_told(fixture, AF_INET, PORT + 1, 200, "web", 5);
    http_client_ask(&kept, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    http_client_wait_closed(&kept);
    assert_int_equal(kept.received.length, 0);
}

static void services_can_swap_ports(void **state)
{
    struct fixture *fixture = *state;
    want(fixture, "a", PORT, 1, 0);
    want(fixture, "b", PORT + 1, 2, 0);
    struct nat_health_port both[] = {
        { .namespace = "shop", .name = "a", .port = PORT + 1, .ready_v4 = 1 },
        { .namespace = "shop", .name = "b", .port = PORT, .ready_v4 = 2 },
    };
    const nat_health_list list = { .items = both, .count = 2 };
    assert_int_equal(health_ports_want_all(fixture->ports, &list), 0);
    health_ports_sync(fixture->ports);
    assert_faults(fixture, "");
    assert_told(fixture, AF_INET, PORT + 1, 200, "a", 1);
    assert_told(fixture, AF_INET, PORT, 200, "b", 2);
}

static void what_is_not_wanted_is_closed(void **state)
{
    struct fixture *fixture = *state;
    struct nat_health_port one[] = {
        { .namespace = "shop", .name = "b", .port = PORT + 1, .ready_v4 = 9 },
    };
    const nat_health_list list = { .items = one, .count = 1 }, none = { 0 };
    want(fixture, "a", PORT, 1, 0);
    want(fixture, "b", PORT + 1, 1, 0);
    want(fixture, "c", PORT + 2, 1, 0);
    assert_int_equal(health_ports_want_all(fixture->ports, &list), 0);
    health_ports_sync(fixture->ports);
    assert_refused(&everywhere, PORT);
    assert_refused(&everywhere, PORT + 2);
    assert_told(fixture, AF_INET, PORT + 1, 200, "b", 9);

    health_ports_drop(fixture->ports, "shop", "a");
    health_ports_drop(fixture->ports, "shop", "b");
    assert_refused(&everywhere, PORT + 1);
    assert_int_equal(health_ports_want_all(fixture->ports, &none), 0);
    assert_int_equal(health_ports_open(fixture->ports), 0);
}

static void note_taken(void *context, const struct nat_health_port *port)
{
    text_addf(context, "%s/%s %u\n", port->namespace, port->name, port->port);
}

static void assert_taken(const struct fixture *fixture, const char *taken)
{
    AUTOTEXT struct text text = { 0 };
    health_ports_each_taken(fixture->ports, note_taken, &text);
    assert_string_equal(text_str(&text), taken);
}

static void a_taken_port_is_tried_again(void **state)
{
    struct fixture *fixture = *state;
    AUTOCLOSE int other = -1;
    assert_int_equal(tcp_listen(&loopback, PORT, TCP_ADDRESS_PRESENT, &other), 0);
    want(fixture, "web", PORT, 4, 0);
    want(fixture, "fine", PORT + 1, 1, 0);
    static const char fault[] =
        "Service shop/web: FailedToStartServiceHealthcheck: node node-1 can't serve port 30256 on "
        "all addresses: Address already in use "
        "[free the port, or give the Service another healthCheckNodePort]\n";
    assert_faults(fixture, fault);
    assert_taken(fixture, "shop/web 30256\n");
    assert_int_equal(health_ports_open(fixture->ports), 1);
    while (fixture->tries < 3)
        loop_step(fixture->event);
    assert_faults(fixture, fault);

    close(TAKE_FD(other));
    int tries = fixture->tries;
    while (fixture->tries == tries)
        loop_step(fixture->event);
    assert_faults(fixture, "");
    assert_taken(fixture, "");
    assert_told(fixture, AF_INET, PORT, 200, "web", 4);
    assert_told(fixture, AF_INET, PORT + 1, 200, "fine", 1);
    /* Nothing is left to be tried. */
    loop_settle(fixture->event);
    assert_int_equal(fixture->tries, tries + 1);
}

static void of_two_services_the_first_has_the_port(void **state)
{
    struct fixture *fixture = *state;
    want(fixture, "zoo", PORT, 1, 0);
    want(fixture, "app", PORT, 2, 0);
    assert_told(fixture, AF_INET, PORT, 200, "zoo", 1);
    assert_int_equal(health_ports_open(fixture->ports), 1);
    /* As soon as it goes the other one has it. */
    health_ports_drop(fixture->ports, "shop", "zoo");
    health_ports_sync(fixture->ports);
    assert_told(fixture, AF_INET, PORT, 200, "app", 2);
    assert_faults(fixture, "");
}

static void only_configured_addresses_are_served(void **state)
{
    struct fixture *fixture = *state;
    static const struct ip second = { .family = IP_V4, .bytes = { 127, 0, 0, 2 } };
    static const struct ip absent = { .family = IP_V4, .bytes = { 192, 0, 2, 1 } };
    static const struct ip v6 = { .family = IP_V6 };
    const struct ip some[] = { loopback, absent }, mixed[] = { second, v6 };
    CLEANUP(http_client_close) struct http_client kept;
    want(fixture, "web", PORT, 1, 1);
    http_client_tcp(&kept, fixture->event, AF_INET6, PORT);
    assert_asked(&kept, 200, "web", 1, true);

    assert_int_equal(health_ports_listen_on(fixture->ports, some, 2), 0);
    health_ports_sync(fixture->ports);
    assert_faults(fixture, "");
    assert_told(fixture, AF_INET, PORT, 200, "web", 1);
    assert_refused(&second, PORT);
    assert_refused(&v6, PORT);
    http_client_ask(&kept, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    http_client_wait_closed(&kept);
    assert_int_equal(kept.received.length, 0);

    assert_int_equal(health_ports_listen_on(fixture->ports, mixed, 2), 0);
    health_ports_sync(fixture->ports);
    assert_refused(&loopback, PORT);
    assert_told(fixture, AF_INET6, PORT, 200, "web", 1);
    /* Nowhere: as long as the node's addresses are not known. */
    assert_int_equal(health_ports_listen_on(fixture->ports, NULL, 0), 0);
    health_ports_sync(fixture->ports);
    assert_int_equal(health_ports_open(fixture->ports), 0);
    assert_faults(fixture, "");
    assert_refused(&everywhere, PORT);
}

/* On all addresses or on none. */
static void one_refused_address_spoils_the_port(void **state)
{
    struct fixture *fixture = *state;
    static const struct ip second = { .family = IP_V4, .bytes = { 127, 0, 0, 2 } };
    const struct ip both[] = { loopback, second };
    AUTOCLOSE int other = -1;
    assert_int_equal(tcp_listen(&second, PORT, TCP_ADDRESS_PRESENT, &other), 0);
    assert_int_equal(health_ports_listen_on(fixture->ports, both, 2), 0);
    want(fixture, "web", PORT, 1, 0);
    assert_refused(&loopback, PORT);
    assert_faults(fixture,
                  "Service shop/web: FailedToStartServiceHealthcheck: node node-1 can't serve port "
                  "30256 on 127.0.0.2: Address already in use "
                  "[free the port, or give the Service another healthCheckNodePort]\n");
}

/* More of them than the server holds: who asks is answered all the same. */
static void slow_clients_keep_nobody_out(void **state)
{
    enum { SLOW = 300 };
    struct fixture *fixture = *state;
    static struct http_client slow[SLOW];
    want(fixture, "web", PORT, 1, 0);
    for (int i = 0; i < SLOW; i++) {
        http_client_tcp(&slow[i], fixture->event, AF_INET, PORT);
        http_client_ask(&slow[i], "GET / HTTP/1.1\r\nHo");
        loop_settle(fixture->event);
    }
    for (int i = 0; i < 3; i++)
        assert_told(fixture, AF_INET, PORT, 200, "web", 1);
    for (int i = 0; i < SLOW; i++)
        http_client_close(&slow[i]);
}

static void malformed_requests_do_no_harm(void **state)
{
    static const char *const requests[] = { "\r\n", "GET\r\n\r\n", "\x80\x2e\x01\r\n\r\n",
                                            "GET / HTTP/9.9\r\n\r\n" };
    struct fixture *fixture = *state;
    want(fixture, "web", PORT, 1, 0);
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        CLEANUP(http_client_close) struct http_client client;
        http_client_tcp(&client, fixture->event, AF_INET, PORT);
        http_client_ask(&client, requests[i]);
        loop_settle(fixture->event); /* 0.9.75 sees no end that comes with the rest */
        shutdown(client.fd, SHUT_WR);
        http_client_wait_closed(&client);
        assert_null(strstr(text_str(&client.received), "localEndpoints"));
        assert_told(fixture, AF_INET, PORT, 200, "web", 1);
    }
}

static void thousands_are_cheap(void **state)
{
    enum { MANY = 3000 };
    struct fixture *fixture = *state;
    size_t before = open_descriptors();
    char names[MANY][8];
    static struct nat_health_port wanted[MANY];
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "s%04d", i);
        wanted[i] = (struct nat_health_port){
            .namespace = "shop", .name = names[i], .port = (uint16_t)(30000 + i), .ready_v4 = i
        };
    }
    const nat_health_list list = { .items = wanted, .count = MANY }, none = { 0 };
    assert_int_equal(health_ports_want_all(fixture->ports, &list), 0);
    health_ports_sync(fixture->ports);
    assert_faults(fixture, "");
    assert_int_equal(health_ports_open(fixture->ports), MANY);
    assert_int_equal(open_descriptors(), before + MANY); /* for both families */
    assert_told(fixture, AF_INET, 30001, 200, "s0001", 1);
    assert_told(fixture, AF_INET, 30000 + MANY - 1, 200, names[MANY - 1], MANY - 1);
    assert_told(fixture, AF_INET6, 30001, 503, "s0001", 0);
    assert_int_equal(health_ports_want_all(fixture->ports, &none), 0);
    assert_int_equal(health_ports_open(fixture->ports), 0);
    loop_settle(fixture->event);
}

/* The rest of the agent has to open files. */
static void some_descriptors_stay_free(void **state)
{
    struct fixture *fixture = *state;
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){ .rlim_cur = 512 + open_descriptors() + 5, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    for (int i = 0; i < 20; i++) {
        AUTOFREE char *name = text_format("s%02d", i);
        want(fixture, name, (uint16_t)(PORT + i), 1, 0);
    }
    assert_in_range(health_ports_open(fixture->ports), 1, 10);
    AUTOFAULTS struct faults faults = { 0 };
    health_ports_faults(fixture->ports, "node-1", &faults);
    assert_int_equal(faults.list.count, 20 - health_ports_open(fixture->ports));
    assert_string_equal(faults.list.items[0].remedy, "raise LimitNOFILE= of agentd.service");

    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    while (health_ports_open(fixture->ports) < 20)
        loop_step(fixture->event);
    assert_faults(fixture, "");
}

static void memory_may_run_out(void **state)
{
    struct fixture *fixture = *state;
    const struct nat_health_port port = {
        .namespace = "shop", .name = "web", .port = PORT, .ready_v4 = 1
    };
    int failures = 0;
    for (int n = 0;; n++) {
        int r = with_heap(n, health_ports_want(fixture->ports, &port));
        assert_true(r == 0 || (r == -ENOMEM && heap_missed));
        failures += r < 0;
        if (!heap_missed)
            break;
    }
    assert_true(failures >= 4); /* the Service, two names, the table */

    /* What is missing at the first sync is there after a retry. */
    heap_left = 0;
    health_ports_sync(fixture->ports);
    heap_left = -1;
    assert_int_equal(health_ports_open(fixture->ports), 0);
    while (health_ports_open(fixture->ports) == 0)
        loop_step(fixture->event);
    assert_told(fixture, AF_INET, PORT, 200, "web", 1);
}

int main(void)
{
    struct rlimit limit;
    if (unshare(CLONE_NEWNET) < 0) {
        printf("1..0 # SKIP no privilege to make network namespaces\n");
        return 0;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = MIN(limit.rlim_max, (rlim_t)8192);
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_bytes_are_kube_proxys, setup, teardown),
        cmocka_unit_test_setup_teardown(status_is_of_endpoints_and_proxy, setup, teardown),
        cmocka_unit_test_setup_teardown(any_method_will_do, setup, teardown),
        cmocka_unit_test_setup_teardown(families_are_counted_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(another_port_replaces_the_old, setup, teardown),
        cmocka_unit_test_setup_teardown(services_can_swap_ports, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_wanted_is_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_taken_port_is_tried_again, setup, teardown),
        cmocka_unit_test_setup_teardown(of_two_services_the_first_has_the_port, setup, teardown),
        cmocka_unit_test_setup_teardown(only_configured_addresses_are_served, setup, teardown),
        cmocka_unit_test_setup_teardown(one_refused_address_spoils_the_port, setup, teardown),
        cmocka_unit_test_setup_teardown(slow_clients_keep_nobody_out, setup, teardown),
        cmocka_unit_test_setup_teardown(malformed_requests_do_no_harm, setup, teardown),
        cmocka_unit_test_setup_teardown(thousands_are_cheap, setup, teardown),
        cmocka_unit_test_setup_teardown(some_descriptors_stay_free, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_run_out, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
