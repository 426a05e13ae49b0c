/* SPDX-License-Identifier: Apache-2.0 */
/* A client for the tests of the HTTP server, driven by the same loop as the server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <systemd/sd-event.h>

#include "base/text.h"
#include "loop/http.h"

/* A service of a handler and its context alone. */
#define SERVICE(function, with) \
    (&(const struct http_service){ .handle = (function), .context = (void *)(with) })

/* A unix socket in a folder of its own, and a loop to serve it by. */
struct http_site {
    sd_event *event;
    struct http_server *server; /* NULL: none listens yet */
    char directory[32];
    char path[64];
};

/* `service` NULL: nobody listens. Fails the test where it can't. */
void http_site_open(struct http_site *site, const struct http_service *service);
void http_site_close(struct http_site *site);

struct http_client {
    sd_event *event;
    sd_event_source *source;
    int fd;
    struct text received; /* what no http_client_read() has taken yet */
    bool closed;          /* the server closed the connection */
};

/* Runs the loop once; fails the test if nothing happens for ten seconds. */
void loop_step(sd_event *event);

/* Runs the loop until nothing is pending. */
void loop_settle(sd_event *event);

/* Connects; fails the test otherwise. */
void http_client_unix(struct http_client *client, sd_event *event, const char *path);
void http_client_tcp(struct http_client *client, sd_event *event, int family, unsigned port);

/* Sends all of it, running the loop while the socket is full; false if the server hung up. */
bool http_client_send(struct http_client *client, const char *bytes, size_t size);
bool http_client_ask(struct http_client *client, const char *request);

struct http_answer {
    int status; /* 0: the connection was closed before a reply was complete */
    char *head; /* status line and headers */
    char *body;
    size_t size;
};

/* Runs the loop until one reply is there, and takes it. `head` says that no body will come. */
void http_client_read(struct http_client *client, bool head, struct http_answer *ret_answer);
void http_answer_done(struct http_answer *answer);

/* Reads one reply, which has to be this one; `body` NULL: whatever it says. */
void http_client_expect(struct http_client *client, int status, const char *body);

/* Runs the loop until the server has closed the connection. */
void http_client_wait_closed(struct http_client *client);

void http_client_close(struct http_client *client);

/* The number of descriptors that this process has open. */
size_t open_descriptors(void);
