// SPDX-License-Identifier: Apache-2.0
/* The sockets of the controller; see controller_socket.h. api/ makes the answers. */
#include "controller/controller_socket.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>

#include "api/controller_api.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/text.h"
#include "loop/http.h"

struct controller_socket {
    struct controller_socket_options options;
    struct http_server *unix_server, *tcp_server;
};

static void on_request(const struct http_request *request, struct http_reply *reply, void *context)
{
    const struct controller_socket *socket = context;
    socket->options.refresh(socket->options.context);
    controller_api_handle(request, reply, (void *)socket->options.state);
}

static void on_public_request(const struct http_request *request, struct http_reply *reply,
                              void *context)
{
    const struct controller_socket *socket = context;
    socket->options.refresh(socket->options.context);
    controller_api_handle_public(request, reply, (void *)socket->options.state);
}

/* The group fingerpost may connect; without that group only root may. */
static gid_t socket_group(void)
{
    const struct group *group = getgrnam("fingerpost");
    return group ? group->gr_gid : (gid_t)-1;
}

static int open_unix(struct controller_socket *socket)
{
    const char *run = socket->options.config->paths.run;
    AUTOFREE char *path = text_format("%s/controller.sock", run);
    if (!path)
        return -ENOMEM;
    const struct http_service service = { .handle = on_request, .context = socket };
    int r = dir_make(run);
    if (r >= 0)
        r = http_listen_unix(socket->options.event, path, socket_group(), &service,
                             &socket->unix_server);
    if (r < 0)
        log_error("cannot serve %s (paths.run): %s%s", path, strerror(-r),
                  r == -EADDRINUSE ? "; another agent-controller does: give each a folder" : "");
    return r;
}

static int open_tcp(struct controller_socket *socket)
{
    const char *listen = socket->options.config->api.listen;
    const struct http_service service = { .handle = on_public_request, .context = socket };
    int r = http_listen_tcp(socket->options.event, listen, &service, &socket->tcp_server);
    if (r < 0)
        log_error("cannot serve %s (api.listen): %s%s%s", listen, strerror(-r),
                  r == -EADDRINUSE ? "; see by whom: ss -ltnp sport = " : "",
                  r == -EADDRINUSE ? strrchr(listen, ':') : "");
    return r;
}

int controller_socket_new(const struct controller_socket_options *options,
                          struct controller_socket **ret_socket)
{
    CLEANUP(controller_socket_freep) struct controller_socket *socket = calloc(1, sizeof(*socket));
    if (!socket)
        return -ENOMEM;
    socket->options = *options;
    int r = open_unix(socket);
    if (r < 0)
        return r;
    r = open_tcp(socket);
    if (r < 0)
        return r;
    *ret_socket = TAKE_PTR(socket);
    return 0;
}

void controller_socket_free(struct controller_socket *socket)
{
    if (!socket)
        return;
    http_server_free(socket->tcp_server);
    http_server_free(socket->unix_server);
    free(socket);
}
