// SPDX-License-Identifier: Apache-2.0
/*
 * libmicrohttpd inside sd-event.
 *
 * agentd opens one server on its unix socket and one for each TCP endpoint; the handlers are
 * api's. A server owns its libmicrohttpd daemon, the listening socket (which the daemon closes;
 * without threads it does not shut it down, so one that the service manager passed goes on
 * collecting connections), the two event sources and, for a unix socket that it bound itself, the
 * file.
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
 * queued. Bodies are counted and dropped: no endpoint takes one. The count lives in the state
 * pointer itself, so a request needs no memory of ours.
 *
 * The unix socket's owner and mode are set between bind() and listen(): until then connect() is
 * refused, so nobody gets in by the mode that the umask gave. A socket file that refuses
 * connections is what a killed agent left, and is replaced.
 */
#include "loop/http.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include <microhttpd.h>

#include "base/ip.h"

enum {
    CONNECTION_LIMIT = 64,
    CONNECTION_TIMEOUT_S = 30,
    BODY_LIMIT = 64 * 1024,
    BODY_CUT = 16 * BODY_LIMIT, /* who goes on sending gets no reply */
    BACKLOG = 64,
    TIMER_ACCURACY_US = 1000,
};

struct http_server {
    struct MHD_Daemon *daemon;
    sd_event_source *io, *timer;
    http_handler handler;
    void *context;
    bool local; /* a unix socket: the peer's credentials are known */
    char *path; /* of the socket's file, to be unlinked; NULL: none of ours */
    dev_t device;
    ino_t inode;
};

static void schedule(struct http_server *server)
{
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    if (MHD_get_timeout(server->daemon, &timeout_ms) != MHD_YES) {
        (void)sd_event_source_set_enabled(server->timer, SD_EVENT_OFF);
        return;
    }
    (void)sd_event_source_set_time_relative(server->timer, timeout_ms * 1000);
    (void)sd_event_source_set_enabled(server->timer, SD_EVENT_ONESHOT);
}

static unsigned connections(const struct http_server *server)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)source;
    (void)fd;
    (void)revents;
    struct http_server *server = userdata;
    unsigned before = connections(server);
    (void)MHD_run(server->daemon);
    if (connections(server) < before)
        (void)MHD_run(server->daemon);
    schedule(server);
    return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)usec;
    return on_io(source, -1, 0, userdata);
}

static void identify_peer(struct MHD_Connection *connection, struct http_request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (!info || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return;
    request->peer_known = true;
    request->peer_uid = peer.uid;
    request->peer_gid = peer.gid;
}

/* Queues a reply and takes its body. MHD_NO ends the connection. */
static enum MHD_Result send_reply(struct MHD_Connection *connection, struct http_reply *reply)
{
    AUTOFREE char *body = TAKE_PTR(reply->body);
    const char *type = reply->content_type ? reply->content_type : "application/json";
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->size, body, MHD_RESPMEM_MUST_FREE);
    if (!response)
        return MHD_NO;
    (void)TAKE_PTR(body);

    enum MHD_Result r = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (r == MHD_YES && reply->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        r = MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD, POST");
    if (r == MHD_YES)
        r = MHD_queue_response(connection, reply->status, response);
    MHD_destroy_response(response);
    return r;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status)
{
    struct http_reply reply = { .status = status, .content_type = "text/plain" };
    if (asprintf(&reply.body, "%s\n", MHD_get_reason_phrase_for(status)) < 0)
        return MHD_NO;
    reply.size = strlen(reply.body);
    return send_reply(connection, &reply);
}

static enum MHD_Result answer(const struct http_server *server, struct MHD_Connection *connection,
                              const char *path, const char *method)
{
    struct http_request request = { .method = method, .path = path, .connection = connection };
    struct http_reply reply = { 0 };
    if (server->local)
        identify_peer(connection, &request);
    server->handler(&request, &reply, server->context);
    return send_reply(connection, &reply);
}

/* What is known to be refused when the headers are there; 0 if nothing. */
static unsigned refusal(struct MHD_Connection *connection, const char *method)
{
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0 && strcmp(method, "POST") != 0)
        return MHD_HTTP_METHOD_NOT_ALLOWED;
    const char *length =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (length && strtoull(length, NULL, 10) > BODY_LIMIT)
        return MHD_HTTP_CONTENT_TOO_LARGE;
    return 0;
}

