// SPDX-License-Identifier: Apache-2.0
/* Health ports in a crowd: slow and malformed clients, thousands of ports, want of descriptors and
 * memory. */
#include <errno.h>
#include <sys/resource.h>

#include "../failing_heap.h"
#include "health_ports_lab.h"

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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slow_clients_keep_nobody_out, setup, teardown),
        cmocka_unit_test_setup_teardown(malformed_requests_do_no_harm, setup, teardown),
        cmocka_unit_test_setup_teardown(thousands_are_cheap, setup, teardown),
        cmocka_unit_test_setup_teardown(some_descriptors_stay_free, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_run_out, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
