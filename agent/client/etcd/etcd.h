/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to etcd v3 by its gRPC gateway: JSON over HTTP, in the event loop by libcurl. In this
 * JSON, keys and values are base64, numbers are strings.
 *
 * A client has several endpoints. A request is sent to the one that answered last; if no connection
 * can be made, to the next, and so on, each once. A request that etcd may have received is never
 * sent again: the caller has to find out its outcome.
 *
 * CA, certificate and key are files that are read for every connection. A client with an etcd user
 * logs in before its first request, and again when etcd does not accept its token any more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"

/*
 * Where etcd is, and how this client authenticates. The strings belong to the caller and must
 * outlive the client.
 */
struct etcd_where {
    const char *const *endpoints;     /* "https://192.0.2.1:2379" */
    size_t endpoint_count;            /* one or more */
    const char *ca_file;              /* NULL: the machine's */
    const char *cert_file, *key_file; /* NULL: none */
    /*
     * An etcd user (etcd_login.h); NULL: etcd has no authentication. Its gateway ignores the
     * CommonName of client certificates.
     */
    const char *user, *password_file;
};

struct etcd_client;
struct etcd_request;

/* Returns 0 or -errno. */
int etcd_client_new(sd_event *event, const struct etcd_where *where,
                    struct etcd_client **ret_client);
/* To be called when no request is left. */
void etcd_client_free(struct etcd_client *client);
DEFINE_CLEANUP(struct etcd_client *, etcd_client_free);

struct etcd_answer {
    int status;       /* of HTTP; 0: there was no answer */
    const char *body; /* of status 200 without `data`; NUL-terminated. Borrowed */
    size_t size;
    const char *error;      /* NULL: the answer is complete and good */
    const char *remedy;     /* static, or NULL: the error says what to do */
    int64_t retry_after_ms; /* from Retry-After, as a load balancer may send it; 0: there is none */
};

struct etcd_call {
    const char *path;    /* "/v3/kv/range" */
    const char *body;    /* JSON, copied; NULL: a GET */
    int64_t limit_ms;    /* for all of it; 0: none, for a watch */
    int64_t silence_ms;  /* of a watch: the longest silence; 0: unlimited */
    size_t answer_bytes; /* a longer body ends the request */
    /*
     * Receives a good answer as it arrives; a result other than 0 ends the request. NULL:
     * collected.
     */
    int (*data)(void *context, const char *bytes, size_t size);
    /* Called once, from the loop, never from within etcd_send(). The request is freed after it. */
    void (*done)(void *context, const struct etcd_answer *answer);
    void *context;
};

/* Begins a request. Returns 0 with the request, or -errno; then `done` is not called. */
int etcd_send(struct etcd_client *client, const struct etcd_call *call,
              struct etcd_request **ret_request);
/* Cancels a request that has no answer yet; NULL: does nothing. */
void etcd_cancel(struct etcd_request *request);
