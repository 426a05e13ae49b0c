/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP server in the event loop: libmicrohttpd with an external loop, no threads.
 *
 * One server serves one listening socket and, unless its service says otherwise, up to 64
 * connections, each closed when silent for 30 seconds. Methods other than GET, HEAD and POST are
 * refused with 405; a HEAD is answered like a GET, whose body is then left out.
 *
 * Bodies of requests are dropped, and refused with 413 above 64 KiB, unless the service admits
 * them: then it is asked when the headers are there, and may refuse the request before any of the
 * body is taken. Who is longer than ten seconds about a body that is kept is hung up on.
 *
 * A handler may answer later: with http_later() it keeps the request until it knows what to say,
 * and with http_stream() it answers by a body that goes on. Both are bounded in number, neither
 * costs anything while there is nothing to say, and a client that goes away ends both.
 *
 * Replies that clients do not read take 256 MiB and one more reply at most: above it, everybody is
 * told 503.
 *
 * A shared server has any number of listening sockets, limits of its own, and leaves the method to
 * the handler.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/net/ip.h"

struct http_request {
    const char *method; /* "GET" */
    const char *path;   /* without the query */
    bool peer_known;    /* unix sockets: the credentials below are the kernel's */
    uid_t peer_uid;
    gid_t peer_gid;
    struct ip local; /* TCP: the address and port that the client connected to; else IP_NONE */
    uint16_t local_port;
    const char *body; /* with a NUL behind; NULL: there is none, or it is not kept */
    size_t body_size;
    void *connection;               /* for http_query() and http_header() */
    struct http_exchange *exchange; /* for http_later() and http_stream() */
};

struct http_header {
    const char *name; /* static string; NULL: none */
    char value[16];
};

enum { HTTP_HEADERS_MAX = 2 };

struct http_reply {
    unsigned status;          /* 200 ...; 0: hang up without a reply */
    const char *content_type; /* static string; default "application/json" */
    char *body;               /* freed by the server; may be NULL */
    size_t size;
    struct http_header headers[HTTP_HEADERS_MAX];
};

/*
 * A query argument, decoded; NULL if absent or without "=". Names match in any case. Borrowed while
 * the handler runs.
 */
const char *http_query(const struct http_request *request, const char *name);

/* The value of a header of the request, or NULL; as above. */
const char *http_header(const struct http_request *request, const char *name);

/* Whether a body follows the headers. */
bool http_has_body(const struct http_request *request);

/* Fills in the reply. Must not block, and must not free the server. */
typedef void (*http_handler)(const struct http_request *request, struct http_reply *reply,
                             void *context);

/*
 * Called when the headers are there. Returns how many bytes of a body are kept for the handler; 0:
 * none, and what comes is dropped. With a reply filled in the request is refused: nothing of the
 * body is taken, and the handler is not called.
 */
typedef size_t (*http_admission)(const struct http_request *request, struct http_reply *reply,
                                 void *context);

struct http_limits {
    unsigned connections; /* for one more: it waits; at a shared server, the oldest is closed */
    unsigned silence_s;   /* a connection without a word ends */
    size_t memory;        /* of one connection: the headers of request and reply */
    unsigned waiting;     /* requests that are answered later; 0: none may be */
    unsigned wait_s;      /* who is not answered by then gets 504 */
    unsigned streams;     /* bodies that go on; 0: none may */
};

/* Who answers at a server, and how much of it. */
struct http_service {
    http_handler handle;
    http_admission admit;             /* NULL: bodies are dropped */
    void *context;                    /* of both */
    const struct http_limits *limits; /* copied; NULL: as said at the top */
};

struct http_server;

/*
 * Serves a unix socket at `path` (replaced if a stale one is there; mode 0660, group `gid` unless
 * (gid_t)-1). Unlinked on free. Returns 0 or -errno (-EADDRINUSE: somebody answers there;
 * -ENOTSOCK: the file there is no socket).
 */
int http_listen_unix(sd_event *event, const char *path, gid_t gid,
                     const struct http_service *service, struct http_server **ret_server);

/* Whether the file of a unix socket is there: without it nobody finds the server. */
bool http_server_has_file(const struct http_server *server);

/*
 * Serves a listening socket that somebody else made (the service manager), which goes on listening
 * there when the server is freed: connections then wait for the next one. `fd` is the server's in
 * any case. Returns 0 or -errno (-EINVAL: not a listening stream socket).
 */
int http_listen_fd(sd_event *event, int fd, const struct http_service *service,
                   struct http_server **ret_server);

/*
 * Serves TCP at "address:port" or "[address]:port"; [::] is every address of both families.
 * Returns 0 or -errno (-EINVAL: not of the form).
 */
int http_listen_tcp(sd_event *event, const char *endpoint, const struct http_service *service,
                    struct http_server **ret_server);

/* A shared server, without a socket as yet. Returns 0 or -errno. */
int http_server_new(sd_event *event, const struct http_service *service,
                    struct http_server **ret_server);

/*
 * Serves a listening, non-blocking socket (tcp.h), too, until its owner closes it. Connections
 * that came by it stay: the handler is told where they are. Returns 0 or -errno.
 */
int http_server_add(struct http_server *server, int listen_fd);

/* One request that is answered later, or by a stream. */
struct http_exchange;

/* Why a request needs no answer any more, or a stream no more lines. */
enum http_end {
    HTTP_END_CLIENT, /* the client is gone */
    HTTP_END_TIME,   /* it waited for too long, and is told so: 504 */
    HTTP_END_SERVER, /* the server is about to be freed; who waits is told so: 503 */
};

/* Called once; the exchange is not to be used any more. Must not free the server. */
typedef void (*http_ended)(enum http_end end, void *context);

/*
 * For a handler: its reply is left alone, and the request is answered by http_later_answer(), at
 * any time, also before the handler returns. Returns 0 with the exchange; -EBUSY if so many wait
 * already as may (the handler replies itself then, as ever), -ENOMEM.
 */
int http_later(const struct http_request *request, http_ended ended, void *context,
               struct http_exchange **ret_exchange);

/* Answers; takes the reply's body. `ended` is not called any more. */
void http_later_answer(struct http_exchange *exchange, struct http_reply *reply);

/*
 * Writes what there is to say into `buffer`, and returns how many bytes; 0: nothing now. It is
 * called as fast as the client reads, and again after 0 when http_stream_wake() was called.
 */
typedef size_t (*http_more)(char *buffer, size_t size, void *context);

/*
 * For a handler: the request is answered with 200 and a body of the type (a static string), in
 * pieces that `more` gives, until the client goes or the server ends. Returns as http_later().
 */
int http_stream(const struct http_request *request, const char *content_type, http_more more,
                http_ended ended, void *context, struct http_exchange **ret_exchange);
void http_stream_wake(struct http_exchange *exchange);

void http_server_free(struct http_server *server);
DEFINE_CLEANUP(struct http_server *, http_server_free);
