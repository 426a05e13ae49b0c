// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to etcd; see etcd.h and etcd_inside.h. Called by etcd.c, etcd_session.c and etcd_peer.c.
 *
 * libcurl reports when a connection is established and the request is about to be written. Before
 * that etcd can't have received the request, and it is sent to the next endpoint; afterwards it is
 * never sent again. libcurl would resend it by itself if an idle connection turns out to be dead.
 */
#include "client/etcd/etcd_inside.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "client/etcd/etcd_login.h"

enum {
    CONNECT_TIMEOUT_MS = 1000,
    KEEPALIVE_S = 5,
    DEAD_MOST = 32, /* more than loop/curl.c keeps connections */
};

static void forget_watch(struct etcd_request *request)
{
    struct etcd_client *client = request->client;
    for (size_t i = 0; i < client->watches.count; i++) {
        if (client->watches.items[i] == request)
            client->watches.items[i] = client->watches.items[--client->watches.count];
    }
}

static void wipe(struct text *text)
{
    if (text->data)
        explicit_bzero(text->data, text->length);
}

static void request_free(struct etcd_request *request)
{
    if (!request)
        return;
    if (request->call.data)
        forget_watch(request);
    etcd_session_forget(request);
    if (request->kind == ETCD_LOGS_IN) {
        wipe(&request->body);
        wipe(&request->exchange.body);
    }
    http_done(&request->exchange);
    text_done(&request->path);
    text_done(&request->body);
    free(request);
}
DEFINE_CLEANUP(struct etcd_request *, request_free);