/* `*state` is NULL at first, then one more than the bytes of body that came. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **state)
{
    (void)version;
    (void)upload;
    uintptr_t seen = (uintptr_t)*state;
    if (seen == 0) {
        unsigned status = refusal(connection, method);
        *state = (void *)(uintptr_t)1;
        return status ? refuse(connection, status) : MHD_YES;
    }
    if (*upload_size > 0) {
        seen += *upload_size;
        *upload_size = 0;
        *state = (void *)seen;
        return seen - 1 > BODY_CUT ? MHD_NO : MHD_YES;
    }
    if (seen - 1 > BODY_LIMIT)
        return refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE);
    return answer(context, connection, path, method);
}

/* Starts to serve a listening socket, which becomes the server's in any case. */
static int serve(sd_event *event, int listen_fd, struct http_server *server)
{
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, listen_fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTION_LIMIT, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)CONNECTION_TIMEOUT_S, MHD_OPTION_END);
    if (!server->daemon) {
        (void)close(listen_fd);
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

static int server_new(http_handler handler, void *context, struct http_server **ret_server)
{
    struct http_server *server = calloc(1, sizeof(*server));
    if (!server)
        return -ENOMEM;
    server->handler = handler;
    server->context = context;
    *ret_server = server;
    return 0;
}

static int unix_address(const char *path, struct sockaddr_un *ret_address)
{
    if (strlen(path) >= sizeof(ret_address->sun_path))
        return -ENAMETOOLONG;
    *ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    strcpy(ret_address->sun_path, path);
    return 0;
}

/* Makes way for a new socket at the address. */
static int remove_stale(const struct sockaddr_un *address)
{
    struct stat st;
    if (lstat(address->sun_path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(st.st_mode))
        return -ENOTSOCK;

    AUTOCLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    /* EAGAIN: somebody listens whose backlog is full. */
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN)
        return -EADDRINUSE;
    if (errno == ENOENT)
        return 0;
    if (errno != ECONNREFUSED)
        return -errno;
    return unlink(address->sun_path) < 0 && errno != ENOENT ? -errno : 0;
}

/* From here on the file at the path is the server's to unlink. */
static int own_path(struct http_server *server, const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return -errno;
    server->local = true;
    server->path = strdup(path);
    if (!server->path) {
        (void)unlink(path);
        return -ENOMEM;
    }
    server->device = st.st_dev;
    server->inode = st.st_ino;
    return 0;
}

/* The file may be another agent's by now, if somebody removed ours: then it stays. */
static void unlink_path(const struct http_server *server)
{
    struct stat st;
    if (server->path && lstat(server->path, &st) == 0 && st.st_dev == server->device &&
        st.st_ino == server->inode)
        (void)unlink(server->path);
}

static int parse_port(const char *string, in_port_t *ret_port_be)
{
    size_t digits = strspn(string, "0123456789");
    if (digits == 0 || digits > 5 || string[digits] != '\0')
        return -EINVAL;
    unsigned long port = strtoul(string, NULL, 10);
    if (port == 0 || port > UINT16_MAX)
        return -EINVAL;
    *ret_port_be = htons((uint16_t)port);
    return 0;
}

/* Reads "address:port" or "[address]:port". */
static int parse_endpoint(const char *endpoint, struct sockaddr_storage *ret_address,
                          socklen_t *ret_size)
{
    bool bracketed = *endpoint == '[';
    const char *host = endpoint + bracketed;
    size_t length = strcspn(host, bracketed ? "]" : ":");
    const char *rest = host + length + (bracketed && host[length] == ']');
    char buffer[IP_STRLEN];
    struct ip ip;
    in_port_t port_be;
    if (*rest != ':' || length >= sizeof(buffer) || parse_port(rest + 1, &port_be) < 0)
        return -EINVAL;
    memcpy(buffer, host, length);
    buffer[length] = '\0';
    if (ip_parse(buffer, &ip) < 0 || bracketed != (ip.family == IP_V6))
        return -EINVAL;

    *ret_address = (struct sockaddr_storage){ 0 };
    if (bracketed) {
        struct sockaddr_in6 *address = (struct sockaddr_in6 *)ret_address;
        address->sin6_family = AF_INET6;
        address->sin6_port = port_be;
        memcpy(&address->sin6_addr, ip.bytes, sizeof(address->sin6_addr));
        *ret_size = sizeof(*address);
    } else {
        struct sockaddr_in *address = (struct sockaddr_in *)ret_address;
        address->sin_family = AF_INET;
        address->sin_port = port_be;
        memcpy(&address->sin_addr, ip.bytes, sizeof(address->sin_addr));
        *ret_size = sizeof(*address);
    }
    return 0;
}

const char *http_query(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

int http_listen_unix(sd_event *event, const char *path, gid_t gid, http_handler handler,
                     void *context, struct http_server **ret_server)
{
    CLEANUP(http_server_freep) struct http_server *server = NULL;
    int r = server_new(handler, context, &server);
    if (r < 0)
        return r;
    struct sockaddr_un address;
    r = unix_address(path, &address);
    if (r < 0)
        return r;
    r = remove_stale(&address);
    if (r < 0)
        return r;

    AUTOCLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    r = own_path(server, path);
    if (r < 0)
        return r;
    if (chown(path, (uid_t)-1, gid) < 0 || chmod(path, 0660) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    r = serve(event, TAKE_FD(fd), server);
    if (r < 0)
        return r;
    *ret_server = TAKE_PTR(server);
    return 0;
}

int http_listen_tcp(sd_event *event, const char *endpoint, http_handler handler, void *context,
                    struct http_server **ret_server)
{
    struct sockaddr_storage address;
    socklen_t size;
    int r = parse_endpoint(endpoint, &address, &size);
    if (r < 0)
        return r;
    CLEANUP(http_server_freep) struct http_server *server = NULL;
    r = server_new(handler, context, &server);
    if (r < 0)
        return r;

    AUTOCLOSE int fd =
        socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    int yes = 1; /* connections of the agent before this one may still be in TIME_WAIT */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
        bind(fd, (const struct sockaddr *)&address, size) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    r = serve(event, TAKE_FD(fd), server);
    if (r < 0)
        return r;
    *ret_server = TAKE_PTR(server);
    return 0;
}

static bool socket_option(int fd, int option, int *ret_value)
{
    socklen_t size = sizeof(*ret_value);
    return getsockopt(fd, SOL_SOCKET, option, ret_value, &size) == 0;
}

int http_listen_fd(sd_event *event, int fd, http_handler handler, void *context,
                   struct http_server **ret_server)
{
    AUTOCLOSE int owned = fd;
    int type, listening, domain;
    if (!socket_option(fd, SO_TYPE, &type) || !socket_option(fd, SO_ACCEPTCONN, &listening) ||
        !socket_option(fd, SO_DOMAIN, &domain) || type != SOCK_STREAM || !listening)
        return -EINVAL;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return -errno;

    CLEANUP(http_server_freep) struct http_server *server = NULL;
    int r = server_new(handler, context, &server);
    if (r < 0)
        return r;
    server->local = domain == AF_UNIX;
    r = serve(event, TAKE_FD(owned), server);
    if (r < 0)
        return r;
    *ret_server = TAKE_PTR(server);
    return 0;
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    sd_event_source_disable_unref(server->timer);
    sd_event_source_disable_unref(server->io);
    unlink_path(server);
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    free(server->path);
    free(server);
}
