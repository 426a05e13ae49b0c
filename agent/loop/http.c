// SPDX-License-Identifier: Apache-2.0
/*
 * libmicrohttpd inside sd-event.
 *
 * Here is what all servers share, from the request to the reply; http_listen.c makes those of one
 * socket, http_shared.c those of many. A server owns its libmicrohttpd daemon, the listening socket
 * (which the daemon closes; without threads it does not shut it down, so one that the service
 * manager passed goes on collecting connections), the two event sources and, for a unix socket that
 * it bound itself, the file.
 *
 * libmicrohttpd keeps one epoll descriptor for all its sockets, and the loop watches that. It is
 * edge-triggered inside: what it could not finish in one MHD_run() is remembered in lists and not
 * signalled again, so the timer is set from MHD_get_timeout() after every run; 0 means "run again
 * at once". With no connection open there is no timer and nothing wakes the loop. At the limit of
 * connections or descriptors it takes the listening socket out of its epoll, and puts it back at
 * the beginning of the first run after a connection was closed. Nothing would cause that run (seen
 * with 0.9.75: the next client waited for somebody's timeout), so it follows at once.
 *
 * A request's handler is called by libmicrohttpd several times: once with the headers, once for
 * each piece of the body, once at the end, and only at the first and the last may a reply be
 * queued. Whoever is refused at the first is hung up on after the reply, so nothing of the body is
 * read. In between there is no other word than hanging up: that is what becomes of a body that is
 * far too long, or too slow. The time is looked at whenever a piece comes; one of which nothing
 * comes ends by the connection's own limit. What is kept of a request lives in its exchange, which
 * libmicrohttpd gives back when the reply is through or the connection is gone.
 *
 * A reply is in memory until its client has read it. What all of them take is bounded by who is not
 * answered: many connections may wait at a server, and a document has megabytes.
 */
#include "loop/http_server.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/net/socket_address.h"
#include "loop/tcp.h"
#include "loop/timer.h"

enum {
    BODY_DROPPED = 64 * 1024, /* the limit of a body that is not kept */
    BODY_CUTS = 16,           /* who sends so many times the limit gets no reply */
    BODY_MS = 10 * 1000,
    UNSENT_MAX = 256 * 1024 * 1024, /* bytes of replies; above it nobody else gets one */
    TIMER_ACCURACY_US = 1000,
};

static const struct http_limits limits_default = {
    .connections = 64,
    .silence_s = 30,
    .memory = 32 * 1024,
};

static void schedule(struct http_server *server)
{
    MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
    if (!server->woken && MHD_get_timeout(server->daemon, &timeout_ms) != MHD_YES) {
        (void)sd_event_source_set_enabled(server->timer, SD_EVENT_OFF);
        return;
    }
    (void)sd_event_source_set_time_relative(server->timer, timeout_ms * 1000);
    (void)sd_event_source_set_enabled(server->timer, SD_EVENT_ONESHOT);
}

unsigned http_server_connections(const struct http_server *server)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

void http_server_run(struct http_server *server)
{
    unsigned before = http_server_connections(server);
    server->woken = false;
    (void)MHD_run(server->daemon);
    if (http_server_connections(server) < before)
        (void)MHD_run(server->daemon);
    schedule(server);
}

void http_server_wake(struct http_server *server)
{
    server->woken = true;
    schedule(server);
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)source;
    (void)fd;
    (void)revents;
    http_server_run(userdata);
    return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)usec;
    return on_io(source, -1, 0, userdata);
}

static void identify_address(int fd, struct http_request *request)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &size) == 0)
        socket_address_read(&address, &request->local, &request->local_port);
}

static void identify_peer(int fd, struct http_request *request)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return;
    request->peer_known = true;
    request->peer_uid = peer.uid;
    request->peer_gid = peer.gid;
}

