// SPDX-License-Identifier: Apache-2.0
/*
 * /healthz and /livez over the loopback of a network namespace, byte by byte. Both clocks can be
 * set (the linker wraps them), so that nothing has to wait for a minute.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "../loop/http_client.h"
#include "../plan/nat_planning.h"
#include "base/clock.h"
#include "health/health.h"
#include "loop/tcp.h"

#define WALL_MS INT64_C(1795160000120) /* 2026-11-20T07:33:20.12Z */
#define NOW     "2026-11-20T07:33:20.12Z"
#define BEFORE  "2026-11-20T07:33:20Z"

enum { PORT = 10256 };

struct fixture {
    sd_event *event;
    struct planning planning;
    struct status status;
    struct health *health;
};

static int64_t mono_ms, wall_ms;

int64_t __wrap_clock_mono_ms(void);
int64_t __wrap_clock_wall_ms(void);

int64_t __wrap_clock_mono_ms(void)
{
    return mono_ms;
}

int64_t __wrap_clock_wall_ms(void)
{
    return wall_ms;
}

static void set_endpoint(struct fixture *fixture, const char *endpoint)
{
    struct config *config = fixture->planning.config;
    free(config->services.healthz);
    config->services.healthz = strdup(endpoint);
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    if (!fixture || unshare(CLONE_NEWNET) < 0 || system("ip link set lo up") != 0)
        return -1;
    mono_ms = 1000000;
    wall_ms = WALL_MS;
    assert_int_equal(sd_event_new(&fixture->event), 0);
    planning_begin(&fixture->planning);
    fixture->planning.config->services.enabled = true;
    fixture->status = (struct status){ .node = "node-1", .faults = fault_book_new() };
    const struct health_options options = {
        .event = fixture->event,
        .config = fixture->planning.config,
        .status = &fixture->status,
    };
    assert_int_equal(health_new(&options, &fixture->health), 0);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    health_free(fixture->health);
    planning_done(&fixture->planning);
    fault_book_free(fixture->status.faults);
    sd_event_unref(fixture->event);
    free(fixture);
    return 0;
}

static void assert_answer_of(struct fixture *fixture, int family, const char *path, int status,
                             const char *body)
{
    CLEANUP(http_client_close) struct http_client client;
    CLEANUP(http_answer_done) struct http_answer answer;
    AUTOFREE char *request = text_format("GET %s HTTP/1.1\r\nHost: node\r\n\r\n", path);
    http_client_tcp(&client, fixture->event, family, PORT);
    http_client_ask(&client, request);
    http_client_read(&client, false, &answer);
    assert_string_equal(answer.body, body);
    assert_int_equal(answer.status, status);
    assert_non_null(strstr(answer.head, "\r\nX-Content-Type-Options: nosniff\r\n"));
    assert_non_null(strstr(answer.head, status == 404
                                            ? "\r\nContent-Type: text/plain; charset=utf-8\r\n"
                                            : "\r\nContent-Type: application/json\r\n"));
}

static void assert_answer(struct fixture *fixture, const char *path, int status, const char *body)
{
    assert_answer_of(fixture, AF_INET, path, status, body);
}

/* As tools ask kube-proxy for it: only where it is asked for, and gone again with its setting. */
static void the_mode_is_told_where_it_is_wanted(void **state)
{
    struct fixture *fixture = *state;
    struct config *config = fixture->planning.config;
    const char *mode = "services.proxyModeListen";
    set_endpoint(fixture, "127.0.0.1:10249");
    config->services.proxy_mode = strdup("127.0.0.1:10256"); /* where the other one was */
    assert_int_equal(health_configure(fixture->health, config), 0);
    CLEANUP(http_client_close) struct http_client client;
    CLEANUP(http_answer_done) struct http_answer answer;
    http_client_tcp(&client, fixture->event, AF_INET, PORT);
    http_client_ask(&client, "GET /proxyMode HTTP/1.1\r\nHost: node\r\n\r\n");
    http_client_read(&client, false, &answer);
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer.body, "nftables");
    assert_non_null(strstr(answer.head, "\r\nContent-Type: text/plain; charset=utf-8\r\n"));
    assert_answer(fixture, "/healthz", 404, "404 page not found\n");

    free(config->services.proxy_mode);
    config->services.proxy_mode = strdup("127.0.0.1:10249"); /* /healthz has it */
    assert_int_equal(health_configure(fixture->health, config), 0);
    const struct known_fault *fault =
        fault_book_find(fixture->status.faults, "services", "proxyMode");
    assert_non_null(fault);
    assert_string_equal(fault->place, mode);
    free(TAKE_PTR(config->services.proxy_mode));
    assert_int_equal(health_configure(fixture->health, config), 0);
    assert_null(fault_book_find(fixture->status.faults, "services", "proxyMode"));
}

