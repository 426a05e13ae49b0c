// SPDX-License-Identifier: Apache-2.0
/*
 * DogStatsD over UDP; see export_statsd.h. Owned by controller/export_job.c.
 *
 * The host's name is resolved once, at the start, as kube-service-exporter does it. The socket is
 * connected and does not block; what the kernel does not take at once is dropped.
 */
#include "controller/export_statsd.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/text.h"

struct export_statsd {
    const struct export_config *config;
    int fd; /* -1: nothing is sent */
};

/* Cuts "HOST:PORT", or "[HOST]:PORT", in place. */
static void cut_address(char *address, const char **ret_host, const char **ret_port)
{
    char *colon = strrchr(address, ':');
    *ret_host = address;
    *ret_port = "8125";
    if (colon && colon[1]) {
        *colon = '\0';
        *ret_port = colon + 1;
    }
    if (*address == '[') {
        *ret_host = address + 1;
        address[strcspn(address, "]")] = '\0';
    }
}

static int connect_to(const struct addrinfo *list)
{
    for (const struct addrinfo *at = list; at; at = at->ai_next) {
        int fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0)
            return fd;
        if (fd >= 0)
            (void)close(fd);
    }
    return -1;
}

static int open_socket(struct export_statsd *statsd, struct faults *faults)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
    struct addrinfo *list = NULL;
    const char *host, *port;
    AUTOFREE char *address = strdup(statsd->config->statsd.address);
    if (!address)
        return -ENOMEM;
    cut_address(address, &host, &port);
    int error = getaddrinfo(host, port, &hints, &list);
    if (error == 0) {
        statsd->fd = connect_to(list);
        freeaddrinfo(list);
    }
    if (statsd->fd < 0)
        faults_add(faults, "consul.dogstatsd.address", "correct it, and reload the controller",
                   "no metrics are sent to %s: %s", statsd->config->statsd.address,
                   error ? gai_strerror(error) : "there is no way to it");
    return 0;
}

int export_statsd_new(const struct export_config *config, struct export_statsd **ret_statsd,
                      struct faults *faults)
{
    CLEANUP(export_statsd_freep) struct export_statsd *statsd = calloc(1, sizeof(*statsd));
    if (!statsd)
        return -ENOMEM;
    statsd->config = config;
    statsd->fd = -1;
    int r = config->statsd.address ? open_socket(statsd, faults) : 0;
    if (r < 0)
        return r;
    *ret_statsd = TAKE_PTR(statsd);
    return 0;
}

void export_statsd_free(struct export_statsd *statsd)
{
    if (!statsd)
        return;
    if (statsd->fd >= 0)
        (void)close(statsd->fd);
    free(statsd);
}

static void send_metric(struct export_statsd *statsd, const char *name, uint64_t value,
                        const char *type, const char *tags)
{
    AUTOTEXT struct text line = { 0 };
    const char *before = "|#";
    if (statsd->fd < 0)
        return;
    text_addf(&line, "kube-service-exporter.%s:%" PRIu64 "|%s", name, value, type);
    vec_each(char *, tag, &statsd->config->statsd.tags) {
        text_addf(&line, "%s%s", before, *tag);
        before = ",";
    }
    if (*tags)
        text_addf(&line, "%s%s", before, tags);
    if (text_error(&line) == 0)
        (void)send(statsd->fd, text_str(&line), line.length, MSG_NOSIGNAL);
}

void export_statsd_count(struct export_statsd *statsd, const char *name, uint64_t value,
                         const char *tags)
{
    if (value > 0)
        send_metric(statsd, name, value, "c", tags);
}

void export_statsd_gauge(struct export_statsd *statsd, const char *name, uint64_t value)
{
    send_metric(statsd, name, value, "g", "");
}

void export_statsd_time(struct export_statsd *statsd, const char *name, uint64_t ms,
                        const char *tags)
{
    send_metric(statsd, name, ms, "ms", tags);
}
