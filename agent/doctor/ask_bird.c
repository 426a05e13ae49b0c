// SPDX-License-Identifier: Apache-2.0
/*
 * A blocking talk with BIRD: agentctl has no event loop, and asks a dozen things. What the replies
 * say is client/bird/bird_parse.h's to read.
 */
#include "doctor/ask_bird.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/text.h"

struct bird_asker {
    int fd;
    struct bird_reply reply;
    char buffer[4096];
};

void bird_asker_close(struct bird_asker *asker)
{
    if (!asker)
        return;
    if (asker->fd >= 0)
        (void)close(asker->fd);
    bird_reply_clear(&asker->reply);
    text_done(&asker->reply.text);
    vec_done(&asker->reply.lines);
    free(asker);
}

static int take_reply(struct bird_asker *asker)
{
    bird_reply_clear(&asker->reply);
    while (!asker->reply.complete) {
        size_t used;
        ssize_t got = read(asker->fd, asker->buffer, sizeof(asker->buffer));
        if (got < 0)
            return errno == EAGAIN ? -ETIMEDOUT : -errno;
        if (got == 0)
            return -EPROTO;
        int r = bird_reply_feed(&asker->reply, asker->buffer, (size_t)got, &used);
        if (r < 0)
            return r;
    }
    return 0;
}

int bird_asker_open(const char *socket_path, int64_t timeout_ms, struct bird_asker **ret_asker)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const struct timeval limit = { .tv_sec = (time_t)(timeout_ms / 1000),
                                   .tv_usec = (suseconds_t)(timeout_ms % 1000 * 1000) };
    CLEANUP(bird_asker_closep) struct bird_asker *asker = calloc(1, sizeof(*asker));

    if (!asker)
        return -ENOMEM;
    if (strlen(socket_path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, socket_path, strlen(socket_path));
    asker->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (asker->fd < 0)
        return -errno;
    (void)setsockopt(asker->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    (void)setsockopt(asker->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(asker->fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    int r = take_reply(asker);
    if (r < 0)
        return r;
    *ret_asker = TAKE_PTR(asker);
    return 0;
}

pid_t bird_asker_pid(const struct bird_asker *asker)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(asker->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

int bird_ask(struct bird_asker *asker, const char *question, const struct bird_reply **ret_reply)
{
    *ret_reply = &asker->reply;
    int r = file_write(asker->fd, question, strlen(question));
    if (r < 0)
        return r;
    r = file_write(asker->fd, "\n", 1);
    if (r < 0)
        return r;
    return take_reply(asker);
}

bool bird_has_symbol(struct bird_asker *asker, const char *name)
{
    AUTOFREE char *question = text_format("show symbols %s", name);
    const struct bird_reply *reply;
    if (!question || bird_ask(asker, question, &reply) < 0 || !bird_reply_ok(reply))
        return false;
    /* A name that it does not have gets "type: undefined", or nothing. */
    vec_each(const struct bird_line, line, &reply->lines) {
        const char *text = bird_reply_text(reply, line);
        if (strncmp(text, name, strlen(name)) == 0 && !strstr(text, "undefined"))
            return true;
    }
    return false;
}
