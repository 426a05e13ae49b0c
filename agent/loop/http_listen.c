// SPDX-License-Identifier: Apache-2.0
/*
 * HTTP servers of one socket each: a unix socket, TCP, or what the service manager passed.
 *
 * The unix socket's owner and mode are set between bind() and listen(): until then connect() is
 * refused, so nobody gets in by the mode that the umask gave. A socket file that refuses
 * connections is what a killed agent left, and is replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "loop/http_server.h"
#include "loop/tcp.h"

enum { BACKLOG = 1024 }; /* who comes when it is full is refused, if it does not block */

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

/* Which file the server's socket is at. */
static int know_path(struct http_server *server, const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return -errno;
    server->path = strdup(path);
    server->device = st.st_dev;
    server->inode = st.st_ino;
    return server->path ? 0 : -ENOMEM;
}

/* From here on the file at the path is the server's to unlink. */
static int own_path(struct http_server *server, const char *path)
{
    int r = know_path(server, path);
    server->local = server->made = true;
    if (r == -ENOMEM)
        (void)unlink(path);
    return r;
}

/* Who made it may have removed the file already, or given it a name that is none of a file. */
static int ask_path(struct http_server *server, int fd)
{
    struct sockaddr_un address = { 0 };
    socklen_t size = sizeof(address) - 1;
    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        return -errno;
    int r = *address.sun_path == '/' ? know_path(server, address.sun_path) : 0;
    return r == -ENOMEM ? r : 0;
}

int http_listen_unix(sd_event *event, const char *path, gid_t gid,
                     const struct http_service *service, struct http_server **ret_server)
{
    CLEANUP(http_server_freep) struct http_server *server = NULL;
    int r = http_server_make(service, &server);
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
    r = http_server_start(event, TAKE_FD(fd), NULL, server);
    if (r < 0)
        return r;
    *ret_server = TAKE_PTR(server);
    return 0;
}

int http_listen_tcp(sd_event *event, const char *endpoint, const struct http_service *service,
                    struct http_server **ret_server)
{
    static const struct ip any_v6 = { .family = IP_V6 }, anywhere = { .family = IP_NONE };
    struct ip ip;
    uint16_t port;
    AUTOCLOSE int fd = -1;
    int r = tcp_endpoint_parse(endpoint, &ip, &port);
    if (r < 0)
        return r;
    r = tcp_listen(ip_equal(&ip, &any_v6) ? &anywhere : &ip, port, TCP_ADDRESS_PRESENT, &fd);
    if (r < 0)
        return r;
    CLEANUP(http_server_freep) struct http_server *server = NULL;
    r = http_server_make(service, &server);
    if (r < 0)
        return r;
    r = http_server_start(event, TAKE_FD(fd), NULL, server);
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

int http_listen_fd(sd_event *event, int fd, const struct http_service *service,
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
    int r = http_server_make(service, &server);
    if (r < 0)
        return r;
    server->local = domain == AF_UNIX;
    r = server->local ? ask_path(server, fd) : 0;
    if (r < 0)
        return r;
    r = http_server_start(event, TAKE_FD(owned), NULL, server);
    if (r < 0)
        return r;
    *ret_server = TAKE_PTR(server);
    return 0;
}
