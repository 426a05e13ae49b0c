// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to etcd; see etcd.h. Called by segment/etcd_store.c and segment/etcd_watch.c.
 *
 * libcurl tells when a connection is there and the request is about to be written to it. Before
 * that nobody can have heard it, and the next endpoint gets it; afterwards it is never sent again,
 * though libcurl would by itself, where an idle connection turns out to be dead.
 *
 * Errors of etcd are JSON: {"error":"...","code":N,"message":"..."}; the message is told.
 */
#include "client/etcd.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "format/reader.h"
#include "loop/curl.h"

enum {
    CONNECT_TIMEOUT_MS = 1000,
    KEEPALIVE_S = 5,
    ERROR_BODY_MAX = 4096,
};

struct etcd_client {
    struct etcd_where where;
    struct curl_loop *loop;
    size_t current; /* of the endpoints: the one that answered last */
};

struct etcd_request {
    struct curl_transfer transfer;
    struct etcd_client *client;
    struct etcd_call call;
    size_t endpoint, tries; /* the one that is asked; how many were */
    bool sent;              /* somebody may have heard it */
    struct curl_slist *headers;
    struct text path, body; /* what is asked */
    struct text answer;
    size_t answer_size;
    bool too_long;
    char error[CURL_ERROR_SIZE];
};

int etcd_client_new(sd_event *event, const struct etcd_where *where,
                    struct etcd_client **ret_client)
{
    CLEANUP(etcd_client_freep) struct etcd_client *client = calloc(1, sizeof(*client));
    if (!client)
        return -ENOMEM;
    client->where = *where;
    int r = where->endpoint_count ? curl_loop_new(event, &client->loop) : -EINVAL;
    if (r < 0)
        return r;
    *ret_client = TAKE_PTR(client);
    return 0;
}

void etcd_client_free(struct etcd_client *client)
{
    if (!client)
        return;
    curl_loop_free(client->loop);
    free(client);
}

/* ---- The answer ---- */

