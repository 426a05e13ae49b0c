// SPDX-License-Identifier: Apache-2.0
/*
 * Answers that come later, and bodies that go on.
 *
 * Called by handlers through http.h, and by http.c for each step of such a request. The exchange is
 * in a list of its server until its answer is through. libmicrohttpd sets the connection aside
 * meanwhile (MHD_suspend_connection(): out of its epoll set, no timeout, no buffer is touched), and
 * calls again in the first run after it was resumed. Nothing would cause that run (seen with
 * 0.9.75: without threads of its own it has no descriptor for that), so the server's timer does. So
 * an answer may come from anywhere, be it from inside another handler.
 *
 * A connection that is set aside is not looked at, so that its client could go unnoticed. Its
 * descriptor is watched by the loop itself, for nothing but EPOLLHUP and EPOLLERR. A unix socket
 * has EPOLLHUP when its peer is closed, and not when the peer only says that it will send no more:
 * a client may do that and wait. The watch fires once, since the condition stays.
 *
 * All that wait do so for the same time, so the first in the list is the first to be told 504, and
 * one timer serves all.
 *
 * libmicrohttpd aborts the program if it is stopped while a connection is set aside. So the end of
 * a server answers all of them first, and whoever asks during these last runs is refused before a
 * handler could set another one aside.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "loop/http_server.h"
#include "loop/timer.h"

enum { LAST_RUNS = 4 };

static void wake(struct http_exchange *exchange)
{
    if (!exchange->asleep)
        return;
    exchange->asleep = false;
    MHD_resume_connection(exchange->connection);
    http_server_wake(exchange->server);
}

static void leave_list(struct http_exchange *exchange)
{
    struct http_server *server = exchange->server;
    bool later = exchange->way == WAY_LATER;
    TAILQ_REMOVE(later ? &server->waiting : &server->streams, exchange, link);
    if (later)
        server->waiting_count--;
    else
        server->stream_count--;
}

/* From here on its owner is told of nothing. */
static void finish(struct http_exchange *exchange)
{
    exchange->over = true;
    sd_event_source_disable_unref(TAKE_PTR(exchange->hangup));
    leave_list(exchange);
}

static void end(struct http_exchange *exchange, enum http_end why)
{
    finish(exchange);
    exchange->ended(why, exchange->context);
    wake(exchange);
}

static int on_hangup(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)source, (void)fd, (void)revents;
    end(userdata, HTTP_END_CLIENT);
    return 0;
}

static int watch_client(struct http_exchange *exchange)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info)
        return -ENOTCONN;
    int r = sd_event_add_io(exchange->server->event, &exchange->hangup, info->connect_fd, 0,
                            on_hangup, exchange);
    return r < 0 ? r : sd_event_source_set_enabled(exchange->hangup, SD_EVENT_ONESHOT);
}

/* A reply of the server's own, for whom nobody has answered. */
static void give_up(struct http_exchange *exchange, enum http_end why)
{
    exchange->reply.status =
        why == HTTP_END_TIME ? MHD_HTTP_GATEWAY_TIMEOUT : MHD_HTTP_SERVICE_UNAVAILABLE;
    end(exchange, why);
}

static void arm(struct http_server *server)
{
    const struct http_exchange *first = TAILQ_FIRST(&server->waiting);
    if (first)
        timer_arm(server->wait_timer, MAX(first->until_ms - clock_mono_ms(), INT64_C(0)));
    else
        timer_disarm(server->wait_timer);
}

static void on_late(void *context)
{
    struct http_server *server = context;
    struct http_exchange *first;
    while ((first = TAILQ_FIRST(&server->waiting)) && first->until_ms <= clock_mono_ms())
        give_up(first, HTTP_END_TIME);
    arm(server);
}

