// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to Consul; see consul.h. Called by client/consul_*.c and the controller's export.
 *
 * Consul answers a blocking query when something has changed, or after its time; the connection is
 * silent in between, so a dead peer is detected by TCP keep-alive. Consul sends errors as plain
 * text in the body: the first line is reported.
 */
#include "client/consul/consul.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/file.h"
#include "base/macro.h"
#include "base/siphash.h"
#include "base/text.h"
#include "client/consul/consul_ca.h"
#include "client/http.h"

enum {
    CONNECT_TIMEOUT_MS = 5000,
    KEEPALIVE_S = 15,
    TOKEN_MAX = 4096, /* bytes of its file */
    HEADER_VALUE_MAX = 128,
};

#define UNIX_SCHEME "unix://"

struct consul_client {
    struct consul_where where;
    struct curl_loop *loop;
    uint64_t token_mark; /* of the token that was sent last; 0: none was */
};

struct consul_request {
    struct http_exchange exchange;
    struct consul_client *client;
    const struct consul_handler *handler;
    void *context;
    struct curl_slist *connect_to;
    struct consul_answer answer;
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

/* The value of a header line, if it has this name. */
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
    if (!curl_head_fits(&request->exchange.transfer, size * count))
        return 0;
    if (header_value(bytes, size * count, "X-Consul-Index", value))
        request->answer.index = strtoull(value, NULL, 10);
    if (header_value(bytes, size * count, "X-Consul-Results-Filtered-By-ACLs", value))
        request->answer.filtered = strstr(value, "true") != NULL;
    return size * count;
}

static const char *remedy_of_silence(enum http_failure failure)
{
    switch (failure) {
    case HTTP_EXPIRED:
        return "renew the certificate of Consul's agent, or set this machine's clock: timedatectl";
    case HTTP_MISNAMED:
        return "ask under a name that Consul's certificate has: consul.address, or "
               "consul.serverName";
    case HTTP_UNTRUSTED:
    case HTTP_NO_CA:
        return "put the CA of Consul's certificate into consul.caFile, or ask who it is that "
               "answers at consul.address";
    case HTTP_OWN_PAIR:
        return "see whether consul.certFile and keyFile can be read and fit each other";
    case HTTP_UNWELCOME:
        return "give consul.certFile a valid certificate of the CA that Consul takes for its clients";
    case HTTP_PLAIN:
        return "write http:// in consul.address, or let Consul's agent speak TLS there (ports.https)";
    case HTTP_SILENT:
        return "see what Consul's agent does, or restart it: systemctl status consul, its journal";
    case HTTP_UNNAMED:
    case HTTP_SHADOWED:
        return http_way_remedy(failure);
    case HTTP_UNREACHED:
    case HTTP_FOREIGN:
    case HTTP_FAILED:
        break;
    }
    return "see whether Consul runs at consul.address";
}

/* Consul does not recognize a token that was deleted, or that belongs to another Consul. */
static bool is_unknown_token(const struct consul_answer *answer, const char *why)
{
    return answer->status == 403 && strstr(why, "ACL not found");
}

uint64_t consul_token_mark(const struct consul_client *client)
{
    return client->token_mark;
}

static const char *remedy_for(const struct consul_answer *answer, const char *why)
{
    if (answer->status == 403 && strstr(why, "must be bootstrapped"))
        return "see whether Consul's servers have a leader and their data (consul operator raft "
               "list-peers); a new cluster wants consul acl bootstrap, and a token of its own in "
               "consul.tokenFile";
    if (is_unknown_token(answer, why))
        return "give consul.tokenFile a token that Consul has: this one was deleted, or is another "
               "Consul's";
    if (answer->status == 400 && strstr(why, "to an HTTPS server"))
        return "write https:// in consul.address";
    if (answer->status == 400 && strstr(why, "Enterprise feature"))
        return "take consul.namespace and consul.partition out: this Consul has neither";
    switch (answer->status) {
    case 403:
        return "give the token of consul.tokenFile the policy that docs/export.md shows";
    case 429:
        return "Consul limits requests: raise its limits, or wait";
    case 500:
        if (strstr(why, "No path to datacenter"))
            return "name a datacenter of Consul's in consul.datacenter: consul catalog datacenters";
        return "see whether Consul's servers have a leader: consul operator raft list-peers";
    default:
        return "see the journal of Consul's agent for what it says of this request";
    }
}

