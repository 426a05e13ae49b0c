// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to etcd; see etcd.h. Called by segment/etcd_store.c and segment/etcd_watch.c.
 *
 * libcurl tells when a connection is there and the request is about to be written to it. Before
 * that nobody can have heard it, and the next endpoint gets it; afterwards it is never sent again,
 * though libcurl would by itself, where an idle connection turns out to be dead.
 *
 * An etcd that is stopped in order takes no more connections, closes idle ones, and waits for all
 * requests to end, for seven seconds at most. A watch does not end by itself, and while etcd waits
 * for it nobody's claim is renewed. So a watch is ended as soon as its endpoint closes an idle
 * connection (idle_peer.h), or takes no other one; its owner begins it again. For there to be an
 * idle one, a watch begins over a connection of its own, and asks for etcd's version over another
 * if nothing else was asked.
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
#include "base/vec.h"
#include "client/etcd_login.h"
#include "client/http.h"
#include "client/idle_peer.h"
#include "format/reader.h"

enum {
    CONNECT_TIMEOUT_MS = 1000,
    KEEPALIVE_S = 5,
    DEAD_MOST = 32, /* more than loop/curl.c keeps connections */
    GREETING_MS = 5000,
    GREETING_BYTES = 4096,
};

struct etcd_client {
    struct etcd_where where;
    struct curl_loop *loop;
    size_t current; /* of the endpoints: the one that answered last */
    VEC(struct etcd_request *) watches;
    struct idle_peer *idle; /* of endpoint `idle_endpoint` */
    size_t idle_endpoint;
    struct etcd_request *greeting; /* for there to be one */
    char *token;                   /* of etcd's, for its user; NULL: none as yet, or any more */
};

struct etcd_request {
    struct http_exchange exchange;
    struct etcd_client *client;
    struct etcd_call call;
    size_t endpoint, tries; /* the one that is asked; how many were */
    bool sent;              /* somebody may have heard it */
    bool dead;              /* nobody can have: the connection was closed at the other end */
    unsigned deads;         /* such connections in a row */
    struct text path, body; /* what is asked */
    bool logs_in;           /* first: this is under way */
    bool was_let_in;        /* once is enough */
    struct text login;
    int login_error; /* of the file of the password; 0: none */
};

static void on_idle_closed(void *context);

int etcd_client_new(sd_event *event, const struct etcd_where *where,
                    struct etcd_client **ret_client)
{
    CLEANUP(etcd_client_freep) struct etcd_client *client = calloc(1, sizeof(*client));
    if (!client)
        return -ENOMEM;
    client->where = *where;
    int r = where->endpoint_count ? curl_loop_new(event, &client->loop) : -EINVAL;
    if (r == 0)
        r = idle_peer_new(event, on_idle_closed, client, &client->idle);
    if (r < 0)
        return r;
    *ret_client = TAKE_PTR(client);
    return 0;
}

void etcd_client_free(struct etcd_client *client)
{
    if (!client)
        return;
    etcd_cancel(client->greeting);
    idle_peer_free(client->idle);
    curl_loop_free(client->loop);
    vec_done(&client->watches);
    free(client->token);
    free(client);
}

/* ---- The answer ---- */

static void add_etcd_message(const struct etcd_request *request, struct text *why)
{
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    const struct doc *message = NULL;
    const struct text *answer = &request->exchange.body;
    const char *body = text_str(answer);
    if (document_parse(body, answer->length, "answer", READER_JSON, &document, &faults) == 1)
        message = doc_get(document->root, "message");
    if (message && message->type == DOC_SCALAR)
        text_add(why, message->text);
    else
        text_addf(why, "%.*s", (int)strcspn(body, "\r\n"), body);
}

#define MEMBERS_REMEDY \
    "see whether most members of etcd run and reach each other: etcdctl endpoint status --cluster"

