// SPDX-License-Identifier: Apache-2.0
/*
 * One question to agentd; see ask.h.
 *
 * The agent's other clients use libcurl (client/agent.c). Here a process lives for one question or
 * two, and to load and prepare libcurl alone was measured to take 4 ms of processor time and 33
 * libraries; 160 pods that start at once would pay for it 160 times. HTTP/1.0 is all it takes: no
 * connection is kept, no chunks come, and the answer ends where the connection does.
 *
 * An agent that ends hangs up on whom it has not answered; where the service manager holds the
 * socket the next one answers, so the question is put once more. All questions of this room may be
 * repeated: each names the state that is wanted.
 */
#include "cni/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/macro.h"
#include "base/text.h"
#include "cni/reply.h"

enum { ANSWER_BYTES = 4 << 20 };

/* From here on, each wait of the socket ends at the deadline. */
static int bound(int fd, int64_t deadline_ms)
{
    int64_t left_ms = deadline_ms - clock_mono_ms();
    if (left_ms <= 0)
        return -ETIMEDOUT;
    const struct timeval left = { .tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000 };
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof(left)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left)) < 0)
        return -errno;
    return 0;
}

/* What the last call of the socket failed with. */
static int trouble(void)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return -ETIMEDOUT;
    return errno == EPIPE ? -ECONNRESET : -errno;
}

static int reach(const char *path, int64_t deadline_ms, int *ret_fd)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    AUTOCLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int r = bound(fd, deadline_ms);
    if (r < 0)
        return r;
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return trouble();
    *ret_fd = TAKE_FD(fd);
    return 0;
}

static int send_all(int fd, const struct text *request)
{
    for (size_t sent = 0; sent < request->length;) {
        ssize_t r = send(fd, request->data + sent, request->length - sent, MSG_NOSIGNAL);
        if (r < 0 && errno != EINTR)
            return trouble();
        sent += r > 0 ? (size_t)r : 0;
    }
    return 0;
}

static int receive_all(int fd, int64_t deadline_ms, struct text *answer)
{
    char buffer[16384];
    for (;;) {
        int r = bound(fd, deadline_ms);
        if (r < 0)
            return r;
        ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return trouble();
        if (got == 0)
            return answer->length ? text_error(answer) : -ECONNRESET;
        if (answer->length + (size_t)got > ANSWER_BYTES)
            return -EFBIG;
        text_add_bytes(answer, buffer, (size_t)got);
    }
}

static int exchange(const char *path, const struct text *request, int64_t deadline_ms,
                    struct text *answer)
{
    AUTOCLOSE int fd = -1;
    int r = reach(path, deadline_ms, &fd);
    if (r < 0)
        return r;
    r = send_all(fd, request);
    return r < 0 ? r : receive_all(fd, deadline_ms, answer);
}

static int exchange_again(const char *path, const struct text *request, int64_t deadline_ms,
                          struct text *answer)
{
    int r = exchange(path, request, deadline_ms, answer);
    if (r != -ECONNRESET)
        return r;
    text_truncate(answer, 0);
    return exchange(path, request, deadline_ms, answer);
}

static void write_request(struct text *out, const struct question *question)
{
    const char *document = question->document ? question->document : "";
    text_addf(out, "%s %s HTTP/1.0\r\nHost: agent\r\n", question->method, question->path);
    if (question->document)
        text_add(out, "Content-Type: application/json\r\n");
    text_addf(out, "Content-Length: %zu\r\n\r\n%s", strlen(document), document);
}

int ask(const char *socket, const struct question *question, long *ret_status, char **ret_body)
{
    AUTOTEXT struct text request = { 0 };
    AUTOTEXT struct text answer = { 0 };
    write_request(&request, question);
    if (text_error(&request) < 0)
        return -ENOMEM;
    int r = exchange_again(socket, &request, clock_mono_ms() + question->timeout_ms, &answer);
    if (r < 0)
        return r;
    const char *body;
    long status;
    r = reply_parse(text_str(&answer), answer.length, &status, &body);
    if (r < 0)
        return r;
    char *copy = strdup(body);
    if (!copy)
        return -ENOMEM;
    *ret_status = status;
    *ret_body = copy;
    return 0;
}
