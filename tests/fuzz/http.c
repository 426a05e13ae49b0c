// SPDX-License-Identifier: Apache-2.0
/*
 * The HTTP server: any bytes from a client on its unix socket, in two pieces. Whatever comes, the
 * handler sees sound strings and bodies within their limit, the reply begins as HTTP does or there
 * is none, and the connection ends once the client has nothing more to say. One server serves all
 * inputs, so that what one leaves behind harms the next.
 *
 * libmicrohttpd itself is not instrumented; its parsing is followed by what our side does.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/text.h"
#include "fuzz.h"
#include "loop/http.h"

enum { STEPS_MAX = 10000, BODY_MAX = 256 };

static char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
static struct http_server *server;
static sd_event *event;

/* Bodies are kept of POST, and refused at one path. */
static size_t admit(const struct http_request *request, struct http_reply *reply, void *context)
{
    (void)context;
    MUST(!request->body && request->body_size == 0);
    if (strcmp(request->path, "/refused") == 0)
        reply->status = 403;
    return strcmp(request->method, "POST") == 0 ? BODY_MAX : 0;
}

static void handle(const struct http_request *request, struct http_reply *reply, void *context)
{
    (void)context;
    MUST(request->method && request->path && request->peer_known);
    MUST(!strchr(request->path, '?') && strcmp(request->path, "/refused") != 0);
    MUST(request->body_size <= BODY_MAX && !request->body == (request->body_size == 0));
    MUST(!request->body || request->body[request->body_size] == '\0');
    const char *address = http_query(request, "address");
    AUTOTEXT struct text out = { 0 };
    text_addf(&out, "%s %s %s\n", request->method, request->path, address ? address : "-");
    reply->status = 200;
    reply->size = out.length;
    reply->body = text_take(&out);
}

static void stop(void)
{
    http_server_free(server);
    sd_event_unref(event);
}

static void start(void)
{
    const struct http_service service = { .handle = handle, .admit = admit };
    snprintf(path, sizeof(path), "/tmp/fingerpost-fuzz-%d.sock", (int)getpid());
    MUST(sd_event_new(&event) >= 0);
    MUST(http_listen_unix(event, path, (gid_t)-1, &service, &server) == 0);
    atexit(stop);
}

static void settle(void)
{
    for (int steps = 0; sd_event_run(event, 0) > 0; steps++)
        MUST(steps < STEPS_MAX);
}

static void send_piece(int fd, const uint8_t *bytes, size_t size)
{
    /* A server that has refused what came before may have closed its side. */
    if (size > 0 && send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        MUST(errno == EPIPE || errno == ECONNRESET);
    settle();
}

/* Reads what is there. True at the end of the connection. */
static bool receive(int fd, struct text *reply)
{
    char buffer[4096];
    for (;;) {
        ssize_t size = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
        if (size > 0)
            text_add_bytes(reply, buffer, (size_t)size);
        else
            return size == 0 || errno == ECONNRESET;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!server)
        start();
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strcpy(address.sun_path, path);
    AUTOCLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);

    AUTOTEXT struct text reply = { 0 };
    send_piece(fd, bytes, size / 2);
    send_piece(fd, bytes + size / 2, size - size / 2);
    (void)receive(fd, &reply);
    MUST(shutdown(fd, SHUT_WR) == 0 || errno == ENOTCONN);
    settle();
    MUST(receive(fd, &reply));
    MUST(reply.length == 0 || strncmp(reply.data, "HTTP/1.", 7) == 0);
    return 0;
}