static enum MHD_Result add_headers(struct MHD_Response *response, const struct http_reply *reply)
{
    enum MHD_Result r = MHD_YES;
    for (size_t i = 0; r == MHD_YES && i < HTTP_HEADERS_MAX && reply->headers[i].name; i++)
        r = MHD_add_response_header(response, reply->headers[i].name, reply->headers[i].value);
    if (r == MHD_YES && reply->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        r = MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD, POST, DELETE");
    return r;
}

/* MHD_NO ends the connection. */
enum MHD_Result http_send_reply(struct MHD_Connection *connection, struct http_reply *reply,
                                bool last)
{
    AUTOFREE char *body = TAKE_PTR(reply->body);
    const char *type = reply->content_type ? reply->content_type : "application/json";
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->size, body, MHD_RESPMEM_MUST_FREE);
    if (!response)
        return MHD_NO;
    (void)TAKE_PTR(body);

    enum MHD_Result r = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (r == MHD_YES)
        r = add_headers(response, reply);
    if (r == MHD_YES && last)
        r = MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (r == MHD_YES)
        r = MHD_queue_response(connection, reply->status, response);
    MHD_destroy_response(response);
    return r;
}

enum MHD_Result http_refuse(struct MHD_Connection *connection, unsigned status)
{
    struct http_reply reply = { .status = status };
    reply.body = text_format("{\"error\":\"%s\"}\n", MHD_get_reason_phrase_for(status));
    if (!reply.body)
        return MHD_NO;
    reply.size = strlen(reply.body);
    return http_send_reply(connection, &reply, false);
}

static struct http_request request_of(struct http_exchange *exchange, const char *path,
                                      const char *method)
{
    struct http_request request = {
        .method = method,
        .path = path,
        .body = exchange->body.data,
        .body_size = exchange->body.length,
        .connection = exchange->connection,
        .exchange = exchange,
    };
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info && exchange->server->local)
        identify_peer(info->connect_fd, &request);
    else if (info)
        identify_address(info->connect_fd, &request);
    return request;
}

bool http_is_full(const struct http_server *server)
{
    return server->unsent > UNSENT_MAX;
}

void http_keep_reply(struct http_exchange *exchange, size_t size)
{
    exchange->unsent = size;
    exchange->server->unsent += size;
}

static enum MHD_Result answer(struct http_exchange *exchange, const char *path, const char *method)
{
    const struct http_server *server = exchange->server;
    if (server->ending || http_is_full(server))
        return http_refuse(exchange->connection, MHD_HTTP_SERVICE_UNAVAILABLE);
    const struct http_request request = request_of(exchange, path, method);
    struct http_reply reply = { 0 };
    server->handle(&request, &reply, server->context);
    if (exchange->way != WAY_AT_ONCE) {
        free(reply.body);
        return http_later_begin(exchange);
    }
    if (reply.status == 0) {
        free(reply.body);
        return MHD_NO;
    }
    http_keep_reply(exchange, reply.size);
    bool crowded =
        server->sharing && http_server_connections(server) > server->limits.connections / 2;
    return http_send_reply(exchange->connection, &reply, crowded);
}

static size_t body_limit(const struct http_exchange *exchange)
{
    return exchange->body_max ? exchange->body_max : BODY_DROPPED;
}