static bool is_local(const struct consul_where *where)
{
    return strncmp(where->address, UNIX_SCHEME, strlen(UNIX_SCHEME)) == 0;
}

/* The peer speaks another protocol, as Consul's servers do among themselves on port 8300. */
static bool is_other_protocol(CURLcode code)
{
    return code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING ||
           code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_UNSUPPORTED_PROTOCOL;
}

/* For a unix socket, libcurl's message names a port of localhost. */
static void tell(const struct consul_request *request, CURLcode code, struct text *why)
{
    long error = 0;
    if (code != CURLE_COULDNT_CONNECT || !is_local(&request->client->where)) {
        text_add(why, is_other_protocol(code) ? "does not answer as Consul's agent does: " : "");
        http_tell(&request->exchange, code, why);
        return;
    }
    (void)curl_easy_getinfo(request->exchange.transfer.easy, CURLINFO_OS_ERRNO, &error);
    text_addf(why, "nobody of Consul listens there%s%s", error ? ": " : "",
              error ? strerror((int)error) : "");
}

/* The first line of a bad answer, or libcurl's error. */
static void describe(struct consul_request *request, CURLcode code, struct text *why)
{
    struct consul_answer *answer = &request->answer;
    tell(request, code, why);
    if (code != CURLE_OK && !request->exchange.too_long)
        answer->status = 0;
    if (!why->length) {
        if (answer->status == 200 || answer->status == 404 || answer->status == 409)
            return;
        const char *body = text_str(&request->exchange.body);
        text_addf(why, "%sHTTP status %d: %.*s",
                  is_unknown_token(answer, body) ? "Consul does not know the token: " : "",
                  answer->status, (int)strcspn(body, "\r\n"), body);
    }
    answer->error = text_str(why);
    answer->remedy = answer->status ? remedy_for(answer, answer->error)
                     : is_other_protocol(code)
                         ? "give consul.address the address and port of its agent's HTTP API (8500)"
                         : remedy_of_silence(http_failure(&request->exchange, code));
}

static void request_free(struct consul_request *request)
{
    http_done(&request->exchange);
    curl_slist_free_all(request->connect_to);
    free(request);
}
DEFINE_CLEANUP(struct consul_request *, request_free);

static void on_done(struct curl_transfer *transfer, CURLcode code)
{
    CLEANUP(request_freep)
    struct consul_request *request =
        CONTAINER_OF(transfer, struct consul_request, exchange.transfer);
    struct consul_answer *answer = &request->answer;
    AUTOTEXT struct text why = { 0 };
    answer->status = http_status(&request->exchange);
    answer->retry_after_ms = curl_retry_after_ms(transfer->easy);
    describe(request, code, &why);
    answer->body = text_str(&request->exchange.body);
    answer->size = request->handler->data ? request->exchange.size : request->exchange.body.length;
    request->handler->done(request->context, answer);
}

/* ---- The request ---- */

#define SET(request, option, value) HTTP_SET(&(request)->exchange, option, value)

