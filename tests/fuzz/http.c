// SPDX-License-Identifier: Apache-2.0
/*
 * The HTTP server: any bytes from a client on its unix socket, in two pieces. Whatever comes, the
 * handler sees sound strings and bodies within their limit, which are read as the API does, the
 * reply begins as HTTP does or there is none, and the connection ends once the client has nothing
 * more to say. Some requests are answered later, some by a stream: each of them ends once, by its
 * answer or with its client. One server serves all inputs, so that what one leaves behind harms the
 * next.
 *
 * libmicrohttpd itself is not instrumented; its parsing is followed by what our side does.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "api/body.h"
#include "base/text.h"
#include "fuzz.h"
#include "loop/http.h"

enum { STEPS_MAX = 10000, BODY_MAX = 256, WAITING = 3, STREAMS = 2, LINES = 5 };

static char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
static struct http_server *server;
static sd_event *event;
static struct http_exchange *waiting[WAITING]; /* NULL: free */
static struct http_exchange *streams[STREAMS];
static int lines; /* left to say by streams */

static void on_end(enum http_end end, void *context)
{
    struct http_exchange **exchange = context;
    MUST(*exchange && end != HTTP_END_TIME);
    *exchange = NULL;
}

static size_t more(char *buffer, size_t size, void *context)
{
    (void)context;
    if (lines == 0 || size < 2)
        return 0;
    lines--;
    memcpy(buffer, "x\n", 2);
    return 2;
}

static struct http_exchange **free_place(struct http_exchange **places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!places[i])
            return &places[i];
    return NULL;
}

/* True if the request is answered later, or by a stream. */
static bool keep(const struct http_request *request)
{
    struct http_exchange **place = NULL;
    int r = -EBUSY;
    if (strcmp(request->path, "/later") == 0) {
        place = free_place(waiting, WAITING);
        r = http_later(request, on_end, place, place ? place : &(struct http_exchange *){ NULL });
    } else if (strcmp(request->path, "/stream") == 0) {
        place = free_place(streams, STREAMS);
        r = http_stream(request, "text/plain", more, on_end, place,
                        place ? place : &(struct http_exchange *){ NULL });
    }
    MUST(r == (place ? 0 : -EBUSY));
    return r == 0;
}

/* As an action of the API does. What is wrong with it has a place. */
static void read_body(const struct http_request *request)
{
    static const char *const members[] = { "reason", "announceFor", NULL };
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    const char *reason = "";
    int64_t ms = 0;
    int r = body_parse(request, &document, &faults);
    if (r == 0)
        r = body_check_members(document, members, &faults);
    if (r == 0)
        r = body_line(document, "reason", 20, &reason, &faults);
    if (r >= 0)
        r = body_duration(document, "announceFor", &ms, &faults);
    MUST(r >= 0 ? faults_none(&faults) && strlen(reason) <= 20 && ms >= 0
                : r == -EBADMSG && !faults_none(&faults));
    MUST(r >= 0 || strncmp(faults.list.items[0].place, "body:", 5) == 0);
}

static void answer_all(void)
{
    for (size_t i = 0; i < WAITING; i++) {
        struct http_reply reply = { .status = 200, .body = strdup("later\n"), .size = 6 };
        MUST(reply.body);
        if (waiting[i])
            http_later_answer(waiting[i], &reply);
        waiting[i] = NULL;
        free(reply.body);
    }
    for (size_t i = 0; i < STREAMS; i++)
        if (streams[i])
            http_stream_wake(streams[i]);
}

static bool any(struct http_exchange *const *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (places[i])
            return true;
    return false;
}

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
    if (keep(request))
        return;
    read_body(request);
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
    static const struct http_limits limits = {
        .connections = 64,
        .silence_s = 30,
        .memory = 32 * 1024,
        .waiting = WAITING,
        .wait_s = 3600,
        .streams = STREAMS,
    };
    const struct http_service service = { .handle = handle, .admit = admit, .limits = &limits };
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
    lines = LINES;
    answer_all();
    send_piece(fd, bytes + size / 2, size - size / 2);
    (void)receive(fd, &reply);
    MUST(shutdown(fd, SHUT_WR) == 0 || errno == ENOTCONN);
    do {
        answer_all(); /* the next one of the connection may wait, too */
        settle();
    } while (any(waiting, WAITING));
    MUST(receive(fd, &reply) || any(streams, STREAMS));
    closep(&fd);
    settle();
    MUST(!any(waiting, WAITING) && !any(streams, STREAMS));
    MUST(reply.length == 0 || strncmp(reply.data, "HTTP/1.", 7) == 0);
    return 0;
}
