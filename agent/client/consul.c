// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to Consul; see consul.h. Called by client/consul_*.c and the controller's export.
 *
 * Consul answers a blocking query when something has changed, or after its time; a connection is
 * silent in between, so that a peer that vanished is noticed by keep-alive. Errors come as plain
 * text in the body: its first line is told.
 */
#include "client/consul.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/macro.h"
#include "base/text.h"
#include "client/consul_ca.h"
#include "loop/curl.h"

enum {
    CONNECT_TIMEOUT_MS = 5000,
    KEEPALIVE_S = 15,
    TOKEN_MAX = 4096,      /* bytes of its file */
    ERROR_BODY_MAX = 4096, /* bytes of a bad answer that are looked at */
    HEADER_VALUE_MAX = 128,
};

#define UNIX_SCHEME "unix://"

struct consul_client {
    struct consul_where where;
    struct curl_loop *loop;
};

struct consul_request {
    struct curl_transfer transfer;
    struct consul_client *client;
    const struct consul_handler *handler;
    void *context;
    struct curl_slist *headers, *connect_to;
    struct text body;
    size_t answer_bytes;
    struct consul_answer answer;
    bool too_long;
    char error[CURL_ERROR_SIZE];
};

int consul_client_new(sd_event *event, const struct consul_where *where,
                      struct consul_client **ret_client)
{
    CLEANUP(consul_client_freep) struct consul_client *client = calloc(1, sizeof(*client));
    if (!client)
        return -ENOMEM;
    client->where = *where;
    int r = curl_loop_new(event, &client->loop);
    if (r < 0)
        return r;
    *ret_client = TAKE_PTR(client);
    return 0;
}

void consul_client_free(struct consul_client *client)
{
    if (!client)
        return;
    curl_loop_free(client->loop);
    free(client);
}

void consul_add_encoded(struct text *out, const char *part)
{
    for (const char *at = part; *at; at++) {
        if (isalnum((unsigned char)*at) || strchr("-._~", *at))
            text_add_char(out, *at);
        else
            text_addf(out, "%%%02X", (unsigned char)*at);
    }
}

/* ---- The answer ---- */

/* The value of a header line, if it is this one's. */
static bool header_value(const char *line, size_t size, const char *name,
                         char value[static HEADER_VALUE_MAX])
{
    size_t length = strlen(name);
    if (size <= length || strncasecmp(line, name, length) != 0 || line[length] != ':')
        return false;
    (void)snprintf(value, HEADER_VALUE_MAX, "%.*s", (int)(size - length - 1), line + length + 1);
    return true;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *context)
{
    struct consul_request *request = context;
    char value[HEADER_VALUE_MAX];
    if (header_value(bytes, size * count, "X-Consul-Index", value))
        request->answer.index = strtoull(value, NULL, 10);
    if (header_value(bytes, size * count, "X-Consul-Results-Filtered-By-ACLs", value))
        request->answer.filtered = strstr(value, "true") != NULL;
    return size * count;
}

