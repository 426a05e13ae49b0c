/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the Kubernetes API: HTTP/1.1 over TLS, answers as a stream. A request has a
 * connection of its own while it runs; idle ones are used again.
 *
 * Tokens, certificates and CAs that are files are read for every request, so that what was rotated
 * counts from the next one on. Only a slow start of a connection is noticed here (10 s), and a
 * peer that has vanished (45 s): who waits for an answer sets the limits of his patience.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "client/kube/kubeconfig.h"

struct kube_client;
struct kube_request;

/* What is told of a request, from the loop. */
struct kube_handler {
    /* The head of the answer. `retry_after_ms`: 0 if it does not say. */
    void (*started)(void *context, int status, int64_t retry_after_ms);
    /* Some bytes of the body. Anything but 0 ends the request. */
    int (*data)(void *context, const char *bytes, size_t size);
    /* The last word; the request is gone. NULL: the answer is complete. `error` is borrowed;
     * `remedy`, what to do about it, is static or NULL. */
    void (*ended)(void *context, const char *error, const char *remedy);
};

/* `config` is taken over, even on failure. Returns 0 or -errno. */
int kube_client_new(sd_event *event, struct kube_config *config, struct kube_client **ret_client);

/* When no request is left. */
void kube_client_free(struct kube_client *client);
DEFINE_CLEANUP(struct kube_client *, kube_client_free);

const struct kube_config *kube_client_config(const struct kube_client *client);

enum { KUBE_ERROR_LEN = 256 };

/* What is asked for. */
struct kube_call {
    const char *method;       /* "PATCH"; NULL: GET */
    const char *path;         /* "/api/v1/nodes?limit=500", encoded */
    const char *content_type; /* of the body */
    const char *accept;       /* of the answer; NULL: application/json */
    const char *body;         /* of what is no GET; must outlive the request */
    int64_t limit_ms;         /* for all of it, up to the end of the answer; 0: none */
};

/*
 * Begins a request. `handler` must outlive it; it is the caller's until it has ended. What has a
 * method is sent once at most. Returns 0, or -errno after writing the reason to `error`.
 */
int kube_client_send(struct kube_client *client, const struct kube_call *call,
                     const struct kube_handler *handler, void *context,
                     struct kube_request **ret_request, char error[static KUBE_ERROR_LEN]);

/* The same for a GET of `path`, which is sent again where a connection had ended unnoticed. */
int kube_client_get(struct kube_client *client, const char *path,
                    const struct kube_handler *handler, void *context,
                    struct kube_request **ret_request, char error[static KUBE_ERROR_LEN]);

/*
 * Whether the API may have got the request: the connection was there. May be asked from within
 * `ended`, too.
 */
bool kube_request_was_sent(const struct kube_request *request);

/* Ends a request without a further word. Not from within `started` or `data`. */
void kube_request_cancel(struct kube_request *request);
DEFINE_CLEANUP(struct kube_request *, kube_request_cancel);