static void put_marked_node(struct fixture *fixture, const char *metadata, const char *spec)
{
    AUTOFREE char *yaml = text_format("apiVersion: v1\nkind: Node\nmetadata: {name: node-1%s}\n"
                                      "spec: %s\n",
                                      metadata, spec);
    put(&fixture->planning, yaml);
    assert_int_equal(health_set_node(fixture->health, &fixture->planning.facts), 0);
}

/* Everything was applied at BEFORE, and it is NOW. */
static void settle(struct fixture *fixture)
{
    wall_ms = WALL_MS - 120;
    health_applied(fixture->health, IP_V4);
    health_applied(fixture->health, IP_V6);
    wall_ms = WALL_MS;
}

#define STATUS(v4, v6)                                                     \
    "\"status\":{\"IPv4\":{\"lastUpdated\":\"" BEFORE "\",\"healthy\":" v4 \
    "},\"IPv6\":{\"lastUpdated\":\"" BEFORE "\",\"healthy\":" v6 "}}"
#define TIMES(updated) "{\"lastUpdated\":\"" updated "\",\"currentTime\":\"" NOW "\","

static void while_it_starts_it_is_healthy(void **state)
{
    struct fixture *fixture = *state;
    assert_answer(fixture, "/healthz", 200, TIMES(NOW) "\"nodeEligible\":true,\"healthy\":true}");
    assert_answer(fixture, "/livez", 200, TIMES(NOW) "\"healthy\":true}");
    /* However long the first pass takes. */
    health_queued(fixture->health, IP_V4);
    mono_ms += 10 * MINUTE_MS;
    assert_answer(fixture, "/livez", 200, TIMES(NOW) "\"healthy\":true}");
    assert_int_equal(fixture->status.health.healthz.ok, 1);
    assert_int_equal(fixture->status.health.livez.ok, 2);
    assert_int_equal(fixture->status.health.livez.unavailable, 0);
}

static void a_late_family_makes_the_whole_unhealthy(void **state)
{
    struct fixture *fixture = *state;
    settle(fixture);
    assert_answer(fixture, "/livez", 200,
                  TIMES(NOW) "\"healthy\":true," STATUS("true", "true") "}");
    mono_ms += 10 * MINUTE_MS; /* nothing to do is not late */
    health_queued(fixture->health, IP_V6);
    mono_ms += MINUTE_MS - 1;
    health_queued(fixture->health, IP_V6); /* the first counts */
    assert_answer(fixture, "/livez", 200,
                  TIMES(NOW) "\"healthy\":true," STATUS("true", "true") "}");
    assert_true(health_is_healthy(fixture->health));
    mono_ms += 1;
    assert_false(health_is_healthy(fixture->health));
    assert_answer(fixture, "/livez", 503,
                  TIMES(BEFORE) "\"healthy\":false," STATUS("true", "false") "}");
    assert_answer(
        fixture, "/healthz", 503,
        TIMES(BEFORE) "\"nodeEligible\":true,\"healthy\":false," STATUS("true", "false") "}");
    settle(fixture);
    assert_answer(fixture, "/livez", 200,
                  TIMES(NOW) "\"healthy\":true," STATUS("true", "true") "}");
    assert_int_equal(fixture->status.health.livez.ok, 3);
    assert_int_equal(fixture->status.health.livez.unavailable, 1);
    assert_int_equal(fixture->status.health.healthz.unavailable, 1);
}

