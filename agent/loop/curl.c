// SPDX-License-Identifier: Apache-2.0
/*
 * The adapter between libcurl's multi interface and sd-event; used by client/kube/kube.c.
 *
 * libcurl says which sockets it waits for and when it wants to be called at the latest, and is told
 * what happened. Each socket is one io source, which libcurl keeps for us (curl_multi_assign);
 * there is one timer. Finished transfers are reported after libcurl has returned, never from
 * within, so that `done` may do anything to other transfers.
 *
 * OpenSSL writes without MSG_NOSIGNAL, and libcurl guards only some of its calls: SIGPIPE is
 * ignored from the first loop on.
 *
 * Connections are kept for the next requests. libcurl by itself keeps four for each transfer that
 * is under way, so that after many at once it closes all but a few, and the next many shake hands
 * anew: that was two thirds of what an agent with hundreds of claims did.
 *
 * A socket that can't be watched for want of memory is silent. Who waits has a timer of its own,
 * and tries again; to fail in the callback would end every transfer for good.
 */
#include "loop/curl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/macro.h"

enum { CONNECTIONS_KEPT = 24 };

struct kept {
    int fd, port; /* its local one; 0: none */
};

struct curl_loop {
    sd_event *event;
    sd_event_source *timer;
    CURLM *multi;
    struct kept kept[CONNECTIONS_KEPT]; /* connections that have answered; some are closed by now */
    size_t kept_next;
};

/* One that has answered may be used again. libcurl tells of it only as long as the transfer is its
 * own, and in no callback of the next transfer. */
static void note_kept(struct curl_loop *loop, struct curl_transfer *transfer)
{
    long port = 0;
    transfer->socket = CURL_SOCKET_BAD;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_ACTIVESOCKET, &transfer->socket);
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_LOCAL_PORT, &port);
    if (transfer->socket == CURL_SOCKET_BAD)
        return;
    for (size_t i = 0; i < CONNECTIONS_KEPT; i++) {
        if (loop->kept[i].port == port && loop->kept[i].fd == transfer->socket)
            return;
    }
    loop->kept[loop->kept_next] = (struct kept){ transfer->socket, (int)port };
    loop->kept_next = (loop->kept_next + 1) % CONNECTIONS_KEPT;
}

static void report_done(struct curl_loop *loop)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(loop->multi, &left));) {
        struct curl_transfer *transfer = NULL;
        CURLcode code = message->data.result;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        note_kept(loop, transfer);
        (void)curl_multi_remove_handle(loop->multi, transfer->easy);
        transfer->done(transfer, code);
    }
}

static void act(struct curl_loop *loop, curl_socket_t fd, int events)
{
    int running;
    (void)curl_multi_socket_action(loop->multi, fd, events, &running);
    report_done(loop);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source;
    int what = events & EPOLLIN ? CURL_CSELECT_IN : 0;
    what |= events & EPOLLOUT ? CURL_CSELECT_OUT : 0;
    what |= events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0;
    act(userdata, fd, what);
    return 0;
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source, (void)usec;
    act(userdata, CURL_SOCKET_TIMEOUT, 0);
    return 0;
}

static int on_socket_wanted(CURL *easy, curl_socket_t fd, int what, void *context, void *socket)
{
    (void)easy;
    struct curl_loop *loop = context;
    sd_event_source *io = socket;
    if (what == CURL_POLL_REMOVE) {
        sd_event_source_disable_unref(io);
        return 0;
    }
    uint32_t events = what & CURL_POLL_IN ? EPOLLIN : 0;
    events |= what & CURL_POLL_OUT ? EPOLLOUT : 0;
    if (io)
        (void)sd_event_source_set_io_events(io, events);
    else if (sd_event_add_io(loop->event, &io, fd, events, on_io, loop) >= 0)
        (void)curl_multi_assign(loop->multi, fd, io);
    return 0;
}

static int on_time_wanted(CURLM *multi, long timeout_ms, void *context)
{
    (void)multi;
    struct curl_loop *loop = context;
    uint64_t due_us = (uint64_t)(clock_mono_us() + timeout_ms * 1000);
    if (timeout_ms >= 0)
        (void)sd_event_source_set_time(loop->timer, due_us);
    (void)sd_event_source_set_enabled(loop->timer,
                                      timeout_ms >= 0 ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
    return 0;
}

static int set_options(struct curl_loop *loop)
{
    CURLMcode r = curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, on_socket_wanted);
    if (r == CURLM_OK)
        r = curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
    if (r == CURLM_OK)
        r = curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, on_time_wanted);
    if (r == CURLM_OK)
        r = curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
    if (r == CURLM_OK)
        r = curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_KEPT);
    return r == CURLM_OK ? 0 : -ENOMEM;
}

