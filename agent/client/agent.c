// SPDX-License-Identifier: Apache-2.0
/*
 * One blocking request over the agent's unix socket, for agentctl.
 *
 * libcurl reports a refused connection only as refused; the reason is in the errno of connect(),
 * which agentctl turns into a sentence (not running, not permitted). With a unix socket libcurl
 * ignores the proxies of the environment. The content of the agent's answer is trusted, its size is
 * not.
 *
 * An agent that exits closes connections that it has accepted and not answered. Where the service
 * manager holds the socket the next agent answers there, so the request is sent a second time: each
 * request may be repeated, since a POST names the desired state.
 */
#include "client/agent.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/un.h>

#include <curl/curl.h>

#include "base/cleanup.h"
#include "base/text.h"

static const size_t body_limit = (size_t)256 << 20;

DEFINE_CLEANUP(CURL *, curl_easy_cleanup);

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
    struct text *body = context;
    size_t length = size * count;
    if (length > body_limit - body->length)
        return 0;
    text_add_bytes(body, bytes, length);
    return text_error(body) < 0 ? 0 : length;
}

DEFINE_CLEANUP(struct curl_slist *, curl_slist_free_all);

/* The request. */
struct question {
    const char *socket, *path;
    bool post;
    const char *document; /* of a POST, or NULL */
    int64_t timeout_ms;
};

/* `json` is the list of headers for documents, which the transfer borrows. */
static CURLcode set_post(CURL *curl, const struct question *question, struct curl_slist *json)
{
    CURLcode r = CURLE_OK;
    if (question->document)
        r = curl_easy_setopt(curl, CURLOPT_HTTPHEADER, json);
    if (r != CURLE_OK)
        return r;
    return curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS,
                            question->document ? question->document : "");
}

static CURLcode set_options(CURL *curl, const struct question *question, const char *url,
                            struct curl_slist *json, struct text *body)
{
    CURLcode r;
    if ((r = curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, question->socket)) != CURLE_OK ||
        (r = curl_easy_setopt(curl, CURLOPT_URL, url)) != CURLE_OK ||
        (r = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http")) != CURLE_OK ||
        (r = curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L)) != CURLE_OK ||
        (r = curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)question->timeout_ms)) != CURLE_OK ||
        (r = curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body)) != CURLE_OK ||
        (r = curl_easy_setopt(curl, CURLOPT_WRITEDATA, body)) != CURLE_OK)
        return r;
    return question->post ? set_post(curl, question, json) : CURLE_OK;
}

static int error_of(CURL *curl, CURLcode code, const struct text *body)
{
    long connect_errno = 0;
    switch (code) {
    case CURLE_OK:
        return text_error(body);
    case CURLE_COULDNT_CONNECT:
        (void)curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &connect_errno);
        return connect_errno ? -(int)connect_errno : -ECONNREFUSED;
    case CURLE_OPERATION_TIMEDOUT:
        return -ETIMEDOUT;
    case CURLE_OUT_OF_MEMORY:
        return -ENOMEM;
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return -ECONNRESET;
    case CURLE_WRITE_ERROR:
        return text_error(body) < 0 ? -ENOMEM : -EFBIG;
    default:
        return -EPROTO;
    }
}

static int ask(CURL *curl, struct text *body)
{
    int r = error_of(curl, curl_easy_perform(curl), body);
    if (r != -ECONNRESET)
        return r;
    text_truncate(body, 0);
    return error_of(curl, curl_easy_perform(curl), body);
}

static int request(const struct question *question, long *ret_status, char **ret_body)
{
    if (strlen(question->socket) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return -ENAMETOOLONG;
    AUTOFREE char *url = text_format("http://agent%s", question->path);
    CLEANUP(curl_slist_free_allp)
    struct curl_slist *json = curl_slist_append(NULL, "Content-Type: application/json");
    CLEANUP(curl_easy_cleanupp) CURL *curl = curl_easy_init();
    if (!url || !json || !curl)
        return -ENOMEM;

    AUTOTEXT struct text body = { 0 };
    CURLcode code = set_options(curl, question, url, json, &body);
    int r = code == CURLE_OK ? ask(curl, &body) : error_of(curl, code, &body);
    if (r < 0)
        return r;
    long status = 0;
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    char *taken = text_take(&body);
    if (!taken)
        return -ENOMEM;
    *ret_status = status;
    *ret_body = taken;
    return 0;
}

int agent_get(const char *socket, const char *path, int64_t timeout_ms, long *ret_status,
              char **ret_body)
{
    const struct question question = { .socket = socket, .path = path, .timeout_ms = timeout_ms };
    return request(&question, ret_status, ret_body);
}

int agent_post(const char *socket, const char *path, const char *document, int64_t timeout_ms,
               long *ret_status, char **ret_body)
{
    const struct question question = {
        .socket = socket, .path = path, .post = true, .document = document, .timeout_ms = timeout_ms
    };
    return request(&question, ret_status, ret_body);
}