static void packets_that_go_shadowed_count_at_once(void **state)
{
    struct fixture *fixture = *state;
    health_set_works(fixture->health, IP_V4, false);
    assert_answer(fixture, "/livez", 503,
                  "{\"lastUpdated\":\"0001-01-01T00:00:00Z\",\"currentTime\":\"" NOW
                  "\",\"healthy\":false,\"status\":{\"IPv4\":{\"lastUpdated\":"
                  "\"0001-01-01T00:00:00Z\",\"healthy\":false}}}");
    settle(fixture);
    assert_answer(fixture, "/livez", 503,
                  TIMES(BEFORE) "\"healthy\":false," STATUS("false", "true") "}");
    health_set_works(fixture->health, IP_V4, true);
    assert_answer(fixture, "/livez", 200,
                  TIMES(NOW) "\"healthy\":true," STATUS("true", "true") "}");
}

/* The node's fate is for /healthz alone; "healthy" in its body stays the proxy's. */
static void a_node_that_is_to_go_is_not_eligible(void **state)
{
    static const struct {
        const char *metadata, *spec;
        bool eligible;
    } cases[] = {
        { "", "{}", true },
        { "", "{unschedulable: true}", true },
        { "", "{taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}", true },
        { "", "{taints: [{key: ToBeDeletedByClusterAutoscaler, effect: NoSchedule}]}", false },
        { "", "{}", true },
        { "", "{taints: [{key: ToBeDeletedByClusterAutoscaler, effect: PreferNoSchedule}]}",
          false },
        { ", deletionTimestamp: \"2026-11-20T07:33:00Z\"", "{}", false },
    };
    struct fixture *fixture = *state;
    settle(fixture);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        put_marked_node(fixture, cases[i].metadata, cases[i].spec);
        if (cases[i].eligible)
            assert_answer(
                fixture, "/healthz", 200,
                TIMES(NOW) "\"nodeEligible\":true,\"healthy\":true," STATUS("true", "true") "}");
        else
            assert_answer(fixture, "/healthz", 503,
                          TIMES(BEFORE) "\"nodeEligible\":false,\"healthy\":true," STATUS(
                              "true", "true") "}");
        assert_answer(fixture, "/livez", 200,
                      TIMES(NOW) "\"healthy\":true," STATUS("true", "true") "}");
        assert_true(health_is_healthy(fixture->health)); /* what health ports go by */
    }
}

static void a_node_that_was_there_is_missed(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(health_set_node(fixture->health, &fixture->planning.facts), 0);
    assert_answer(fixture, "/healthz", 200, TIMES(NOW) "\"nodeEligible\":true,\"healthy\":true}");
    put_marked_node(fixture, "", "{}");
    assert_true(store_remove(fixture->planning.store, "t", KIND_NODE, "", "node-1") >= 0);
    assert_int_equal(health_set_node(fixture->health, &fixture->planning.facts), 0);
    assert_answer(fixture, "/healthz", 503,
                  "{\"lastUpdated\":\"0001-01-01T00:00:00Z\",\"currentTime\":\"" NOW
                  "\",\"nodeEligible\":false,\"healthy\":true}");
    put_marked_node(fixture, "", "{}");
    assert_answer(fixture, "/healthz", 200, TIMES(NOW) "\"nodeEligible\":true,\"healthy\":true}");
}

static void other_paths_are_not_found(void **state)
{
    static const char *const paths[] = { "/", "/healthz/", "/livez/x", "/metrics", "/Healthz" };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_answer(fixture, paths[i], 404, "404 page not found\n");
    assert_answer(fixture, "/livez?verbose", 200, TIMES(NOW) "\"healthy\":true}");
    assert_int_equal(fixture->status.health.livez.ok, 1);
}

/* As Go writes them. */
static void times_lose_their_zeros(void **state)
{
    static const struct {
        int64_t wall_ms;
        const char *text;
    } cases[] = {
        { 1795160000000, "2026-11-20T07:33:20Z" },
        { 1795160000001, "2026-11-20T07:33:20.001Z" },
        { 1795160000010, "2026-11-20T07:33:20.01Z" },
        { 1795160000100, "2026-11-20T07:33:20.1Z" },
        { 1795160000999, "2026-11-20T07:33:20.999Z" },
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        wall_ms = cases[i].wall_ms;
        AUTOFREE char *body =
            text_format("{\"lastUpdated\":\"%s\",\"currentTime\":\"%s\",\"healthy\":true}",
                        cases[i].text, cases[i].text);
        assert_answer(fixture, "/livez", 200, body);
    }
}

