// SPDX-License-Identifier: Apache-2.0
/*
 * DogStatsD over UDP; see statsd.h. Owned by controller/export/export_statsd.c, and by
 * report/consul_keeper.c for what each node registers.
 *
 * The host's name is resolved once, at the start, as kube-service-exporter does it. The socket is
 * connected and non-blocking; a datagram that the kernel does not accept at once is dropped. A
 * datagram is no longer than what DogStatsD's clients send by default, which fits into any Ethernet
 * frame.
 */
#include "client/consul/statsd.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/text.h"
#include "faults/export.h"
#include "faults/raise.h"

#define PREFIX "kube-service-exporter."

enum { DATAGRAM_MAX = 1432 }; /* bytes */

struct statsd {
    struct statsd_options options;
    struct text lines; /* that are not sent yet */
    int fd;            /* -1: nothing is sent */
};

/* Splits "HOST:PORT", or "[HOST]:PORT", in place. */
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

static int open_socket(struct statsd *statsd, struct faults *faults)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
    struct addrinfo *list = NULL;
    const char *host, *port;
    AUTOFREE char *address = strdup(statsd->options.address);
    if (!address)
        return -ENOMEM;
    cut_address(address, &host, &port);
    int error = getaddrinfo(host, port, &hints, &list);
    if (error == 0) {
        statsd->fd = connect_to(list);
        freeaddrinfo(list);
    }
    if (statsd->fd < 0)
        fault_raise(faults, "consul.dogstatsd.address", export_metrics_unsent,
                    .address = statsd->options.address,
                    .reason = error ? gai_strerror(error) : "there is no way to it");
    return 0;
}

int statsd_new(const struct statsd_options *options, struct statsd **ret_statsd,
               struct faults *faults)
{
    CLEANUP(statsd_freep) struct statsd *statsd = calloc(1, sizeof(*statsd));
    if (!statsd)
        return -ENOMEM;
    statsd->options = *options;
    statsd->fd = -1;
    int r = options->address ? open_socket(statsd, faults) : 0;
    if (r < 0)
        return r;
    *ret_statsd = TAKE_PTR(statsd);
    return 0;
}

void statsd_free(struct statsd *statsd)
{
    if (!statsd)
        return;
    statsd_flush(statsd);
    if (statsd->fd >= 0)
        (void)close(statsd->fd);
    text_done(&statsd->lines);
    free(statsd);
}

/*
 * Ids may contain text from annotations, which must not be able to begin another tag or another
 * metric.
 */
static void add_value(struct text *line, const char *value)
{
    for (; *value; value++) {
        bool is_plain = (unsigned char)*value > ' ' && !strchr("|,#", *value);
        text_add_char(line, is_plain ? *value : '_');
    }
}

static void add_tags(const struct statsd *statsd, const struct statsd_tag *tags, struct text *line)
{
    const char *before = "|#";
    for (size_t i = 0; i < statsd->options.tag_count; i++) {
        text_addf(line, "%s%s", before, statsd->options.tags[i]);
        before = ",";
    }
    for (; tags && tags->name; tags++) {
        if (!tags->value)
            continue;
        text_addf(line, "%s%s:", before, tags->name);
        add_value(line, tags->value);
        before = ",";
    }
}

void statsd_add(struct statsd *statsd, const char *name, enum statsd_type type, uint64_t value,
                const struct statsd_tag *tags)
{
    static const char *const types[] = {
        [STATSD_COUNT] = "c",
        [STATSD_GAUGE] = "g",
        [STATSD_TIME] = "ms",
        [STATSD_DISTRIBUTION] = "d",
    };
    AUTOTEXT struct text line = { 0 };
    if (statsd->fd < 0 || (type == STATSD_COUNT && value == 0))
        return;
    text_addf(&line, PREFIX "%s:%" PRIu64 "|%s", name, value, types[type]);
    add_tags(statsd, tags, &line);
    if (text_error(&line) < 0)
        return;
    if (statsd->lines.length && statsd->lines.length + 1 + line.length > DATAGRAM_MAX)
        statsd_flush(statsd);
    if (statsd->lines.length)
        text_add_char(&statsd->lines, '\n');
    text_add_bytes(&statsd->lines, line.data, line.length);
}

void statsd_flush(struct statsd *statsd)
{
    if (statsd->lines.length && text_error(&statsd->lines) == 0)
        (void)send(statsd->fd, statsd->lines.data, statsd->lines.length, MSG_NOSIGNAL);
    text_truncate(&statsd->lines, 0);
    statsd->lines.failed = false;
}
