// SPDX-License-Identifier: Apache-2.0
/*
 * Health ports over the loopback of a network namespace: the bytes that kube-proxy sends, changes,
 * ports that others have.
 */
#include "health_ports_lab.h"

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

int main(void)
{
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
