// SPDX-License-Identifier: Apache-2.0
/*
 * A client socket as one more source of the loop under test: it collects what comes, and its
 * functions run the loop until their condition holds. No threads, no sleeps.
 */
#include "http_client.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cmocka_all.h"

void loop_step(sd_event *event)
{
    assert_true(sd_event_run(event, 10 * 1000000) > 0);
}

void loop_settle(sd_event *event)
{
    while (sd_event_run(event, 0) > 0)
        ;
}

void http_site_open(struct http_site *site, const struct http_service *service)
{
    strcpy(site->directory, "/tmp/test_http.XXXXXX");
    assert_non_null(mkdtemp(site->directory));
    snprintf(site->path, sizeof(site->path), "%s/sock", site->directory);
    assert_int_equal(sd_event_new(&site->event), 0);
    if (service)
        assert_int_equal(
            http_listen_unix(site->event, site->path, (gid_t)-1, service, &site->server), 0);
}

void http_site_close(struct http_site *site)
{
    http_server_free(site->server);
    sd_event_unref(site->event);
    assert_int_equal(rmdir(site->directory), 0);
}

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)revents;
    static char buffer[65536];
    struct http_client *client = userdata;
    ssize_t size = recv(fd, buffer, sizeof(buffer), 0);
    if (size > 0) {
        text_add_bytes(&client->received, buffer, (size_t)size);
    } else if (size == 0 || errno != EAGAIN) {
        client->closed = true;
        sd_event_source_set_enabled(source, SD_EVENT_OFF);
    }
    return 0;
}

static void connect_to(struct http_client *client, sd_event *event, int family,
                       const struct sockaddr *address, socklen_t size)
{
    *client = (struct http_client){ .event = event };
    client->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(client->fd >= 0);
    assert_int_equal(connect(client->fd, address, size), 0);
    assert_int_equal(
        sd_event_add_io(event, &client->source, client->fd, EPOLLIN, on_readable, client), 0);
}

void http_client_unix(struct http_client *client, sd_event *event, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    assert_true(strlen(path) < sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    connect_to(client, event, AF_UNIX, (struct sockaddr *)&address, sizeof(address));
}

void http_client_tcp(struct http_client *client, sd_event *event, int family, unsigned port)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
                               .sin6_port = htons((uint16_t)port),
                               .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    if (family == AF_INET)
        connect_to(client, event, family, (struct sockaddr *)&v4, sizeof(v4));
    else
        connect_to(client, event, family, (struct sockaddr *)&v6, sizeof(v6));
}

bool http_client_send(struct http_client *client, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(client->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            return false;
        if (sent < 0) {
            /* A server that reads has something to do; one that never reads fails the test. */
            loop_step(client->event);
            continue;
        }
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

bool http_client_ask(struct http_client *client, const char *request)
{
    return http_client_send(client, request, strlen(request));
}

/* The size of the reply at the start of what was received; 0 if it is not complete. */
static size_t reply_size(const struct http_client *client, bool head, size_t *ret_head_size)
{
    const char *end = strstr(text_str(&client->received), "\r\n\r\n");
    if (!end)
        return 0;
    size_t head_size = (size_t)(end + 4 - client->received.data), body_size = 0;
    const char *length = strcasestr(client->received.data, "\r\nContent-Length:");
    if (!head && length && length < end)
        body_size = strtoul(length + strlen("\r\nContent-Length:"), NULL, 10);
    if (client->received.length < head_size + body_size)
        return 0;
    *ret_head_size = head_size;
    return head_size + body_size;
}

void http_client_read(struct http_client *client, bool head, struct http_answer *ret_answer)
{
    size_t size, head_size = 0;
    while ((size = reply_size(client, head, &head_size)) == 0 && !client->closed)
        loop_step(client->event);

    *ret_answer = (struct http_answer){ 0 };
    if (size == 0)
        return;
    ret_answer->size = size - head_size;
    ret_answer->head = strndup(client->received.data, head_size);
    ret_answer->body = calloc(1, ret_answer->size + 1);
    assert_non_null(ret_answer->head);
    assert_non_null(ret_answer->body);
    memcpy(ret_answer->body, client->received.data + head_size, ret_answer->size);
    assert_int_equal(sscanf(ret_answer->head, "HTTP/1.1 %d ", &ret_answer->status), 1);

    struct text rest = { 0 };
    text_add_bytes(&rest, client->received.data + size, client->received.length - size);
    text_done(&client->received);
    client->received = rest;
}

void http_answer_done(struct http_answer *answer)
{
    free(answer->head);
    free(answer->body);
}

void http_client_wait_closed(struct http_client *client)
{
    while (!client->closed)
        loop_step(client->event);
}

void http_client_close(struct http_client *client)
{
    sd_event_source_disable_unref(client->source);
    close(client->fd);
    text_done(&client->received);
}

size_t open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    size_t count = 0;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

void http_client_expect(struct http_client *client, int status, const char *body)
{
    CLEANUP(http_answer_done) struct http_answer answer;
    http_client_read(client, false, &answer);
    assert_int_equal(answer.status, status);
    if (body)
        assert_string_equal(answer.body, body);
}