static const char *remedy_of_silence(enum http_failure failure)
{
    switch (failure) {
    case HTTP_EXPIRED:
        return "renew that member's certificate, or set this machine's clock: timedatectl";
    case HTTP_MISNAMED:
        return "name it in addresses.etcd.endpoints as its certificate does, or give it one with "
               "this name";
    case HTTP_UNTRUSTED:
    case HTTP_NO_CA:
        return "put the CA of etcd's certificates into addresses.etcd.caFile, or ask who it is "
               "that answers there";
    case HTTP_OWN_PAIR:
        return "see whether addresses.etcd.certFile and keyFile can be read and fit each other";
    case HTTP_UNWELCOME:
        return "give addresses.etcd.certFile a valid certificate of the CA that etcd takes for its "
               "clients (--trusted-ca-file)";
    case HTTP_SILENT:
        return MEMBERS_REMEDY;
    case HTTP_FOREIGN:
        return "write https:// in addresses.etcd.endpoints if etcd wants TLS, with the port of its "
               "clients (2379)";
    case HTTP_PLAIN:
        return "write http:// in addresses.etcd.endpoints, or let etcd speak TLS there";
    case HTTP_UNNAMED:
    case HTTP_ASTRAY:
        return http_way_remedy(failure);
    case HTTP_UNREACHED:
    case HTTP_FAILED:
        break;
    }
    return "see whether etcd runs at addresses.etcd.endpoints";
}

/*
 * Over HTTP etcd goes by no certificate's name: its users need a token. Where it asks for client
 * certificates as well, it refuses those that have a CommonName, token or not.
 */
static const struct {
    int status; /* 0: any */
    const char *words, *remedy;
} refusals[] = {
    { 400, "CommonName",
      "give addresses.etcd.certFile a certificate without a CommonName, and addresses.etcd.user and "
      "passwordFile a user of etcd's; or turn its users off: etcdctl auth disable" },
    { 400, "user name is empty",
      "give addresses.etcd.user and passwordFile a user of etcd's that reads and writes "
      "addresses.etcd.prefix; or turn its users off: etcdctl auth disable" },
    { 400, "authentication failed",
      "see whether addresses.etcd.user and passwordFile are those of a user of etcd's: etcdctl "
      "user get NAME" },
    { 400, "authentication is not enabled",
      "leave out addresses.etcd.user and passwordFile, or turn etcd's users on: etcdctl auth enable" },
    { 0, "database space exceeded",
      "make room in etcd: compact and defragment it, and disarm its alarm (etcdctl alarm list)" },
    { 401, "", "see what etcd's journal says of tokens (--auth-token)" },
    { 403, "",
      "let the user of addresses.etcd.user read and write addresses.etcd.prefix: etcdctl role "
      "grant-permission" },
};

static const char *remedy_of_status(int status, const char *why)
{
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        if ((!refusals[i].status || refusals[i].status == status) && strstr(why, refusals[i].words))
            return refusals[i].remedy;
    }
    return status >= 500 ? MEMBERS_REMEDY : "see what etcd's journal says of this request";
}

static void describe(const struct etcd_request *request, CURLcode code, struct etcd_answer *answer,
                     struct text *why)
{
    const char *endpoint = request->client->where.endpoints[request->endpoint];
    answer->status = code == CURLE_OK ? http_status(&request->exchange) : 0;
    if (code == CURLE_OK && answer->status == 200 && !request->logs_in)
        return;
    text_addf(why, "%s: ", endpoint);
    if (code == CURLE_ABORTED_BY_CALLBACK) {
        text_add(why, "the connection ended before an answer came");
    } else if (code != CURLE_OK) {
        http_tell(&request->exchange, code, why);
    } else {
        text_addf(why, "HTTP status %d: ", answer->status);
        if (request->logs_in && answer->status == 200)
            text_add(why, "the answer to a login can't be read"); /* it has the token */
        else
            add_etcd_message(request, why);
    }
    if (request->logs_in && request->login_error)
        text_addf(why, "; the file of the password: %s", strerror(-request->login_error));
    answer->error = text_str(why);
    answer->remedy = answer->status ? remedy_of_status(answer->status, answer->error)
                                    : remedy_of_silence(http_failure(&request->exchange, code));
}

static void forget_watch(struct etcd_request *request)
{
    struct etcd_client *client = request->client;
    for (size_t i = 0; i < client->watches.count; i++) {
        if (client->watches.items[i] == request)
            client->watches.items[i] = client->watches.items[--client->watches.count];
    }
}