int http_later(const struct http_request *request, http_ended ended, void *context,
               struct http_exchange **ret_exchange)
{
    struct http_exchange *exchange = request->exchange;
    struct http_server *server = exchange->server;
    if (server->waiting_count >= server->limits.waiting)
        return -EBUSY;
    int r = server->wait_timer ? 0
                               : timer_new(server->event, SD_EVENT_PRIORITY_NORMAL, on_late, server,
                                           &server->wait_timer);
    if (r < 0)
        return r;
    r = watch_client(exchange);
    if (r < 0)
        return r;
    exchange->way = WAY_LATER;
    exchange->ended = ended;
    exchange->context = context;
    exchange->until_ms = clock_mono_ms() + INT64_C(1000) * server->limits.wait_s;
    TAILQ_INSERT_TAIL(&server->waiting, exchange, link);
    server->waiting_count++;
    arm(server);
    *ret_exchange = exchange;
    return 0;
}

void http_later_answer(struct http_exchange *exchange, struct http_reply *reply)
{
    bool refused = http_is_full(exchange->server);
    if (refused) {
        free(reply->body);
        *reply = (struct http_reply){ .status = MHD_HTTP_SERVICE_UNAVAILABLE };
    }
    exchange->reply = *reply;
    exchange->replied = !refused;
    http_keep_reply(exchange, reply->size);
    *reply = (struct http_reply){ 0 };
    finish(exchange);
    wake(exchange);
}

int http_stream(const struct http_request *request, const char *content_type, http_more more,
                http_ended ended, void *context, struct http_exchange **ret_exchange)
{
    struct http_exchange *exchange = request->exchange;
    struct http_server *server = exchange->server;
    if (server->stream_count >= server->limits.streams)
        return -EBUSY;
    int r = watch_client(exchange);
    if (r < 0)
        return r;
    exchange->way = WAY_STREAM;
    exchange->content_type = content_type;
    exchange->more = more;
    exchange->ended = ended;
    exchange->context = context;
    TAILQ_INSERT_TAIL(&server->streams, exchange, link);
    server->stream_count++;
    *ret_exchange = exchange;
    return 0;
}

void http_stream_wake(struct http_exchange *exchange)
{
    wake(exchange);
}

static void sleep_until_woken(struct http_exchange *exchange)
{
    exchange->asleep = true;
    MHD_suspend_connection(exchange->connection);
}

static ssize_t on_more(void *context, uint64_t position, char *buffer, size_t size)
{
    struct http_exchange *exchange = context;
    (void)position;
    if (exchange->over)
        return MHD_CONTENT_READER_END_OF_STREAM;
    size_t written = exchange->more(buffer, size, exchange->context);
    if (written == 0)
        sleep_until_woken(exchange);
    return (ssize_t)written;
}

static enum MHD_Result begin_stream(struct http_exchange *exchange)
{
    enum { PIECE = 1024 };
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, on_more, exchange, NULL);
    if (!response)
        return MHD_NO;
    enum MHD_Result r =
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, exchange->content_type);
    if (r == MHD_YES)
        r = MHD_queue_response(exchange->connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return r;
}

enum MHD_Result http_later_begin(struct http_exchange *exchange)
{
    if (exchange->way == WAY_STREAM)
        return begin_stream(exchange);
    if (exchange->over) /* the handler itself has answered */
        return http_later_go_on(exchange);
    sleep_until_woken(exchange);
    return MHD_YES;
}

enum MHD_Result http_later_go_on(struct http_exchange *exchange)
{
    if (exchange->replied && exchange->reply.status) {
        exchange->replied = false; /* the body is no longer ours */
        return http_send_reply(exchange->connection, &exchange->reply, false);
    }
    return exchange->reply.status ? http_refuse(exchange->connection, exchange->reply.status)
                                  : MHD_NO;
}

void http_later_done(struct http_exchange *exchange)
{
    exchange->asleep = false;
    if (exchange->way != WAY_AT_ONCE && !exchange->over)
        end(exchange, HTTP_END_CLIENT);
    if (exchange->replied)
        free(exchange->reply.body);
}

void http_later_end_all(struct http_server *server)
{
    struct http_exchange *first;
    server->ending = true;
    while ((first = TAILQ_FIRST(&server->waiting)))
        give_up(first, HTTP_END_SERVER);
    while ((first = TAILQ_FIRST(&server->streams)))
        end(first, HTTP_END_SERVER);
    for (int i = 0; i < LAST_RUNS; i++)
        (void)MHD_run(server->daemon);
}
