// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to the Kubernetes API; made by source/kube_*.c and client/kube/kube_write.c.
 *
 * A request is an easy handle of libcurl with its own options (kube_setup.c). It begins when
 * kube_client_send() is called, reports the head of the answer once, passes on the body as it
 * arrives, and frees itself with its last callback. libcurl must not be called from its own
 * callbacks: a reader ends the request by the result of `data`.
 *
 * An idle connection may be dead without any sign of it. libcurl (seen with 7.88) then resends the
 * request over another connection, whatever its method, if no byte of an answer has arrived. A
 * write must not happen twice, so the callback before each sending stops the second one.
 */
#include "client/kube/kube.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/kube/kube_failure.h"
#include "client/kube/kube_setup.h"
#include "loop/curl.h"

enum { DEAD_MOST = 32 }; /* more than loop/curl.c keeps connections */

struct kube_client {
    struct kube_config *config;
    struct curl_loop *loop;
};

struct kube_request {
    struct curl_transfer transfer;
    struct kube_client *client;
    struct kube_lists lists;
    const struct kube_handler *handler;
    void *context;
    bool started;
    bool once;     /* it must not be sent again */
    unsigned sent; /* how often sending was begun */
    bool dead;     /* the peer had closed the connection: it can't have received the request */
    unsigned deads;
    char error[CURL_ERROR_SIZE];
};

static void tell_started(struct kube_request *request)
{
    long status = 0;
    CURL *easy = request->transfer.easy;
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (request->started || status < 200)
        return; /* a trailer; an informational answer */
    request->started = true;
    request->handler->started(request->context, (int)status, curl_retry_after_ms(easy));
}

/* Called with each line of the head, the empty one that ends it included, and with each trailer. */
static size_t on_header(char *bytes, size_t size, size_t count, void *context)
{
    struct kube_request *request = context;
    if (!curl_head_fits(&request->transfer, size * count))
        return 0;
    if (*bytes == '\r' || *bytes == '\n')
        tell_started(context);
    return size * count;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
    struct kube_request *request = context;
    return request->handler->data(request->context, bytes, size * count) == 0 ? size * count : 0;
}

/* The connection is established, and the request is about to be written. */
static int on_sending(void *context, char *remote, char *local, int remote_port, int local_port)
{
    (void)remote, (void)local, (void)remote_port;
    struct kube_request *request = context;
    if (request->once && request->sent > 0)
        return CURL_PREREQFUNC_ABORT;
    request->dead = request->once && curl_peer_has_closed(request->client->loop, local_port);
    if (request->dead)
        return CURL_PREREQFUNC_ABORT;
    request->sent++;
    return CURL_PREREQFUNC_OK;
}

/* The API can't have received it; libcurl closes that connection and uses another one. */
static bool try_again(struct kube_request *request)
{
    if (!request->dead || ++request->deads > DEAD_MOST)
        return false;
    request->dead = false;
    *request->error = '\0';
    return curl_loop_start(request->client->loop, &request->transfer) == 0;
}

static void request_free(struct kube_request *request)
{
    curl_easy_cleanup(request->transfer.easy);
    kube_lists_done(&request->lists);
    free(request);
}
DEFINE_CLEANUP(struct kube_request *, request_free);

static void on_done(struct curl_transfer *transfer, CURLcode code)
{
    struct kube_request *request = CONTAINER_OF(transfer, struct kube_request, transfer);
    if (code == CURLE_ABORTED_BY_CALLBACK && try_again(request))
        return;
    CLEANUP(request_freep) struct kube_request *owned = request;
    char words[CURL_ERROR_SIZE];
    const char *error =
        curl_head_is_long(transfer) ? CURL_HEAD_LONG : curl_error(code, request->error, words);
    if (code == CURLE_ABORTED_BY_CALLBACK)
        error = "the connection ended before an answer came";
    char why[KUBE_ERROR_LEN];
    if (code == CURLE_OK) {
        owned->handler->ended(owned->context, NULL, NULL);
        return;
    }
    long os_error = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &os_error);
    const char *remedy = kube_failure_read(code, os_error, error, request->client->config, why);
    request->handler->ended(request->context, why, remedy);
}

static int set_callbacks(struct kube_request *request)
{
    CURL *easy = request->transfer.easy;
    bool set = curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->error) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_HEADERDATA, request) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_WRITEDATA, request) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_sending) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_PREREQDATA, request) == CURLE_OK;
    return set ? 0 : -ENOMEM;
}

int kube_client_new(sd_event *event, struct kube_config *config, struct kube_client **ret_client)
{
    CLEANUP(kube_client_freep) struct kube_client *client = calloc(1, sizeof(*client));
    if (!client) {
        kube_config_free(config);
        return -ENOMEM;
    }
    client->config = config;
    int r = curl_loop_new(event, &client->loop);
    if (r < 0)
        return r;
    *ret_client = TAKE_PTR(client);
    return 0;
}

void kube_client_free(struct kube_client *client)
{
    if (!client)
        return;
    curl_loop_free(client->loop);
    kube_config_free(client->config);
    free(client);
}

const struct kube_config *kube_client_config(const struct kube_client *client)
{
    return client->config;
}

int kube_client_send(struct kube_client *client, const struct kube_call *call,
                     const struct kube_handler *handler, void *context,
                     struct kube_request **ret_request, char error[static KUBE_ERROR_LEN])
{
    (void)snprintf(error, KUBE_ERROR_LEN, "no memory for a request");
    CLEANUP(request_freep) struct kube_request *request = calloc(1, sizeof(*request));
    if (!request)
        return -ENOMEM;
    request->handler = handler;
    request->context = context;
    request->client = client;
    request->once = call->method != NULL;
    request->transfer = (struct curl_transfer){ .easy = curl_easy_init(), .done = on_done };
    int r = request->transfer.easy ? set_callbacks(request) : -ENOMEM;
    if (r < 0)
        return r;
    r = kube_setup(request->transfer.easy, client->config, call, &request->lists, error);
    if (r < 0)
        return r;
    r = curl_loop_start(client->loop, &request->transfer);
    if (r < 0)
        return r;
    *ret_request = TAKE_PTR(request);
    return 0;
}

int kube_client_get(struct kube_client *client, const char *path,
                    const struct kube_handler *handler, void *context,
                    struct kube_request **ret_request, char error[static KUBE_ERROR_LEN])
{
    const struct kube_call call = { .path = path };
    return kube_client_send(client, &call, handler, context, ret_request, error);
}

bool kube_request_was_sent(const struct kube_request *request)
{
    return request->sent > 0;
}

void kube_request_cancel(struct kube_request *request)
{
    if (!request)
        return;
    curl_loop_cancel(request->client->loop, &request->transfer);
    request_free(request);
}
