// SPDX-License-Identifier: Apache-2.0
/*
 * One HTTP server behind many listening sockets.
 *
 * A libmicrohttpd daemon for each would cost an epoll and its share of limits and memory per port.
 * Here it has no socket of its own: ours stand in an epoll set, what they accept is handed to it.
 * The loop sees two descriptors, however many ports there are.
 *
 * A listening socket belongs to who gave it and leaves the set when it is closed. Connections do
 * not know the socket they came by: who is asked finds out by address and port, and hangs up where
 * nothing is served any more.
 *
 * Who wants an answer gets in: above half the limit a connection ends with its reply, at the limit
 * the oldest one is shut down, asleep or not. Without descriptors for another connection, accepting
 * rests for a moment, since the socket stays readable.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "loop/http_server.h"
#include "loop/timer.h"

enum { EVENTS = 16, ACCEPTS = 16, PAUSE_MS = 100 };

struct guest {
    TAILQ_ENTRY(guest) link;
    int fd;
};

struct http_sharing {
    int sockets; /* epoll */
    sd_event_source *io;
    struct timer *pause;
    TAILQ_HEAD(, guest) guests; /* the oldest first */
};

static void sharing_free(struct http_sharing *sharing)
{
    sd_event_source_disable_unref(sharing->io);
    timer_free(sharing->pause);
    closep(&sharing->sockets);
    free(sharing);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_server *server = context;
    struct guest *guest = *state;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (guest)
            TAILQ_REMOVE(&server->sharing->guests, guest, link);
        free(guest);
        return;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    guest = info ? calloc(1, sizeof(*guest)) : NULL;
    if (!guest)
        return; /* it can't be put out, then */
    guest->fd = info->connect_fd;
    TAILQ_INSERT_TAIL(&server->sharing->guests, guest, link);
    *state = guest;
}

static bool make_room(struct http_server *server)
{
    const struct guest *oldest = TAILQ_FIRST(&server->sharing->guests);
    if (http_server_connections(server) < server->limits.connections)
        return true;
    if (oldest)
        (void)shutdown(oldest->fd, SHUT_RDWR);
    http_server_run(server);
    return http_server_connections(server) < server->limits.connections;
}

static void rest(struct http_server *server)
{
    (void)sd_event_source_set_enabled(server->sharing->io, SD_EVENT_OFF);
    timer_arm(server->sharing->pause, PAUSE_MS);
}

static void on_rested(void *context)
{
    struct http_server *server = context;
    (void)sd_event_source_set_enabled(server->sharing->io, SD_EVENT_ON);
}

/* What is left in the queue of a socket makes it readable again. */
static void accept_some(struct http_server *server, int listen_fd)
{
    for (int i = 0; i < ACCEPTS; i++) {
        struct sockaddr_storage address;
        socklen_t size = sizeof(address);
        int fd =
            accept4(listen_fd, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                rest(server);
            return;
        }
        if (make_room(server)) /* which takes the descriptor in any case */
            (void)MHD_add_connection(server->daemon, fd, (struct sockaddr *)&address, size);
        else
            (void)close(fd);
    }
}

static int on_sockets(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)source;
    (void)revents;
    struct http_server *server = userdata;
    struct epoll_event events[EVENTS];
    int count = epoll_wait(fd, events, EVENTS, 0);
    for (int i = 0; i < count; i++)
        accept_some(server, events[i].data.fd);
    http_server_run(server);
    return 0;
}

static int sharing_new(sd_event *event, struct http_server *server)
{
    struct http_sharing *sharing = calloc(1, sizeof(*sharing));
    if (!sharing)
        return -ENOMEM;
    server->sharing = sharing;
    server->sharing_free = sharing_free;
    TAILQ_INIT(&sharing->guests);
    sharing->sockets = epoll_create1(EPOLL_CLOEXEC);
    if (sharing->sockets < 0)
        return -errno;
    int r = sd_event_add_io(event, &sharing->io, sharing->sockets, EPOLLIN, on_sockets, server);
    return r < 0 ? r : timer_new(event, 0, on_rested, server, &sharing->pause);
}

int http_server_new(sd_event *event, const struct http_service *service,
                    struct http_server **ret_server)
{
    CLEANUP(http_server_freep) struct http_server *server = NULL;
    int r = http_server_make(service, &server);
    if (r < 0)
        return r;
    r = sharing_new(event, server);
    if (r < 0)
        return r;
    const struct MHD_OptionItem options[] = {
        { MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, server },
        { MHD_OPTION_END, 0, NULL },
    };
    r = http_server_start(event, -1, options, server);
    if (r < 0)
        return r;
    *ret_server = TAKE_PTR(server);
    return 0;
}

int http_server_add(struct http_server *server, int listen_fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = listen_fd };
    return epoll_ctl(server->sharing->sockets, EPOLL_CTL_ADD, listen_fd, &event) < 0 ? -errno : 0;
}
