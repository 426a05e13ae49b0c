// SPDX-License-Identifier: Apache-2.0
/* See endpoint.h. health.c has one for /healthz and /livez, and one for /proxyMode; the agent has
 * one for api.listen. */
#include "health/endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "faults/health.h"
#include "faults/raise.h"
#include "loop/backoff.h"
#include "loop/tcp.h"
#include "loop/timer.h"

static const struct http_limits limits = { .connections = 64, .silence_s = 10, .memory = 8192 };

struct endpoint {
    struct endpoint_options options;
    char *address;
    struct http_server *server;
    int socket; /* -1: not had */
    struct timer *retry;
    struct backoff backoff;
};

/* 0.0.0.0 means the same as in Go: every address, of both families. */
static int listen_at(const char *address, int *ret_fd)
{
    struct ip ip;
    uint16_t port;
    int r = tcp_endpoint_parse(address, &ip, &port);
    if (r < 0)
        return r;
    const struct ip any = { .family = ip.family };
    if (ip_equal(&ip, &any))
        ip.family = IP_NONE;
    return tcp_listen(&ip, port, TCP_ADDRESS_PRESENT, ret_fd);
}

static const char *remedy_of(const struct endpoint_options *options, int error)
{
    switch (error) {
    case -EADDRINUSE:
        return options->taken;
    case -EADDRNOTAVAIL:
        return "name an address of this machine, or give an interface this one (ip addr)";
    case -EACCES:
        return "name a port from 1024 on, or give agentd CAP_NET_BIND_SERVICE";
    default:
        return NULL;
    }
}

static void tell(const struct endpoint_options *options, const char *address, int error)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (error < 0)
        fault_raise(&faults, options->setting, health_address_unserved, .what = options->what,
                    .address = address, .reason = strerror(-error),
                    .remedy = remedy_of(options, error));
    (void)fault_book_replace(options->faults, options->subsystem, options->group, &faults,
                             clock_wall_ms());
}

static void try_to_open(void *context)
{
    struct endpoint *endpoint = context;
    AUTOCLOSE int fd = -1;
    int r = listen_at(endpoint->address, &fd);
    if (r == 0)
        r = http_server_add(endpoint->server, fd);
    if (r == 0)
        endpoint->socket = TAKE_FD(fd);
    else
        timer_arm(endpoint->retry, backoff_next(&endpoint->backoff));
    tell(&endpoint->options, endpoint->address, r);
}

void endpoint_free(struct endpoint *endpoint)
{
    if (!endpoint)
        return;
    http_server_free(endpoint->server);
    closep(&endpoint->socket);
    timer_free(endpoint->retry);
    free(endpoint->address);
    free(endpoint);
}
DEFINE_CLEANUP(struct endpoint *, endpoint_free);

static int make(const struct endpoint_options *options, const char *address,
                struct endpoint **ret_endpoint)
{
    CLEANUP(endpoint_freep) struct endpoint *endpoint = calloc(1, sizeof(*endpoint));
    if (!endpoint)
        return -ENOMEM;
    endpoint->options = *options;
    endpoint->socket = -1;
    endpoint->backoff = (struct backoff){ .initial_ms = SECOND_MS, .max_ms = MINUTE_MS };
    endpoint->address = strdup(address);
    if (!endpoint->address)
        return -ENOMEM;
    const struct http_service service = { .handle = options->handle,
                                          .context = options->context,
                                          .limits = &limits };
    int r = http_server_new(options->event, &service, &endpoint->server);
    if (r < 0)
        return r;
    r = timer_new(options->event, 0, try_to_open, endpoint, &endpoint->retry);
    if (r < 0)
        return r;
    try_to_open(endpoint);
    *ret_endpoint = TAKE_PTR(endpoint);
    return 0;
}

int endpoint_serve(struct endpoint **endpoint, const struct endpoint_options *options,
                   const char *address)
{
    if (*endpoint && address && strcmp((*endpoint)->address, address) == 0)
        return 0;
    bool served = *endpoint != NULL;
    endpoint_free(TAKE_PTR(*endpoint)); /* its port may be needed again */
    if (address)
        return make(options, address, endpoint);
    if (served)
        tell(options, "", 0);
    return 0;
}