static void request_free(struct etcd_request *request)
{
    if (!request)
        return;
    if (request->call.data)
        forget_watch(request);
    http_done(&request->exchange);
    text_done(&request->path);
    text_done(&request->body);
    if (request->login.data)
        explicit_bzero(request->login.data, request->login.length);
    text_done(&request->login);
    free(request);
}
DEFINE_CLEANUP(struct etcd_request *, request_free);

/* The connection is there, and the request is about to be written to it. */
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

static int send_to(struct etcd_request *request, size_t endpoint);

static bool try_next(struct etcd_request *request)
{
    const size_t count = request->client->where.endpoint_count;
    if (request->sent || request->tries >= count)
        return false;
    return send_to(request, (request->endpoint + 1) % count) == 0;
}

/* ---- An endpoint that goes down ---- */

/* As if its time were over. */
static void end_watch(struct etcd_request *request)
{
    CLEANUP(request_freep) struct etcd_request *owned = request;
    const struct etcd_answer over = { .status = 200, .body = "" };
    curl_loop_cancel(owned->client->loop, &owned->exchange.transfer);
    owned->call.done(owned->call.context, &over);
}

/* One after the other: whoever is told may begin another. */
static struct etcd_request *watch_at(const struct etcd_client *client, size_t endpoint)
{
    for (size_t i = 0; i < client->watches.count; i++) {
        struct etcd_request *watch = client->watches.items[i];
        if (watch->sent && watch->endpoint == endpoint)
            return watch;
    }
    return NULL;
}

static void end_watches(struct etcd_client *client, size_t endpoint)
{
    struct etcd_request *watch;
    while ((watch = watch_at(client, endpoint)))
        end_watch(watch);
}

static void on_idle_closed(void *context)
{
    struct etcd_client *client = context;
    end_watches(client, client->idle_endpoint);
}

static void note_idle(struct etcd_request *request)
{
    struct etcd_client *client = request->client;
    if (request->call.data || request->exchange.transfer.socket == CURL_SOCKET_BAD ||
        (idle_peer_watches(client->idle) && client->idle_endpoint == request->endpoint))
        return;
    client->idle_endpoint = request->endpoint;
    idle_peer_watch(client->idle, request->exchange.transfer.socket);
}

/* libcurl closes that connection, and takes another one. */
static bool try_again(struct etcd_request *request)
{
    if (!request->dead || ++request->deads > DEAD_MOST)
        return false;
    request->tries--;
    return send_to(request, request->endpoint) == 0;
}

/* ---- Users ---- */

/* A login is answered, or etcd wants another: nothing was done of what is asked. Returns whether
 * the request goes on. */
static bool take_login(struct etcd_request *request)
{
    struct etcd_client *client = request->client;
    const struct text *answer = &request->exchange.body;
    const int status = http_status(&request->exchange);
    if (request->logs_in && status == 200) {
        free(TAKE_PTR(client->token));
        if (etcd_login_token(text_str(answer), answer->length, &client->token) < 0)
            return false;
        request->logs_in = false;
    } else if (!request->logs_in && !request->was_let_in && client->where.user &&
               etcd_login_is_over(status, text_str(answer))) {
        request->was_let_in = true;
        free(TAKE_PTR(client->token));
    } else {
        return false;
    }
    request->sent = false;
    request->tries--;
    return send_to(request, request->endpoint) == 0;
}

static void on_done(struct curl_transfer *transfer, CURLcode code)
{
    struct etcd_request *request = CONTAINER_OF(transfer, struct etcd_request, exchange.transfer);
    AUTOTEXT struct text why = { 0 };
    struct etcd_answer answer = { 0 };
    if (code == CURLE_OK)
        note_idle(request);
    else if (code == CURLE_COULDNT_CONNECT && !request->call.data)
        end_watches(request->client, request->endpoint);
    if (code == CURLE_OK ? take_login(request) : try_again(request) || try_next(request))
        return;
    CLEANUP(request_freep) struct etcd_request *owned = request;
    describe(request, code, &answer, &why);
    /* One that took the request and did not answer is not asked first again; nor is one that
     * answers for a member without a leader. */
    if (answer.status == 0 || answer.status >= 500)
        request->client->current = (request->endpoint + 1) % request->client->where.endpoint_count;
    else
        request->client->current = request->endpoint;
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
        .total_ms = call->limit_ms,
    };
    const struct http_files files = {
        .ca_file = where->ca_file,
        .cert_file = where->cert_file,
        .key_file = where->key_file,
    };
    request->exchange.context = call->context;
    int r = http_prepare(&request->exchange, &limits, on_done);
    if (r < 0)
        return r;
    bool good = http_set_files(&request->exchange, &files) &&
                SET(request, CURLOPT_FRESH_CONNECT, call->data ? 1L : 0L) &&
                SET(request, CURLOPT_LOW_SPEED_LIMIT, silence_s ? 1L : 0L) &&
                SET(request, CURLOPT_LOW_SPEED_TIME, silence_s) &&
                SET(request, CURLOPT_PREREQFUNCTION, on_sending) &&
                SET(request, CURLOPT_PREREQDATA, request);
    return good ? 0 : -ENOMEM;
}