/* What is known to be refused when the headers are there. */
static enum MHD_Result begin(struct http_exchange *exchange, const char *path, const char *method)
{
    const struct http_server *server = exchange->server;
    struct http_reply reply = { 0 };
    if (!server->sharing && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0 &&
        strcmp(method, "POST") != 0 && strcmp(method, "DELETE") != 0)
        return http_refuse(exchange->connection, MHD_HTTP_METHOD_NOT_ALLOWED);
    if (server->ending)
        return http_refuse(exchange->connection, MHD_HTTP_SERVICE_UNAVAILABLE);
    const struct http_request request = request_of(exchange, path, method);
    if (server->admit)
        exchange->body_max = server->admit(&request, &reply, server->context);
    if (reply.status)
        return http_send_reply(exchange->connection, &reply, false);
    const char *length = http_header(&request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (length && strtoull(length, NULL, 10) > body_limit(exchange))
        return http_refuse(exchange->connection, MHD_HTTP_CONTENT_TOO_LARGE);
    exchange->body_late_ms = clock_mono_ms() + BODY_MS;
    return MHD_YES;
}

/* Takes a piece of the body. MHD_NO ends the connection. */
static enum MHD_Result take_piece(struct http_exchange *exchange, const char *piece, size_t size)
{
    size_t limit = body_limit(exchange);
    exchange->body_seen += size;
    if (exchange->body_seen > limit)
        text_done(&exchange->body);
    else if (exchange->body_max)
        text_add_bytes(&exchange->body, piece, size);
    bool late = exchange->body_max && clock_mono_ms() > exchange->body_late_ms;
    return late || exchange->body_seen > BODY_CUTS * limit ? MHD_NO : MHD_YES;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **state)
{
    (void)version;
    struct http_exchange *exchange = *state;
    if (!exchange) {
        *state = exchange = calloc(1, sizeof(*exchange));
        if (!exchange)
            return MHD_NO;
        exchange->server = context;
        exchange->connection = connection;
        return begin(exchange, path, method);
    }
    if (*upload_size > 0) {
        size_t size = *upload_size;
        *upload_size = 0;
        return take_piece(exchange, upload, size);
    }
    if (exchange->way != WAY_AT_ONCE)
        return http_later_go_on(exchange);
    if (exchange->body_seen > body_limit(exchange))
        return http_refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE);
    return text_error(&exchange->body) < 0 ? MHD_NO : answer(exchange, path, method);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct http_exchange *exchange = *state;
    (void)context, (void)connection, (void)code;
    if (!exchange)
        return;
    http_later_done(exchange);
    exchange->server->unsent -= exchange->unsent;
    text_done(&exchange->body);
    free(exchange);
    *state = NULL;
}

int http_server_start(sd_event *event, int listen_fd, const struct MHD_OptionItem *options,
                      struct http_server *server)
{
    static const struct MHD_OptionItem none = { MHD_OPTION_END, 0, NULL };
    const struct MHD_OptionItem sockets[] = {
        { listen_fd < 0 ? MHD_OPTION_END : MHD_OPTION_LISTEN_SOCKET, listen_fd, NULL },
        none,
    };
    server->event = event;
    unsigned flags =
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (listen_fd < 0 ? MHD_USE_NO_LISTEN_SOCKET : 0);
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, server, MHD_OPTION_ARRAY, sockets,
        MHD_OPTION_CONNECTION_LIMIT, server->limits.connections, MHD_OPTION_CONNECTION_TIMEOUT,
        server->limits.silence_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, server->limits.memory,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_ARRAY,
        options ? options : &none, MHD_OPTION_END);
    if (!server->daemon) {
        closep(&listen_fd);
        return -ENOMEM;
    }
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info)
        return -EIO;
    int r = sd_event_add_io(event, &server->io, info->epoll_fd, EPOLLIN, on_io, server);
    if (r < 0)
        return r;
    r = sd_event_add_time(event, &server->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US, on_timer,
                          server);
    if (r < 0)
        return r;
    schedule(server);
    return 0;
}

int http_server_make(const struct http_service *service, struct http_server **ret_server)
{
    struct http_server *server = calloc(1, sizeof(*server));
    if (!server)
        return -ENOMEM;
    server->limits = service->limits ? *service->limits : limits_default;
    server->handle = service->handle;
    server->admit = service->admit;
    server->context = service->context;
    TAILQ_INIT(&server->waiting);
    TAILQ_INIT(&server->streams);
    *ret_server = server;
    return 0;
}

const char *http_query(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *http_header(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

bool http_has_body(const struct http_request *request)
{
    const char *length = http_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return http_header(request, MHD_HTTP_HEADER_TRANSFER_ENCODING) ||
           (length && strtoull(length, NULL, 10) > 0);
}

bool http_server_has_file(const struct http_server *server)
{
    struct stat st;
    return !server->path || (lstat(server->path, &st) == 0 && st.st_dev == server->device &&
                             st.st_ino == server->inode);
}

/* The file may be another agent's by now, if somebody removed ours: then it stays. */
static void unlink_path(const struct http_server *server)
{
    if (server->path && server->made && http_server_has_file(server))
        (void)unlink(server->path);
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    if (server->daemon)
        http_later_end_all(server);
    sd_event_source_disable_unref(server->timer);
    sd_event_source_disable_unref(server->io);
    unlink_path(server);
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    timer_free(server->wait_timer);
    if (server->sharing)
        server->sharing_free(server->sharing);
    free(server->path);
    free(server);
}
