/* SPDX-License-Identifier: Apache-2.0 */
/* The server of http.h, for those who give it sockets. Internal to loop/. */
#pragma once

#include <sys/queue.h>
#include <sys/types.h>

#include <microhttpd.h>

#include "base/text.h"
#include "loop/http.h"

struct http_sharing;

/* How a request is answered. */
enum http_way { WAY_AT_ONCE, WAY_LATER, WAY_STREAM };

/* One request, from its headers to the end of its reply. */
struct http_exchange {
    struct http_server *server;
    struct MHD_Connection *connection;
    struct text body;     /* what is kept of it */
    size_t body_max;      /* how much that may be; 0: nothing is kept */
    size_t body_seen;     /* bytes that came */
    int64_t body_late_ms; /* monotonic: when it has to be there */
    size_t unsent;        /* bytes of its reply */

    /* Of one that is answered later, or by a stream: http_later.c. */
    enum http_way way;
    bool asleep; /* libmicrohttpd has set it aside */
    bool over;   /* nobody is to be called, nor is there more to come */
    bool replied;
    struct http_reply reply; /* if it was */
    const char *content_type;
    http_more more;
    http_ended ended;
    void *context;
    int64_t until_ms; /* monotonic */
    sd_event_source *hangup;
    TAILQ_ENTRY(http_exchange) link;
};

TAILQ_HEAD(http_exchanges, http_exchange);

struct http_server {
    struct MHD_Daemon *daemon;
    sd_event *event;
    sd_event_source *io, *timer;
    struct http_exchanges waiting, streams; /* the first to wait is the first in the list */
    unsigned waiting_count, stream_count;
    size_t unsent;            /* bytes of all replies that are in memory */
    bool ending;              /* no handler is called any more */
    bool woken;               /* a connection was resumed since the last run */
    struct timer *wait_timer; /* armed while one waits */
    http_handler handle;
    http_admission admit;
    void *context;
    bool local; /* a unix socket: the peer's credentials are known */
    char *path; /* of the socket's file; NULL: it has none */
    bool made;  /* the file is ours, and to be unlinked */
    dev_t device;
    ino_t inode;
    struct http_limits limits;
    struct http_sharing *sharing; /* NULL: one socket, which is the daemon's */
    void (*sharing_free)(struct http_sharing *sharing);
};

/* Replies that nobody reads take so much memory that there is to be no other one. */
bool http_is_full(const struct http_server *server);
/* A reply of so many bytes is in memory until the exchange is over. */
void http_keep_reply(struct http_exchange *exchange, size_t size);

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

/* The same soon, from wherever it is called. */
void http_server_wake(struct http_server *server);

unsigned http_server_connections(const struct http_server *server);

/* Queues a reply and takes its body; `last` says that the connection ends with it. */
enum MHD_Result http_send_reply(struct MHD_Connection *connection, struct http_reply *reply,
                                bool last);
enum MHD_Result http_refuse(struct MHD_Connection *connection, unsigned status);

/* ---- http_later.c ---- */

/* The handler asked for it: sets the request aside, or begins the stream. */
enum MHD_Result http_later_begin(struct http_exchange *exchange);
/* libmicrohttpd has taken up a request that was set aside. */
enum MHD_Result http_later_go_on(struct http_exchange *exchange);
/* The request is over, whichever way; the exchange is about to be freed. */
void http_later_done(struct http_exchange *exchange);
/* Says to all that wait, and to all streams, that the server ends. */
void http_later_end_all(struct http_server *server);