static long status_of(const struct consul_request *request)
{
    long status = 0;
    (void)curl_easy_getinfo(request->transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
    struct consul_request *request = context;
    size_t length = size * count;
    bool good = status_of(request) == 200;
    if (good && request->handler->data) {
        request->answer.size += length;
        request->too_long = request->answer.size > request->answer_bytes;
        if (request->too_long || request->handler->data(request->context, bytes, length) != 0)
            return 0;
        return length;
    }
    size_t limit = good ? request->answer_bytes : ERROR_BODY_MAX;
    if (request->body.length + length > limit) {
        request->too_long = good;
        return good ? 0 : length; /* the end of a long error is not looked at */
    }
    text_add_bytes(&request->body, bytes, length);
    return text_error(&request->body) == 0 ? length : 0;
}

static const char *remedy_for(int status)
{
    switch (status) {
    case 0:
        return "see whether Consul runs at consul.address, and whether its certificate fits";
    case 403:
        return "give the token of consul.tokenFile the rights that docs/operations.md lists";
    case 429:
        return "Consul limits requests: raise its limits, or wait";
    default:
        return NULL;
    }
}

/* The first line of a bad answer, or of libcurl's error. */
static void describe(struct consul_request *request, CURLcode code, struct text *why)
{
    struct consul_answer *answer = &request->answer;
    if (request->too_long) {
        text_addf(why, "the answer is longer than %zu bytes", request->answer_bytes);
    } else if (code != CURLE_OK) {
        text_add(why, *request->error ? request->error : curl_easy_strerror(code));
        answer->status = 0;
    } else if (answer->status == 200 || answer->status == 404 || answer->status == 409) {
        return;
    } else {
        const char *body = text_str(&request->body);
        text_addf(why, "HTTP status %d: %.*s", answer->status, (int)strcspn(body, "\r\n"), body);
    }
    answer->error = text_str(why);
    answer->remedy = remedy_for(answer->status);
}

static void request_free(struct consul_request *request)
{
    curl_easy_cleanup(request->transfer.easy);
    curl_slist_free_all(request->headers);
    curl_slist_free_all(request->connect_to);
    text_done(&request->body);
    free(request);
}
DEFINE_CLEANUP(struct consul_request *, request_free);

static void on_done(struct curl_transfer *transfer, CURLcode code)
{
    CLEANUP(request_freep)
    struct consul_request *request = CONTAINER_OF(transfer, struct consul_request, transfer);
    struct consul_answer *answer = &request->answer;
    curl_off_t retry_after_s = 0;
    AUTOTEXT struct text why = { 0 };
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    answer->status = (int)status_of(request);
    answer->retry_after_ms = (int64_t)retry_after_s * 1000;
    describe(request, code, &why);
    answer->body = text_str(&request->body);
    if (!request->handler->data)
        answer->size = request->body.length;
    request->handler->done(request->context, answer);
}

/* ---- The request ---- */

#define SET(request, option, value) \
    (curl_easy_setopt((request)->transfer.easy, option, value) == CURLE_OK)

static bool add_header(struct consul_request *request, const char *name, const char *value)
{
    AUTOFREE char *line = text_format("%s: %s", name, value);
    struct curl_slist *longer = line ? curl_slist_append(request->headers, line) : NULL;
    if (longer)
        request->headers = longer;
    return longer != NULL;
}

/* A token is one word; a file ends it with white space. */
static int add_token(struct consul_request *request)
{
    const struct consul_where *where = &request->client->where;
    AUTOFREE char *content = NULL;
    size_t size;
    if (where->token_file) {
        int r = file_read(where->token_file, TOKEN_MAX, &content, &size);
        if (r < 0)
            return r;
        content[strcspn(content, " \t\r\n")] = '\0';
    }
    const char *token = content ? content : where->token;
    if (!token || !*token)
        return 0;
    return add_header(request, "X-Consul-Token", token) ? 0 : -ENOMEM;
}

static void add_parameter(struct text *url, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    text_addf(url, "&%s=", name);
    consul_add_encoded(url, value);
}

DEFINE_CLEANUP(CURLU *, curl_url_cleanup);
DEFINE_CLEANUP(char *, curl_free);

/*
 * A name for the server other than the address's has no option in libcurl: the URL gets that name,
 * and CURLOPT_CONNECT_TO leads it to the address.
 */
static bool set_renamed(struct consul_request *request, const char *address)
{
    const char *name = request->client->where.server_name;
    CLEANUP(curl_url_cleanupp) CURLU *url = curl_url();
    CLEANUP(curl_freep) char *host = NULL;
    CLEANUP(curl_freep) char *port = NULL;
    CLEANUP(curl_freep) char *whole = NULL;
    if (!url || curl_url_set(url, CURLUPART_URL, address, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
        curl_url_set(url, CURLUPART_HOST, name, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_URL, &whole, 0) != CURLUE_OK)
        return false;
    AUTOFREE char *way = text_format("%s:%s:%s:%s", name, port, host, port);
    request->connect_to = way ? curl_slist_append(NULL, way) : NULL;
    return request->connect_to && SET(request, CURLOPT_CONNECT_TO, request->connect_to) &&
           SET(request, CURLOPT_URL, whole);
}

static bool set_url(struct consul_request *request, const char *path)
{
    const struct consul_where *where = &request->client->where;
    bool local = strncmp(where->address, UNIX_SCHEME, strlen(UNIX_SCHEME)) == 0;
    AUTOTEXT struct text url = { 0 };
    text_addf(&url, "%s%s", local ? "http://localhost" : where->address, path);
    add_parameter(&url, "dc", where->datacenter);
    add_parameter(&url, "ns", where->namespace);
    add_parameter(&url, "partition", where->partition);
    if (text_error(&url) < 0)
        return false;
    if (where->server_name && !local)
        return set_renamed(request, text_str(&url));
    return SET(request, CURLOPT_URL, text_str(&url)) &&
           (!local || SET(request, CURLOPT_UNIX_SOCKET_PATH, where->address + strlen(UNIX_SCHEME)));
}

/* Whose certificates are good; what is said goes before the system's. */
static bool set_authorities(struct consul_request *request)
{
    const struct consul_where *where = &request->client->where;
    AUTOTEXT struct text bundle = { 0 };
    if (where->ca_file)
        return SET(request, CURLOPT_CAINFO, where->ca_file) && SET(request, CURLOPT_CAPATH, NULL);
    if (!where->ca_path)
        return true;
    /* Without any, no certificate is good, and the answer says so. */
    (void)consul_ca_read(where->ca_path, &bundle);
    struct curl_blob blob = {
        .data = (void *)text_str(&bundle),
        .len = bundle.length,
        .flags = CURL_BLOB_COPY,
    };
    return SET(request, CURLOPT_CAINFO_BLOB, &blob) && SET(request, CURLOPT_CAPATH, NULL);
}

static bool set_tls(struct consul_request *request)
{
    const struct consul_where *where = &request->client->where;
    bool good = SET(request, CURLOPT_SSL_VERIFYPEER, where->insecure ? 0L : 1L) &&
                SET(request, CURLOPT_SSL_VERIFYHOST, where->insecure ? 0L : 2L) &&
                SET(request, CURLOPT_CA_CACHE_TIMEOUT, 0L);
    good = good && set_authorities(request);
    if (where->auth)
        good = good && SET(request, CURLOPT_USERPWD, where->auth);
    if (where->cert_file)
        good = good && SET(request, CURLOPT_SSLCERT, where->cert_file);
    if (where->key_file)
        good = good && SET(request, CURLOPT_SSLKEY, where->key_file) &&
               SET(request, CURLOPT_KEYPASSWD, "");
    return good;
}

static bool set_transport(struct consul_request *request, const struct consul_call *call)
{
    return SET(request, CURLOPT_PROTOCOLS_STR, "http,https") &&
           SET(request, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) &&
           SET(request, CURLOPT_PROXY, "") && SET(request, CURLOPT_NOSIGNAL, 1L) &&
           SET(request, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS) &&
           SET(request, CURLOPT_TIMEOUT_MS, (long)call->limit_ms) &&
           SET(request, CURLOPT_TCP_KEEPALIVE, 1L) &&
           SET(request, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S) &&
           SET(request, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_S) &&
           SET(request, CURLOPT_QUICK_EXIT, 1L) &&
           SET(request, CURLOPT_ERRORBUFFER, request->error) &&
           SET(request, CURLOPT_HEADERFUNCTION, on_header) &&
           SET(request, CURLOPT_HEADERDATA, request) &&
           SET(request, CURLOPT_WRITEFUNCTION, on_body) && SET(request, CURLOPT_WRITEDATA, request);
}

static bool set_call(struct consul_request *request, const struct consul_call *call)
{
    if (!call->method)
        return true;
    const char *body = call->body ? call->body : "";
    return SET(request, CURLOPT_CUSTOMREQUEST, call->method) &&
           SET(request, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body)) &&
           SET(request, CURLOPT_COPYPOSTFIELDS, body) && add_header(request, "Expect", "");
}

int consul_send(struct consul_client *client, const struct consul_call *call,
                const struct consul_handler *handler, void *context,
                struct consul_request **ret_request)
{
    CLEANUP(request_freep) struct consul_request *request = calloc(1, sizeof(*request));
    if (!request)
        return -ENOMEM;
    request->client = client;
    request->handler = handler;
    request->context = context;
    request->answer_bytes = call->answer_bytes;
    request->transfer = (struct curl_transfer){ .easy = curl_easy_init(), .done = on_done };
    if (!request->transfer.easy || !set_transport(request, call) || !set_tls(request) ||
        !set_url(request, call->path) || !set_call(request, call))
        return -ENOMEM;
    int r = add_token(request);
    if (r < 0)
        return r;
    if (!SET(request, CURLOPT_HTTPHEADER, request->headers))
        return -ENOMEM;
    r = curl_loop_start(client->loop, &request->transfer);
    if (r < 0)
        return r;
    *ret_request = TAKE_PTR(request);
    return 0;
}

void consul_cancel(struct consul_request *request)
{
    if (!request)
        return;
    curl_loop_cancel(request->client->loop, &request->transfer);
    request_free(request);
}