int curl_loop_new(sd_event *event, struct curl_loop **ret_loop)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return -ENOMEM;
    (void)signal(SIGPIPE, SIG_IGN);
    CLEANUP(curl_loop_freep) struct curl_loop *loop = calloc(1, sizeof(*loop));
    if (!loop) {
        curl_global_cleanup();
        return -ENOMEM;
    }
    loop->event = sd_event_ref(event);
    loop->multi = curl_multi_init();
    if (!loop->multi)
        return -ENOMEM;
    int r = sd_event_add_time(event, &loop->timer, CLOCK_MONOTONIC, 0, 1000, on_time, loop);
    if (r >= 0)
        r = sd_event_source_set_enabled(loop->timer, SD_EVENT_OFF);
    if (r >= 0)
        r = set_options(loop);
    if (r < 0)
        return r;
    *ret_loop = TAKE_PTR(loop);
    return 0;
}

void curl_loop_free(struct curl_loop *loop)
{
    if (!loop)
        return;
    if (loop->multi)
        (void)curl_multi_cleanup(loop->multi);
    sd_event_source_disable_unref(loop->timer);
    sd_event_unref(loop->event);
    free(loop);
    curl_global_cleanup();
}

int curl_loop_start(struct curl_loop *loop, struct curl_transfer *transfer)
{
    transfer->head_bytes = 0;
    if (curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer) != CURLE_OK ||
        curl_multi_add_handle(loop->multi, transfer->easy) != CURLM_OK)
        return -ENOMEM;
    return 0;
}

void curl_loop_cancel(struct curl_loop *loop, struct curl_transfer *transfer)
{
    (void)curl_multi_remove_handle(loop->multi, transfer->easy);
}

/* What waits to be read before anything was asked is an end, too: that of TLS. */
static bool has_ended(int fd)
{
    const short ends = POLLIN | POLLRDHUP | POLLHUP | POLLERR;
    struct pollfd look = { .fd = fd, .events = ends };
    return poll(&look, 1, 0) == 1 && look.revents & ends;
}

static int port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } name = { 0 };
    socklen_t size = sizeof(name);
    if (getsockname(fd, &name.any, &size) < 0)
        return 0;
    return ntohs(name.any.sa_family == AF_INET6 ? name.v6.sin6_port : name.v4.sin_port);
}

bool curl_peer_has_closed(const struct curl_loop *loop, int local_port)
{
    for (size_t i = 0; i < CONNECTIONS_KEPT; i++) {
        const struct kept *kept = &loop->kept[i];
        if (kept->port == local_port && port_of(kept->fd) == local_port)
            return has_ended(kept->fd);
    }
    return false;
}

void curl_headers_free(struct curl_slist *headers)
{
    for (const struct curl_slist *line = headers; line; line = line->next)
        explicit_bzero(line->data, strlen(line->data));
    curl_slist_free_all(headers);
}

/* The length of what was measured at the beginning of the text; 0: it is something else. */
static int measured_length(const char *text)
{
    int time = 0, size = 0;
    (void)sscanf(text, " after %*d %*[a-z]%n", &time);
    (void)sscanf(text + time, " with %*d bytes received%n", &size);
    (void)sscanf(text + time, " with %*d out of %*d bytes received%n", &size);
    return time > 0 ? time + size : 0;
}

const char *curl_error(CURLcode code, const char *error, char words[static CURL_ERROR_SIZE])
{
    (void)snprintf(words, CURL_ERROR_SIZE, "%s", *error ? error : curl_easy_strerror(code));
    for (char *at = words; (at = strstr(at, " after ")); at++) {
        const char *rest = at + measured_length(at);
        memmove(at, rest, strlen(rest) + 1);
    }
    return words;
}

bool curl_head_fits(struct curl_transfer *transfer, size_t bytes)
{
    transfer->head_bytes += bytes;
    return !curl_head_is_long(transfer);
}

int64_t curl_retry_after_ms(CURL *easy)
{
    curl_off_t seconds = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
    return MIN(MAX((int64_t)seconds, 0), CURL_RETRY_AFTER_MAX_MS / 1000) * 1000;
}