static bool set_headers(struct etcd_request *request, const struct text *body)
{
    struct http_exchange *exchange = &request->exchange;
    const char *token = request->client->token;
    curl_slist_free_all(TAKE_PTR(exchange->headers));
    return http_add_header(exchange, "Content-Type", "application/json") &&
           http_add_header(exchange, "Expect", "") &&
           (request->logs_in || !token || http_add_header(exchange, "Authorization", token)) &&
           SET(request, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->length) &&
           SET(request, CURLOPT_POSTFIELDS, text_str(body)) &&
           (body->length ? SET(request, CURLOPT_POST, 1L) : SET(request, CURLOPT_HTTPGET, 1L)) &&
           SET(request, CURLOPT_HTTPHEADER, exchange->headers);
}

/* What is asked, or a login before it. */
static int set_question(struct etcd_request *request)
{
    const struct etcd_where *where = &request->client->where;
    struct http_exchange *exchange = &request->exchange;
    request->logs_in = where->user && !request->client->token && request->call.body;
    if (request->logs_in && !request->login.length)
        request->login_error = etcd_login_body(where->user, where->password_file, &request->login);
    exchange->data = request->logs_in ? NULL : request->call.data;
    exchange->limits.answer_bytes = request->logs_in     ? GREETING_BYTES
                                    : request->call.data ? 0
                                                         : request->call.answer_bytes;
    exchange->size = 0;
    text_done(&exchange->body);
    return set_headers(request, request->logs_in ? &request->login : &request->body) ? 0 : -ENOMEM;
}

static int send_to(struct etcd_request *request, size_t endpoint)
{
    AUTOTEXT struct text url = { 0 };
    int r = set_question(request);
    if (r < 0)
        return r;
    text_addf(&url, "%s%s", request->client->where.endpoints[endpoint],
              request->logs_in ? ETCD_LOGIN_PATH : text_str(&request->path));
    request->endpoint = endpoint;
    request->tries++;
    request->dead = false;
    *request->exchange.error = '\0';
    if (text_error(&url) < 0 || !SET(request, CURLOPT_URL, text_str(&url)))
        return -ENOMEM;
    return curl_loop_start(request->client->loop, &request->exchange.transfer);
}

static void on_greeted(void *context, const struct etcd_answer *answer)
{
    struct etcd_client *client = context;
    (void)answer;
    client->greeting = NULL;
}

/* Whatever becomes of it: only its connection is wanted. */
static void greet(struct etcd_client *client)
{
    const struct etcd_call call = {
        .path = "/version",
        .limit_ms = GREETING_MS,
        .answer_bytes = GREETING_BYTES,
        .done = on_greeted,
        .context = client,
    };
    if (!client->greeting && !idle_peer_watches(client->idle))
        (void)etcd_send(client, &call, &client->greeting);
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
    text_add(&request->body, call->body ? call->body : "");
    if (text_error(&request->path) < 0 || text_error(&request->body) < 0)
        return -ENOMEM;
    int r = prepare(request);
    if (r < 0)
        return r;
    if (call->data && vec_push(&client->watches, request) < 0)
        return -ENOMEM;
    r = send_to(request, client->current);
    if (r < 0)
        return r;
    if (call->data)
        greet(client);
    *ret_request = TAKE_PTR(request);
    return 0;
}

void etcd_cancel(struct etcd_request *request)
{
    if (!request)
        return;
    curl_loop_cancel(request->client->loop, &request->exchange.transfer);
    request_free(request);
}
