/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a Consul agent's HTTP API, by libcurl in the event loop.
 *
 * The token, the CA and the certificate are files that are read for every request: a rotated file
 * is used from the next request on. Answers are bounded. The client does not retry: only the caller
 * can decide whether a retry is safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/consul_where.h"
#include "base/text.h"

struct consul_client;
struct consul_request;

/* What `where` names must outlive the client. Returns 0 or -errno. */
int consul_client_new(sd_event *event, const struct consul_where *where,
                      struct consul_client **ret_client);
/* To be called when no request is left. */
void consul_client_free(struct consul_client *client);
DEFINE_CLEANUP(struct consul_client *, consul_client_free);

enum { CONSUL_ERROR_LEN = 512 };

struct consul_call {
    const char *method;  /* "PUT"; NULL: GET */
    const char *path;    /* "/v1/kv/a?recurse": encoded, always with a query */
    const char *body;    /* copied; NULL: none */
    int64_t limit_ms;    /* for the whole exchange; 0: none */
    size_t answer_bytes; /* a longer body ends the request */
};

struct consul_answer {
    int status;     /* of HTTP; 0: there was no answer */
    uint64_t index; /* X-Consul-Index; 0: none */
    bool filtered;  /* Consul left out parts that the token may not read */
    int64_t retry_after_ms;
    const char *body; /* NUL-terminated; without what `data` consumed. Borrowed */
    size_t size;
    const char *error;  /* NULL: the answer is complete and its status is good */
    const char *remedy; /* NULL: the error says what to do */
};

struct consul_handler {
    /*
     * Receives the body of a good answer as it arrives; a result other than 0 ends the request.
     * NULL: the body is collected for `done`.
     */
    int (*data)(void *context, const char *bytes, size_t size);
    /* Called at the end; the request is freed. `answer` is borrowed. */
    void (*done)(void *context, const struct consul_answer *answer);
};

/* Begins a request. `handler` must outlive it. Returns 0 or -errno: then `done` is not called. */
int consul_send(struct consul_client *client, const struct consul_call *call,
                const struct consul_handler *handler, void *context,
                struct consul_request **ret_request);

/* Says why consul_send() failed, by its error. Returns what to do, static. */
const char *consul_send_failure(const struct consul_client *client, int error,
                                char why[static CONSUL_ERROR_LEN]);

/* Adds a part of a path, or a parameter's value, percent-encoded where needed. */
void consul_add_encoded(struct text *out, const char *part);

/* Cancels a request; no handler is called any more. Not from within `data`. */
void consul_cancel(struct consul_request *request);

/* A number that changes whenever another token is sent; 0 before the first. */
uint64_t consul_token_mark(const struct consul_client *client);