static void assert_faults(const struct fixture *fixture, const char *expected)
{
    AUTOTEXT struct text out = { 0 };
    for (size_t i = 0; i < fault_book_count(fixture->status.faults); i++) {
        const struct known_fault *fault = fault_book_at(fixture->status.faults, i);
        text_addf(&out, "%s: %s: %s\n", fault->subsystem, fault->place, fault->message);
    }
    assert_string_equal(text_str(&out), expected);
}

static void a_reload_moves_it(void **state)
{
    struct fixture *fixture = *state;
    const struct config *config = fixture->planning.config;
    static const struct ip everywhere = { .family = IP_NONE };
    assert_answer_of(fixture, AF_INET6, "/livez", 200, TIMES(NOW) "\"healthy\":true}");
    set_endpoint(fixture, "127.0.0.2:10256");
    assert_int_equal(health_configure(fixture->health, config), 0);
    AUTOCLOSE int free_again = -1;
    assert_int_equal(
        tcp_listen(&(struct ip){ .family = IP_V6 }, PORT, TCP_ADDRESS_PRESENT, &free_again), 0);
    set_endpoint(fixture, "127.0.0.1:10256");
    assert_int_equal(health_configure(fixture->health, config), 0);
    assert_answer(fixture, "/livez", 200, TIMES(NOW) "\"healthy\":true}");

    fixture->planning.config->services.enabled = false;
    assert_int_equal(health_configure(fixture->health, config), 0);
    close(TAKE_FD(free_again));
    assert_int_equal(tcp_listen(&everywhere, PORT, TCP_ADDRESS_PRESENT, &free_again), 0);
    /* Calls that come all the same do nothing. */
    assert_int_equal(health_set_rows(fixture->health, &(struct sorted)SORTED(void *, NULL)), 0);
    health_sync(fixture->health);
    close(TAKE_FD(free_again));
    fixture->planning.config->services.enabled = true;
    assert_int_equal(health_configure(fixture->health, config), 0);
    assert_answer(fixture, "/livez", 200, TIMES(NOW) "\"healthy\":true}");
    assert_faults(fixture, "");
}

static void a_taken_address_is_a_fault(void **state)
{
    struct fixture *fixture = *state;
    static const struct ip everywhere = { .family = IP_NONE };
    AUTOCLOSE int other = -1;
    assert_int_equal(tcp_listen(&everywhere, 10257, TCP_ADDRESS_PRESENT, &other), 0);
    set_endpoint(fixture, "0.0.0.0:10257");
    assert_int_equal(health_configure(fixture->health, fixture->planning.config), 0);
    assert_faults(fixture, "services: services.healthz: can't serve /healthz and /livez on "
                           "0.0.0.0:10257: Address already in use\n");
    assert_string_equal(known_fault_code(fault_book_at(fixture->status.faults, 0)),
                        "health-address-unserved");
    close(TAKE_FD(other));
    while (fault_book_count(fixture->status.faults) > 0)
        loop_step(fixture->event);
    assert_int_equal(tcp_listen(&everywhere, 10257, TCP_ADDRESS_PRESENT, &other), -EADDRINUSE);
    other = -1;
}

#define LOCAL "externalTrafficPolicy: Local, healthCheckNodePort: %d, ports: [{name: h, port: 80}]"

static void put_local(struct fixture *fixture, const char *name, const char *address, int port)
{
    AUTOFREE char *spec = text_format(LOCAL, port);
    put_served(&fixture->planning, name, "LoadBalancer", address, spec, "");
}

static void set_rows(struct fixture *fixture)
{
    struct sorted rows;
    assert_int_equal(plan_nat(&fixture->planning.facts, &rows, &fixture->planning.faults), 0);
    assert_int_equal(health_set_rows(fixture->health, &rows), 0);
    nat_rows_done(&rows); /* nothing of them is kept */
    health_sync(fixture->health);
}