static long status_of(const struct etcd_request *request)
{
    long status = 0;
    (void)curl_easy_getinfo(request->transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
    struct etcd_request *request = context;
    const size_t length = size * count;
    const bool good = status_of(request) == 200;
    if (good && request->call.data) {
        request->answer_size += length;
        return request->call.data(request->call.context, bytes, length) == 0 ? length : 0;
    }
    const size_t limit = good ? request->call.answer_bytes : ERROR_BODY_MAX;
    if (request->answer.length + length > limit) {
        request->too_long = good;
        return good ? 0 : length; /* the end of a long error is not looked at */
    }
    text_add_bytes(&request->answer, bytes, length);
    return text_error(&request->answer) == 0 ? length : 0;
}

static void add_etcd_message(const struct etcd_request *request, struct text *why)
{
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    const struct doc *message = NULL;
    const char *body = text_str(&request->answer);
    if (document_parse(body, request->answer.length, "answer", READER_JSON, &document, &faults) ==
        1)
        message = doc_get(document->root, "message");
    if (message && message->type == DOC_SCALAR)
        text_add(why, message->text);
    else
        text_addf(why, "%.*s", (int)strcspn(body, "\r\n"), body);
}

static const char *remedy_of(CURLcode code, int status)
{
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
        return "see addresses.etcd.caFile, and the names in etcd's certificate";
    if (code == CURLE_SSL_CERTPROBLEM)
        return "see whether addresses.etcd.certFile and keyFile can be read and fit each other";
    if (status == 401 || status == 403)
        return "let the certificate's user read and write addresses.etcd.prefix (etcdctl role)";
    if (status == 0)
        return "see whether etcd runs at addresses.etcd.endpoints";
    return NULL;
}

static void describe(const struct etcd_request *request, CURLcode code, struct etcd_answer *answer,
                     struct text *why)
{
    const char *endpoint = request->client->where.endpoints[request->endpoint];
    answer->status = code == CURLE_OK ? (int)status_of(request) : 0;
    if (request->too_long)
        text_addf(why, "%s: the answer is longer than %zu bytes", endpoint,
                  request->call.answer_bytes);
    else if (code == CURLE_ABORTED_BY_CALLBACK)
        text_addf(why, "%s: the connection ended before an answer came", endpoint);
    else if (code != CURLE_OK)
        text_addf(why, "%s: %s", endpoint,
                  *request->error ? request->error : curl_easy_strerror(code));
    if (code == CURLE_OK && answer->status != 200) {
        text_addf(why, "%s: HTTP status %d: ", endpoint, answer->status);
        add_etcd_message(request, why);
    }
    if (!why->length)
        return;
    answer->error = text_str(why);
    answer->remedy = remedy_of(code, answer->status);
}

static void request_free(struct etcd_request *request)
{
    if (!request)
        return;
    curl_easy_cleanup(request->transfer.easy);
    curl_slist_free_all(request->headers);
    text_done(&request->path);
    text_done(&request->body);
    text_done(&request->answer);
    free(request);
}
DEFINE_CLEANUP(struct etcd_request *, request_free);

/* The connection is there, and the request is about to be written to it. */
static int on_sending(void *context, char *remote, char *local, int remote_port, int local_port)
{
    struct etcd_request *request = context;
    (void)remote, (void)local, (void)remote_port, (void)local_port;
    if (request->sent)
        return CURL_PREREQFUNC_ABORT;
    request->sent = true;
    return CURL_PREREQFUNC_OK;
}

static int send_to(struct etcd_request *request, size_t endpoint);

static bool try_next(struct etcd_request *request)
{
    const size_t count = request->client->where.endpoint_count;
    if (request->sent || request->tries >= count)
        return false;
    return send_to(request, (request->endpoint + 1) % count) == 0;
}

static void on_done(struct curl_transfer *transfer, CURLcode code)
{
    struct etcd_request *request = CONTAINER_OF(transfer, struct etcd_request, transfer);
    AUTOTEXT struct text why = { 0 };
    struct etcd_answer answer = { 0 };
    if (code != CURLE_OK && try_next(request))
        return;
    CLEANUP(request_freep) struct etcd_request *owned = request;
    describe(request, code, &answer, &why);
    /* One that took the request and did not answer is not asked first again; nor is one that
     * answers for a member without a leader. */
    if (answer.status == 0 || answer.status >= 500)
        request->client->current = (request->endpoint + 1) % request->client->where.endpoint_count;
    else
        request->client->current = request->endpoint;
    answer.body = text_str(&request->answer);
    answer.size = request->answer.length;
    owned->call.done(owned->call.context, &answer);
}

/* ---- The request ---- */

#define SET(request, option, value) \
    (curl_easy_setopt((request)->transfer.easy, option, value) == CURLE_OK)

static bool set_tls(struct etcd_request *request)
{
    const struct etcd_where *where = &request->client->where;
    bool good = SET(request, CURLOPT_SSL_VERIFYPEER, 1L) &&
                SET(request, CURLOPT_SSL_VERIFYHOST, 2L) &&
                SET(request, CURLOPT_CA_CACHE_TIMEOUT, 0L);
    if (where->ca_file)
        good = good && SET(request, CURLOPT_CAINFO, where->ca_file) &&
               SET(request, CURLOPT_CAPATH, NULL);
    if (where->cert_file)
        good = good && SET(request, CURLOPT_SSLCERT, where->cert_file);
    if (where->key_file)
        good = good && SET(request, CURLOPT_SSLKEY, where->key_file) &&
               SET(request, CURLOPT_KEYPASSWD, "");
    return good;
}

static bool set_transport(struct etcd_request *request)
{
    const struct etcd_call *call = &request->call;
    const long silence_s = (long)((call->silence_ms + 999) / 1000);
    return SET(request, CURLOPT_PROTOCOLS_STR, "http,https") &&
           SET(request, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) &&
           SET(request, CURLOPT_PROXY, "") && SET(request, CURLOPT_NOSIGNAL, 1L) &&
           SET(request, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS) &&
           SET(request, CURLOPT_TIMEOUT_MS, (long)call->limit_ms) &&
           SET(request, CURLOPT_LOW_SPEED_LIMIT, silence_s ? 1L : 0L) &&
           SET(request, CURLOPT_LOW_SPEED_TIME, silence_s) &&
           SET(request, CURLOPT_TCP_KEEPALIVE, 1L) &&
           SET(request, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S) &&
           SET(request, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_S) &&
           SET(request, CURLOPT_QUICK_EXIT, 1L) &&
           SET(request, CURLOPT_ERRORBUFFER, request->error) &&
           SET(request, CURLOPT_PREREQFUNCTION, on_sending) &&
           SET(request, CURLOPT_PREREQDATA, request) &&
           SET(request, CURLOPT_WRITEFUNCTION, on_body) && SET(request, CURLOPT_WRITEDATA, request);
}

static bool set_body(struct etcd_request *request)
{
    request->headers = curl_slist_append(NULL, "Content-Type: application/json");
    struct curl_slist *longer = curl_slist_append(request->headers, "Expect:");
    return request->headers && longer && SET(request, CURLOPT_POST, 1L) &&
           SET(request, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.length) &&
           SET(request, CURLOPT_POSTFIELDS, text_str(&request->body)) &&
           SET(request, CURLOPT_HTTPHEADER, request->headers);
}

static int send_to(struct etcd_request *request, size_t endpoint)
{
    AUTOTEXT struct text url = { 0 };
    text_addf(&url, "%s%s", request->client->where.endpoints[endpoint], text_str(&request->path));
    request->endpoint = endpoint;
    request->tries++;
    *request->error = '\0';
    if (text_error(&url) < 0 || !SET(request, CURLOPT_URL, text_str(&url)))
        return -ENOMEM;
    return curl_loop_start(request->client->loop, &request->transfer);
}

int etcd_send(struct etcd_client *client, const struct etcd_call *call,
              struct etcd_request **ret_request)
{
    CLEANUP(request_freep) struct etcd_request *request = calloc(1, sizeof(*request));
    if (!request)
        return -ENOMEM;
    request->client = client;
    request->call = *call;
    text_add(&request->path, call->path);
    text_add(&request->body, call->body);
    request->transfer = (struct curl_transfer){ .easy = curl_easy_init(), .done = on_done };
    if (text_error(&request->path) < 0 || text_error(&request->body) < 0 ||
        !request->transfer.easy || !set_transport(request) || !set_tls(request) ||
        !set_body(request))
        return -ENOMEM;
    int r = send_to(request, client->current);
    if (r < 0)
        return r;
    *ret_request = TAKE_PTR(request);
    return 0;
}

void etcd_cancel(struct etcd_request *request)
{
    if (!request)
        return;
    curl_loop_cancel(request->client->loop, &request->transfer);
    request_free(request);
}