/* The connection is established, and the request is about to be written. */
static int on_sending(void *context, char *remote, char *local, int remote_port, int local_port)
{
    struct etcd_request *request = context;
    (void)remote, (void)local, (void)remote_port;
    if (request->sent)
        return CURL_PREREQFUNC_ABORT;
    request->dead = curl_peer_has_closed(request->client->loop, local_port);
    request->sent = !request->dead;
    return request->dead ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static bool try_next(struct etcd_request *request)
{
    const size_t count = request->client->where.endpoint_count;
    if (request->sent || request->kind == ETCD_PROBES || request->tries >= count)
        return false;
    return etcd_request_send(request, (request->endpoint + 1) % count) == 0;
}

/* libcurl closes that connection and uses another one. */
static bool try_again(struct etcd_request *request)
{
    if (!request->dead || ++request->deads > DEAD_MOST)
        return false;
    request->tries--;
    return etcd_request_send(request, request->endpoint) == 0;
}

static bool needs_token(const struct etcd_request *request)
{
    return request->client->session && request->kind == ETCD_ASKS && request->call.body;
}

static int send_or_wait(struct etcd_request *request, size_t endpoint)
{
    uint64_t number;
    if (needs_token(request) && !etcd_session_token(request->client, &number))
        return etcd_session_wait(request);
    return etcd_request_send(request, endpoint);
}

/* Whether the request is sent again because etcd rejected the token: etcd did not execute it. */
static bool is_let_in(struct etcd_request *request)
{
    if (!needs_token(request) || request->was_let_in ||
        !etcd_login_is_over(http_status(&request->exchange), text_str(&request->exchange.body)))
        return false;
    request->was_let_in = true;
    etcd_session_is_over(request->client, request->token);
    request->sent = false;
    request->tries--;
    return send_or_wait(request, request->endpoint) == 0;
}

/*
 * An endpoint that took the request and did not answer is not tried first again; neither is a
 * member that reports no leader.
 */
static void note_current(const struct etcd_request *request, const struct etcd_answer *answer)
{
    struct etcd_client *client = request->client;
    const bool is_bad = answer->status == 0 || answer->status >= 500;
    if (request->kind == ETCD_PROBES && (!is_bad || client->current != request->endpoint))
        return;
    client->current =
        is_bad ? (request->endpoint + 1) % client->where.endpoint_count : request->endpoint;
}

static void on_done(struct curl_transfer *transfer, CURLcode code)
{
    struct etcd_request *request = CONTAINER_OF(transfer, struct etcd_request, exchange.transfer);
    AUTOTEXT struct text why = { 0 };
    struct etcd_answer answer = { 0 };
    etcd_peer_note(request, code);
    if (code == CURLE_OK ? is_let_in(request) : try_again(request) || try_next(request))
        return;
    CLEANUP(request_freep) struct etcd_request *owned = request;
    etcd_describe(request, code, &answer, &why);
    note_current(request, &answer);
    answer.body = text_str(&request->exchange.body);
    answer.size = request->exchange.body.length;
    owned->call.done(owned->call.context, &answer);
}

/* ---- The request ---- */

#define SET(request, option, value) HTTP_SET(&(request)->exchange, option, value)

static int prepare(struct etcd_request *request)
{
    const struct etcd_where *where = &request->client->where;
    const struct etcd_call *call = &request->call;
    const long silence_s = (long)((call->silence_ms + 999) / 1000);
    const struct http_limits limits = {
        .connect_ms = CONNECT_TIMEOUT_MS,
        .keepalive_s = KEEPALIVE_S,
        .answer_bytes = call->data ? 0 : call->answer_bytes,
    };
    const struct http_files files = {
        .ca_file = where->ca_file,
        .cert_file = where->cert_file,
        .key_file = where->key_file,
    };
    request->exchange.context = call->context;
    request->exchange.data = call->data;
    int r = http_prepare(&request->exchange, &limits, on_done);
    if (r < 0)
        return r;
    bool good =
        http_set_files(&request->exchange, &files) &&
        SET(request, CURLOPT_FRESH_CONNECT, call->data || request->kind == ETCD_PROBES ? 1L : 0L) &&
        SET(request, CURLOPT_LOW_SPEED_LIMIT, silence_s ? 1L : 0L) &&
        SET(request, CURLOPT_LOW_SPEED_TIME, silence_s) &&
        SET(request, CURLOPT_PREREQFUNCTION, on_sending) &&
        SET(request, CURLOPT_PREREQDATA, request);
    return good ? 0 : -ENOMEM;
}

static bool set_headers(struct etcd_request *request)
{
    struct http_exchange *exchange = &request->exchange;
    const struct text *body = &request->body;
    const char *token =
        needs_token(request) ? etcd_session_token(request->client, &request->token) : NULL;
    curl_headers_free(TAKE_PTR(exchange->headers));
    return http_add_header(exchange, "Content-Type", "application/json") &&
           http_add_header(exchange, "Expect", "") &&
           (!token || http_add_header(exchange, "Authorization", token)) &&
           SET(request, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->length) &&
           SET(request, CURLOPT_POSTFIELDS, text_str(body)) &&
           (body->length ? SET(request, CURLOPT_POST, 1L) : SET(request, CURLOPT_HTTPGET, 1L)) &&
           SET(request, CURLOPT_HTTPHEADER, exchange->headers);
}

/* libcurl limits each transfer separately; all transfers of a request share one limit. */
static bool set_time(struct etcd_request *request)
{
    const int64_t left_ms = request->deadline_ms - clock_mono_ms();
    return request->deadline_ms == INT64_MAX ||
           SET(request, CURLOPT_TIMEOUT_MS, (long)MAX(left_ms, 1));
}

int etcd_request_send(struct etcd_request *request, size_t endpoint)
{
    AUTOTEXT struct text url = { 0 };
    request->exchange.size = 0;
    text_done(&request->exchange.body);
    text_addf(&url, "%s%s", request->client->where.endpoints[endpoint], text_str(&request->path));
    request->endpoint = endpoint;
    request->tries++;
    request->dead = false;
    *request->exchange.error = '\0';
    if (text_error(&url) < 0 || !set_headers(request) || !set_time(request) ||
        !SET(request, CURLOPT_URL, text_str(&url)))
        return -ENOMEM;
    int r = curl_loop_start(request->client->loop, &request->exchange.transfer);
    if (r < 0)
        return r;
    if (request->call.data)
        etcd_peer_watched(request->client, endpoint);
    return 0;
}

int etcd_send_to(struct etcd_client *client, const struct etcd_call *call, size_t endpoint,
                 enum etcd_kind kind, struct etcd_request **ret_request)
{
    CLEANUP(request_freep) struct etcd_request *request = calloc(1, sizeof(*request));
    if (!request)
        return -ENOMEM;
    request->client = client;
    request->call = *call;
    request->kind = kind;
    request->deadline_ms = call->limit_ms ? clock_mono_ms() + call->limit_ms : INT64_MAX;
    text_add(&request->path, call->path);
    text_add(&request->body, call->body ? call->body : "");
    if (text_error(&request->path) < 0 || text_error(&request->body) < 0)
        return -ENOMEM;
    int r = prepare(request);
    if (r < 0)
        return r;
    if (call->data && vec_push(&client->watches, request) < 0)
        return -ENOMEM;
    r = send_or_wait(request, endpoint);
    if (r < 0)
        return r;
    *ret_request = TAKE_PTR(request);
    return 0;
}

void etcd_end(struct etcd_request *request, const struct etcd_answer *answer)
{
    CLEANUP(request_freep) struct etcd_request *owned = request;
    curl_loop_cancel(owned->client->loop, &owned->exchange.transfer);
    owned->call.done(owned->call.context, answer);
}

void etcd_drop(struct etcd_request *request)
{
    if (!request)
        return;
    etcd_peer_note(request, CURLE_ABORTED_BY_CALLBACK);
    curl_loop_cancel(request->client->loop, &request->exchange.transfer);
    request_free(request);
}
