/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the Kubernetes API: HTTP/1.1 over TLS, answers as a stream. A request uses a
 * connection exclusively while it runs; idle connections are reused.
 *
 * Tokens, certificates and CAs in files are read for every request, so a rotated file is used from
 * the next request on. This layer detects only a connection that takes too long to set up (10 s)
 * and a dead peer (45 s); the caller limits the time of an answer.
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

/* Callbacks of a request, from the loop. */
struct kube_handler {
    /* The head of the answer. `retry_after_ms`: 0 if it does not say. */
    void (*started)(void *context, int status, int64_t retry_after_ms);
    /* Some bytes of the body. Anything but 0 ends the request. */
    int (*data)(void *context, const char *bytes, size_t size);
    /*
     * Called at the end; the request is freed. `error` NULL: the answer is complete. `error` is
     * borrowed; `remedy`, what to do about it, is static or NULL.
     */
    void (*ended)(void *context, const char *error, const char *remedy);
};

/* Takes ownership of `config`, even on failure. Returns 0 or -errno. */
int kube_client_new(sd_event *event, struct kube_config *config, struct kube_client **ret_client);

/* To be called when no request is left. */
void kube_client_free(struct kube_client *client);
DEFINE_CLEANUP(struct kube_client *, kube_client_free);

const struct kube_config *kube_client_config(const struct kube_client *client);

enum { KUBE_ERROR_LEN = 256 };

/* A request. */
struct kube_call {
    const char *method;       /* "PATCH"; NULL: GET */
    const char *path;         /* "/api/v1/nodes?limit=500", encoded */
    const char *content_type; /* of the body */
    const char *accept;       /* of the answer; NULL: application/json */
    const char *body;         /* of methods other than GET; must outlive the request */
    int64_t limit_ms;         /* for the whole exchange, up to the end of the answer; 0: none */
};

/*
 * Begins a request. `handler` must outlive it and stays the caller's. A request with a method is
 * sent at most once. Returns 0, or -errno after writing the reason to `error`.
 */
int kube_client_send(struct kube_client *client, const struct kube_call *call,
                     const struct kube_handler *handler, void *context,
                     struct kube_request **ret_request, char error[static KUBE_ERROR_LEN]);

/*
 * The same for a GET of `path`, which is sent again if an idle connection turns out to be closed.
 */
int kube_client_get(struct kube_client *client, const char *path,
                    const struct kube_handler *handler, void *context,
                    struct kube_request **ret_request, char error[static KUBE_ERROR_LEN]);

/*
 * Whether the API may have received the request: the connection was established. May also be called
 * from within `ended`.
 */
bool kube_request_was_sent(const struct kube_request *request);

/* Cancels a request; no callback is called any more. Not from within `started` or `data`. */
void kube_request_cancel(struct kube_request *request);
DEFINE_CLEANUP(struct kube_request *, kube_request_cancel);
