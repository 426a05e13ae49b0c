// SPDX-License-Identifier: Apache-2.0
/* An HTTP server that follows a script; see fake_api.h. */
#include "fake_api.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"

void fake_peer_cut(struct fake_peer *peer)
{
    peer->source = sd_event_source_disable_unref(peer->source);
    if (peer->fd >= 0)
        close(peer->fd);
    peer->fd = -1;
    text_truncate(&peer->request, 0);
}

void fake_peer_send(struct fake_peer *peer, const char *bytes, size_t size)
{
    while (size > 0 && peer->fd >= 0) {
        ssize_t sent = send(peer->fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0) { /* the client has hung up: its right */
            fake_peer_cut(peer);
            return;
        }
        bytes += sent;
        size -= (size_t)sent;
    }
}

void fake_peer_send_many(struct fake_peer *peer, const char *bytes, size_t size)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return;
    while (size > 0) {
        ssize_t sent = send(peer->fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            _exit(0);
        bytes += sent;
        size -= (size_t)sent;
    }
    _exit(0);
}

static void send_text(struct fake_peer *peer, struct text *text)
{
    assert_int_equal(text_error(text), 0);
    fake_peer_send(peer, text->data, text->length);
}

void fake_peer_answer(struct fake_peer *peer, int status, const char *headers, const char *body)
{
    AUTOTEXT struct text text = { 0 };
    text_addf(&text, "HTTP/1.1 %d Said\r\nContent-Length: %zu\r\n%s\r\n%s", status, strlen(body),
              headers ? headers : "", body);
    send_text(peer, &text);
}

void fake_peer_begin(struct fake_peer *peer, int status)
{
    AUTOTEXT struct text text = { 0 };
    text_addf(&text, "HTTP/1.1 %d Said\r\nTransfer-Encoding: chunked\r\n\r\n", status);
    send_text(peer, &text);
}

void fake_peer_say(struct fake_peer *peer, const char *piece)
{
    AUTOTEXT struct text text = { 0 };
    text_addf(&text, "%zx\r\n%s\r\n", strlen(piece), piece);
    send_text(peer, &text);
}

void fake_peer_end(struct fake_peer *peer)
{
    fake_peer_send(peer, "0\r\n\r\n", 5);
}

const char *fake_peer_header(const struct fake_peer *peer, const char *name)
{
    static char value[1024];
    size_t length = strlen(name);
    for (const char *line = strstr(text_str(&peer->request), "\r\n"); line;
         line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, length) != 0 || line[2 + length] != ':')
            continue;
        const char *from = line + 2 + length + 1;
        from += strspn(from, " ");
        (void)snprintf(value, sizeof(value), "%.*s", (int)strcspn(from, "\r"), from);
        return value;
    }
    return NULL;
}

const char *fake_peer_body(const struct fake_peer *peer)
{
    const char *end = strstr(text_str(&peer->request), "\r\n\r\n");
    return end ? end + 4 : "";
}

/* Whether the head and the body that it announces have come. */
static bool is_whole(const struct fake_peer *peer)
{
    if (!strstr(text_str(&peer->request), "\r\n\r\n"))
        return false;
    const char *length = fake_peer_header(peer, "Content-Length");
    return !length || strlen(fake_peer_body(peer)) >= strtoul(length, NULL, 10);
}

static int on_peer(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source, (void)events;
    struct fake_peer *peer = userdata;
    char bytes[4096];
    ssize_t size = recv(fd, bytes, sizeof(bytes), 0);
    if (size <= 0) {
        fake_peer_cut(peer);
        return 0;
    }
    if (is_whole(peer))
        text_truncate(&peer->request, 0); /* the next one */
    text_add_bytes(&peer->request, bytes, (size_t)size);
    if (!is_whole(peer))
        return 0;
    assert_int_equal(
        sscanf(text_str(&peer->request), "%7s %2047s HTTP/1.1\r\n", peer->method, peer->path), 2);
    bool get = strcmp(peer->method, "GET") == 0;
    peer->api->requests++;
    text_addf(&peer->api->heard, "%s%s%s\n", get ? "" : peer->method, get ? "" : " ", peer->path);
    peer->api->asked(peer, peer->api->context);
    return 0;
}

static int on_listener(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source, (void)events;
    struct fake_api *api = userdata;
    struct fake_peer *peer = api->peers;
    int on = 1;
    while (peer->fd >= 0)
        assert_true(++peer < api->peers + FAKE_PEERS);
    peer->fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(peer->fd >= 0);
    assert_int_equal(setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
    api->connections++;
    assert_true(sd_event_add_io(api->event, &peer->source, peer->fd, EPOLLIN, on_peer, peer) >= 0);
    return 0;
}

void fake_api_listen(struct fake_api *api)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(api->port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    int on = 1;
    api->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(api->listener >= 0);
    assert_int_equal(setsockopt(api->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    assert_int_equal(bind(api->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(api->listener, FAKE_PEERS), 0);
    assert_int_equal(getsockname(api->listener, (struct sockaddr *)&address, &length), 0);
    api->port = ntohs(address.sin_port);
    (void)snprintf(api->url, sizeof(api->url), "http://127.0.0.1:%u", api->port);
    assert_true(
        sd_event_add_io(api->event, &api->source, api->listener, EPOLLIN, on_listener, api) >= 0);
}

void fake_api_start(struct fake_api *api, sd_event *event,
                    void (*asked)(struct fake_peer *peer, void *context), void *context)
{
    *api = (struct fake_api){ .event = event, .asked = asked, .context = context };
    for (size_t i = 0; i < FAKE_PEERS; i++)
        api->peers[i] = (struct fake_peer){ .api = api, .fd = -1 };
    fake_api_listen(api);
}

void fake_api_stop(struct fake_api *api)
{
    for (size_t i = 0; i < FAKE_PEERS; i++)
        fake_peer_cut(&api->peers[i]);
    api->source = sd_event_source_disable_unref(api->source);
    if (api->listener >= 0)
        close(api->listener);
    api->listener = -1;
}

void fake_api_done(struct fake_api *api)
{
    fake_api_stop(api);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    for (size_t i = 0; i < FAKE_PEERS; i++)
        text_done(&api->peers[i].request);
    text_done(&api->heard);
}