/* A token is one word; a file ends it with white space. */
static int add_token(struct consul_request *request)
{
    const struct consul_where *where = &request->client->where;
    AUTOSECRET char *content = NULL;
    size_t size;
    if (where->token_file) {
        int r = file_read(where->token_file, TOKEN_MAX, &content, &size);
        if (r < 0)
            return r;
        content[strcspn(content, " \t\r\n")] = '\0';
        if (!*content)
            return -ENODATA; /* Consul would treat an empty token as anonymous and accept the
                                request */
    }
    const char *token = content ? content : where->token;
    static const uint8_t no_secret[16] = { 0 };
    if (!token || !*token)
        return 0;
    request->client->token_mark = siphash(token, strlen(token), no_secret);
    return http_add_header(&request->exchange, "X-Consul-Token", token) ? 0 : -ENOMEM;
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
 * libcurl has no option for a server name other than that of the URL: the URL gets that name, and
 * CURLOPT_CONNECT_TO maps it to the address.
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
    bool local = is_local(where);
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

/* The CAs of a folder. Without any, no certificate is valid, and the error says so. */
static bool set_ca_path(struct consul_request *request, const char *path)
{
    AUTOTEXT struct text bundle = { 0 };
    (void)consul_ca_read(path, &bundle);
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
    const struct http_files files = {
        .ca_file = where->ca_file,
        .cert_file = where->cert_file,
        .key_file = where->key_file,
        .insecure = where->insecure,
    };
    return http_set_files(&request->exchange, &files) &&
           (where->ca_file || !where->ca_path || set_ca_path(request, where->ca_path)) &&
           (!where->auth || SET(request, CURLOPT_USERPWD, where->auth));
}

static int prepare(struct consul_request *request, const struct consul_call *call)
{
    const struct http_limits limits = {
        .connect_ms = CONNECT_TIMEOUT_MS,
        .keepalive_s = KEEPALIVE_S,
        .total_ms = call->limit_ms,
        .answer_bytes = call->answer_bytes,
    };
    request->exchange.data = request->handler->data;
    request->exchange.context = request->context;
    int r = http_prepare(&request->exchange, &limits, on_done);
    if (r < 0)
        return r;
    return SET(request, CURLOPT_HEADERFUNCTION, on_header) &&
                   SET(request, CURLOPT_HEADERDATA, request)
               ? 0
               : -ENOMEM;
}

static bool set_call(struct consul_request *request, const struct consul_call *call)
{
    if (!call->method)
        return true;
    const char *body = call->body ? call->body : "";
    return SET(request, CURLOPT_CUSTOMREQUEST, call->method) &&
           SET(request, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body)) &&
           SET(request, CURLOPT_COPYPOSTFIELDS, body) &&
           http_add_header(&request->exchange, "Expect", "");
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
    int r = prepare(request, call);
    if (r < 0)
        return r;
    if (!set_tls(request) || !set_url(request, call->path) || !set_call(request, call))
        return -ENOMEM;
    r = add_token(request);
    if (r < 0)
        return r;
    if (!SET(request, CURLOPT_HTTPHEADER, request->exchange.headers))
        return -ENOMEM;
    r = curl_loop_start(client->loop, &request->exchange.transfer);
    if (r < 0)
        return r;
    *ret_request = TAKE_PTR(request);
    return 0;
}

const char *consul_send_failure(const struct consul_client *client, int error,
                                char why[static CONSUL_ERROR_LEN])
{
    const char *file = client->where.token_file;
    if (!file || error == -ENOMEM) {
        (void)snprintf(why, CONSUL_ERROR_LEN, "%s", strerror(-error));
        return NULL;
    }
    if (error == -ENODATA) {
        (void)snprintf(why, CONSUL_ERROR_LEN, "there is no token in %s: it is empty", file);
        return "write the token into the file of consul.tokenFile, or take that key out";
    }
    (void)snprintf(why, CONSUL_ERROR_LEN, "cannot read the token in %s: %s", file,
                   strerror(-error));
    return "see that the file of consul.tokenFile is there, and can be read by this program's user";
}

void consul_cancel(struct consul_request *request)
{
    if (!request)
        return;
    curl_loop_cancel(request->client->loop, &request->exchange.transfer);
    request_free(request);
}
