/* SPDX-License-Identifier: Apache-2.0 */
/* Health ports on the loopback of a network namespace, and a client that holds every byte against
 * what kube-proxy sends. */
#pragma once

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

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

static inline bool is_healthy(void *context)
{
    return !((struct fixture *)context)->unhealthy;
}

static inline void on_tried(void *context)
{
    ((struct fixture *)context)->tries++;
}

static inline int setup(void **state)
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

static inline int teardown(void **state)
{
    struct fixture *fixture = *state;
    health_ports_free(fixture->ports);
    sd_event_unref(fixture->event);
    free(fixture);
    return 0;
}

static inline void want(struct fixture *fixture, const char *name, uint16_t port, int64_t v4,
                        int64_t v6)
{
    const struct nat_health_port wanted = {
        .namespace = "shop", .name = name, .port = port, .ready_v4 = v4, .ready_v6 = v6
    };
    assert_int_equal(health_ports_want(fixture->ports, &wanted), 0);
    health_ports_sync(fixture->ports);
}

static inline char *body_of(const char *name, int count, bool healthy)
{
    return text_format("{\n\t\"service\": {\n\t\t\"namespace\": \"shop\",\n\t\t\"name\": \"%s\"\n"
                       "\t},\n\t\"localEndpoints\": %d,\n\t\"serviceProxyHealthy\": %s\n}",
                       name, count, healthy ? "true" : "false");
}

/* Asks on an open connection, and holds the answer against every byte that it should have. */
static inline void assert_asked(struct http_client *client, int status, const char *name, int count,
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

static inline void assert_told(struct fixture *fixture, int family, unsigned port, int status,
                               const char *name, int count)
{
    CLEANUP(http_client_close) struct http_client client;
    http_client_tcp(&client, fixture->event, family, port);
    assert_asked(&client, status, name, count, !fixture->unhealthy);
}

static inline void assert_refused(const struct ip *ip, unsigned port)
{
    AUTOCLOSE int fd = -1; /* nobody has the port: it can be had */
    assert_int_equal(tcp_listen(ip, (uint16_t)port, TCP_ADDRESS_PRESENT, &fd), 0);
}

static inline void assert_faults(const struct fixture *fixture, const char *expected)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text out = { 0 };
    health_ports_faults(fixture->ports, "node-1", &faults);
    vec_each(const struct fault, fault, &faults.list)
        text_addf(&out, "%s: %s [%s]\n", fault->place, fault->message,
                  fault->remedy ? fault->remedy : "");
    assert_string_equal(text_str(&out), expected);
}
