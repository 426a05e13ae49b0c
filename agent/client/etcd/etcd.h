/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to etcd v3 by its gRPC gateway: JSON over HTTP, in the event loop by libcurl. Keys and
 * values are base64 in it, numbers are strings.
 *
 * A client has several endpoints. A request goes to the one that answered last; where there is no
 * connection, it goes to the next, and so on, once round. A request that may have been heard is
 * never sent again: who asked has to find out what became of it.
 *
 * CA, certificate and key are files, and are read for every connection. A client that is a user of
 * etcd's logs in before its first request, and again when etcd knows its token no more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"

/* Where etcd is, and how it knows us. The strings are the owner's, who outlives the client. */
struct etcd_where {
    const char *const *endpoints;     /* "https://192.0.2.1:2379" */
    size_t endpoint_count;            /* one or more */
    const char *ca_file;              /* NULL: the machine's */
    const char *cert_file, *key_file; /* NULL: none */
    /* Of etcd's users (etcd_login.h); NULL: etcd has none. Its gateway goes by no certificate. */
    const char *user, *password_file;
};

struct etcd_client;
struct etcd_request;

/* Returns 0 or -errno. */
int etcd_client_new(sd_event *event, const struct etcd_where *where,
                    struct etcd_client **ret_client);
/* When no request is left. */
void etcd_client_free(struct etcd_client *client);
DEFINE_CLEANUP(struct etcd_client *, etcd_client_free);

struct etcd_answer {
    int status;       /* of HTTP; 0: there was no answer */
    const char *body; /* of status 200 without `data`; a NUL follows. Borrowed */
    size_t size;
    const char *error;      /* NULL: the answer is complete and good */
    const char *remedy;     /* static, or NULL: the error says it */
    int64_t retry_after_ms; /* as who answered asks for, as a balancer may; 0: nobody does */
};

struct etcd_call {
    const char *path;    /* "/v3/kv/range" */
    const char *body;    /* JSON, copied; NULL: a GET */
    int64_t limit_ms;    /* for all of it; 0: none, for a watch */
    int64_t silence_ms;  /* of a watch: for how long nothing may come; 0: for ever */
    size_t answer_bytes; /* more of a body ends the request */
    /* Bytes of a good answer as they come; anything but 0 ends the request. NULL: collected. */
    int (*data)(void *context, const char *bytes, size_t size);
    /* Once, from the loop, never from within etcd_send(). The request is gone after it. */
    void (*done)(void *context, const struct etcd_answer *answer);
    void *context;
};

/* Returns 0 with a request, which is under way, or -errno; then `done` is not called. */
int etcd_send(struct etcd_client *client, const struct etcd_call *call,
              struct etcd_request **ret_request);
/* Ends one that was not answered yet; NULL: nothing. */
void etcd_cancel(struct etcd_request *request);