static void assert_port(struct fixture *fixture, unsigned port, int status, const char *rest)
{
    CLEANUP(http_client_close) struct http_client client;
    CLEANUP(http_answer_done) struct http_answer answer;
    http_client_tcp(&client, fixture->event, AF_INET, port);
    http_client_ask(&client, "GET / HTTP/1.1\r\nHost: node\r\n\r\n");
    http_client_read(&client, false, &answer);
    assert_int_equal(answer.status, status);
    assert_non_null(strstr(answer.body, rest));
}

static void health_ports_follow_the_rows(void **state)
{
    struct fixture *fixture = *state;
    struct planning *planning = &fixture->planning;
    put_local(fixture, "web", "10.96.0.1", 30256);
    put_local(fixture, "other", "10.96.0.2", 30257);
    put_slice(planning, "web-1",
              "{addresses: [10.0.0.1], nodeName: node-1, conditions: {ready: true}}");
    assert_int_equal(health_set_node(fixture->health, &planning->facts), 0);
    set_rows(fixture);
    assert_port(fixture, 30256, 200, "\"name\": \"web\"\n\t},\n\t\"localEndpoints\": 1,");
    assert_port(fixture, 30257, 503, "\"localEndpoints\": 0,\n\t\"serviceProxyHealthy\": true");
    /* The taint is nothing to them. */
    put_marked_node(fixture, "", "{taints: [{key: ToBeDeletedByClusterAutoscaler}]}");
    assert_port(fixture, 30256, 200, "\"serviceProxyHealthy\": true");
    settle(fixture);
    health_queued(fixture->health, IP_V6);
    mono_ms += MINUTE_MS;
    assert_port(fixture, 30256, 503, "\"localEndpoints\": 1,\n\t\"serviceProxyHealthy\": false");
    settle(fixture);

    /* One row: another port, then no health port, then gone. */
    put_local(fixture, "web", "10.96.0.1", 30258);
    AUTONAT struct nat_row *row = nat_of(planning, "web");
    assert_int_equal(health_set_row(fixture->health, row), 0);
    health_sync(fixture->health);
    assert_port(fixture, 30258, 200, "\"name\": \"web\"");
    row->health_check_node_port = 0;
    assert_int_equal(health_set_row(fixture->health, row), 0);
    health_drop_row(fixture->health, "d", "other");
    health_drop_row(fixture->health, "d", "nobody");
    health_sync(fixture->health);
    for (uint16_t port = 30256; port <= 30258; port++) {
        AUTOCLOSE int fd = -1;
        assert_int_equal(
            tcp_listen(&(struct ip){ .family = IP_NONE }, port, TCP_ADDRESS_PRESENT, &fd), 0);
    }
    assert_faults(fixture, "");
}

static void a_taken_port_is_a_fault_on_the_service(void **state)
{
    struct fixture *fixture = *state;
    put_local(fixture, "web", "10.96.0.1", PORT);
    assert_int_equal(health_set_node(fixture->health, &fixture->planning.facts), 0);
    set_rows(fixture);
    assert_faults(fixture, "services: Service d/web: FailedToStartServiceHealthcheck: node node-1 "
                           "can't serve port 10256 on all addresses: Address already in use\n");
    assert_answer(fixture, "/livez", 200, TIMES(NOW) "\"healthy\":true}");
    put_local(fixture, "web", "10.96.0.1", 30256);
    set_rows(fixture);
    assert_faults(fixture, "");
    assert_port(fixture, 30256, 503, "\"localEndpoints\": 0");
}

int main(void)
{
    if (unshare(CLONE_NEWNET) < 0) {
        printf("1..0 # SKIP no privilege to make network namespaces\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_mode_is_told_where_it_is_wanted, setup, teardown),
        cmocka_unit_test_setup_teardown(while_it_starts_it_is_healthy, setup, teardown),
        cmocka_unit_test_setup_teardown(a_late_family_makes_the_whole_unhealthy, setup, teardown),
        cmocka_unit_test_setup_teardown(packets_that_go_shadowed_count_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_that_is_to_go_is_not_eligible, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_that_was_there_is_missed, setup, teardown),
        cmocka_unit_test_setup_teardown(other_paths_are_not_found, setup, teardown),
        cmocka_unit_test_setup_teardown(times_lose_their_zeros, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reload_moves_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_taken_address_is_a_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(health_ports_follow_the_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(a_taken_port_is_a_fault_on_the_service, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
