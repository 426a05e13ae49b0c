/* SPDX-License-Identifier: Apache-2.0 */
/* The server of http.h, for those who give it sockets. Internal to loop/. */
#pragma once

#include <sys/types.h>

#include <microhttpd.h>

#include "base/text.h"
#include "loop/http.h"

struct http_sharing;

/* One request, from its headers to the end of its reply. */
struct http_exchange {
    struct http_server *server;
    struct MHD_Connection *connection;
    struct text body;     /* what is kept of it */
    size_t body_max;      /* how much that may be; 0: nothing is kept */
    size_t body_seen;     /* bytes that came */
    int64_t body_late_ms; /* monotonic: when it has to be there */
};

struct http_server {
    struct MHD_Daemon *daemon;
    sd_event_source *io, *timer;
    http_handler handle;
    http_admission admit;
    void *context;
    bool local; /* a unix socket: the peer's credentials are known */
    char *path; /* of the socket's file, to be unlinked; NULL: none of ours */
    dev_t device;
    ino_t inode;
    struct http_limits limits;
    struct http_sharing *sharing; /* NULL: one socket, which is the daemon's */
    void (*sharing_free)(struct http_sharing *sharing);
};

/* A server that does nothing yet. Returns 0 or -ENOMEM. */
int http_server_make(const struct http_service *service, struct http_server **ret_server);

/*
 * Starts to serve a listening socket, which becomes the server's in any case; -1: none. `options`
 * are further ones of libmicrohttpd, or NULL. Returns 0 or -errno.
 */
int http_server_start(sd_event *event, int listen_fd, const struct MHD_OptionItem *options,
                      struct http_server *server);

/* Serves what is to be served, and sets the time of the next run. */
void http_server_run(struct http_server *server);

unsigned http_server_connections(const struct http_server *server);
