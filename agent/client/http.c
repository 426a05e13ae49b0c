// SPDX-License-Identifier: Apache-2.0
/*
 * One exchange over HTTP; see http.h. Called by client/consul/consul.c and client/etcd/etcd.c.
 *
 * A server that rejects our certificate sends a TLS alert, which arrives after the handshake and
 * has no error code of libcurl. If the key of a CA does not match the signature, as after it was
 * replaced under the same name, libcurl reports the innermost reason ("error:06880006:asn1 encoding
 * routines::EVP lib"), and not that a certificate could not be verified; errors of TLS itself have
 * numbers that begin with 0A.
 */
#include "client/http.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

enum { BAD_ANSWER_MAX = 4096 /* bytes of a bad answer that are kept */ };

int http_status(const struct http_exchange *exchange)
{
    long status = 0;
    (void)curl_easy_getinfo(exchange->transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    return (int)status;
}

static size_t collect(struct http_exchange *exchange, const char *bytes, size_t size)
{
    text_add_bytes(&exchange->body, bytes, size);
    return text_error(&exchange->body) == 0 ? size : 0;
}

static size_t on_body(char *bytes, size_t one, size_t count, void *context)
{
    struct http_exchange *exchange = context;
    const size_t size = one * count, limit = exchange->limits.answer_bytes;
    if (http_status(exchange) != 200) /* the rest of a long one is dropped */
        return exchange->body.length + size > BAD_ANSWER_MAX ? size
                                                             : collect(exchange, bytes, size);
    exchange->size += size;
    exchange->too_long = limit && exchange->size > limit;
    if (exchange->too_long)
        return 0;
    if (!exchange->data)
        return collect(exchange, bytes, size);
    return exchange->data(exchange->context, bytes, size) == 0 ? size : 0;
}

static size_t on_header(char *bytes, size_t one, size_t count, void *context)
{
    struct http_exchange *exchange = context;
    (void)bytes;
    return curl_head_fits(&exchange->transfer, one * count) ? one * count : 0;
}

int http_prepare(struct http_exchange *exchange, const struct http_limits *limits,
                 void (*done)(struct curl_transfer *transfer, CURLcode code))
{
    exchange->limits = *limits;
    exchange->transfer = (struct curl_transfer){ .easy = curl_easy_init(), .done = done };
    if (!exchange->transfer.easy)
        return -ENOMEM;
    bool good = HTTP_SET(exchange, CURLOPT_PROTOCOLS_STR, "http,https") &&
                HTTP_SET(exchange, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) &&
                HTTP_SET(exchange, CURLOPT_PROXY, "") && HTTP_SET(exchange, CURLOPT_NOSIGNAL, 1L) &&
                HTTP_SET(exchange, CURLOPT_QUICK_EXIT, 1L) &&
                HTTP_SET(exchange, CURLOPT_CONNECTTIMEOUT_MS, (long)limits->connect_ms) &&
                HTTP_SET(exchange, CURLOPT_TIMEOUT_MS, (long)limits->total_ms) &&
                HTTP_SET(exchange, CURLOPT_TCP_KEEPALIVE, 1L) &&
                HTTP_SET(exchange, CURLOPT_TCP_KEEPIDLE, (long)limits->keepalive_s) &&
                HTTP_SET(exchange, CURLOPT_TCP_KEEPINTVL, (long)limits->keepalive_s) &&
                HTTP_SET(exchange, CURLOPT_ERRORBUFFER, exchange->error) &&
                HTTP_SET(exchange, CURLOPT_HEADERFUNCTION, on_header) &&
                HTTP_SET(exchange, CURLOPT_HEADERDATA, exchange) &&
                HTTP_SET(exchange, CURLOPT_WRITEFUNCTION, on_body) &&
                HTTP_SET(exchange, CURLOPT_WRITEDATA, exchange);
    return good ? 0 : -ENOMEM;
}

void http_done(struct http_exchange *exchange)
{
    curl_easy_cleanup(exchange->transfer.easy);
    curl_headers_free(exchange->headers);
    text_done(&exchange->body);
}

bool http_set_files(struct http_exchange *exchange, const struct http_files *files)
{
    /*
     * Without a password OpenSSL prompts on the terminal for that of an encrypted key, or libcurl
     * crashes.
     */
    bool good = HTTP_SET(exchange, CURLOPT_SSL_VERIFYPEER, files->insecure ? 0L : 1L) &&
                HTTP_SET(exchange, CURLOPT_SSL_VERIFYHOST, files->insecure ? 0L : 2L) &&
                HTTP_SET(exchange, CURLOPT_CA_CACHE_TIMEOUT, 0L) &&
                HTTP_SET(exchange, CURLOPT_KEYPASSWD, "");
    if (files->ca_file)
        good = good && HTTP_SET(exchange, CURLOPT_CAINFO, files->ca_file) &&
               HTTP_SET(exchange, CURLOPT_CAPATH, NULL);
    if (files->cert_file)
        good = good && HTTP_SET(exchange, CURLOPT_SSLCERT, files->cert_file);
    if (files->key_file)
        good = good && HTTP_SET(exchange, CURLOPT_SSLKEY, files->key_file);
    return good;
}

bool http_add_header(struct http_exchange *exchange, const char *name, const char *value)
{
    AUTOSECRET char *line = text_format("%s:%s%s", name, *value ? " " : "", value);
    struct curl_slist *longer = line ? curl_slist_append(exchange->headers, line) : NULL;
    if (longer)
        exchange->headers = longer;
    return longer != NULL;
}

static bool has(const char *text, const char *words)
{
    return strstr(text, words) != NULL;
}

/* A connection was established or reused: only the phases after that have a time. */
static bool is_connected(const struct http_exchange *exchange)
{
    curl_off_t connected_us = 0, asked_us = 0;
    (void)curl_easy_getinfo(exchange->transfer.easy, CURLINFO_CONNECT_TIME_T, &connected_us);
    (void)curl_easy_getinfo(exchange->transfer.easy, CURLINFO_PRETRANSFER_TIME_T, &asked_us);
    return connected_us > 0 || asked_us > 0;
}

static int os_error_of(const struct http_exchange *exchange)
{
    long error = 0;
    (void)curl_easy_getinfo(exchange->transfer.easy, CURLINFO_OS_ERRNO, &error);
    return (int)error;
}

static bool no_way(int os_error)
{
    return os_error == EHOSTUNREACH || os_error == ENETUNREACH || os_error == ETIMEDOUT;
}

const char *http_way_remedy(enum http_failure failure)
{
    if (failure == HTTP_UNNAMED)
        return "see: getent hosts NAME; mend /etc/resolv.conf, or configure another name";
    if (failure == HTTP_SHADOWED)
        return "see whether that host is up, ip route get ADDRESS, and that no firewall drops what "
               "goes there";
    return NULL;
}

static enum http_failure distrust_of(const char *error)
{
    if (has(error, "expired") || has(error, "not yet valid"))
        return HTTP_EXPIRED;
    return has(error, "target host name") ? HTTP_MISNAMED : HTTP_UNTRUSTED;
}

enum http_failure http_failure(const struct http_exchange *exchange, CURLcode code)
{
    const char *error = exchange->error;
    bool of_crypto = has(error, "error:") && !has(error, "error:0A");
    bool plain = has(error, "wrong version number") || has(error, "packet length too long");
    bool alert = has(error, " alert ") && (has(error, "certificate") || has(error, "unknown ca"));
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return HTTP_UNNAMED;
    case CURLE_COULDNT_CONNECT:
        return no_way(os_error_of(exchange)) ? HTTP_SHADOWED : HTTP_UNREACHED;
    case CURLE_OPERATION_TIMEDOUT:
        return is_connected(exchange) ? HTTP_SILENT : HTTP_SHADOWED;
    case CURLE_PEER_FAILED_VERIFICATION:
        return distrust_of(error);
    case CURLE_SSL_CACERT_BADFILE:
        return HTTP_NO_CA;
    case CURLE_SSL_CERTPROBLEM:
        return HTTP_OWN_PAIR;
    case CURLE_SSL_CONNECT_ERROR:
        return plain       ? HTTP_PLAIN
               : alert     ? HTTP_UNWELCOME
               : of_crypto ? HTTP_UNTRUSTED
                           : HTTP_FAILED;
    case CURLE_GOT_NOTHING:
    case CURLE_WEIRD_SERVER_REPLY:
        return HTTP_FOREIGN;
    default:
        return alert ? HTTP_UNWELCOME : HTTP_FAILED;
    }
}

static const char *words_for(enum http_failure failure)
{
    switch (failure) {
    case HTTP_UNTRUSTED:
    case HTTP_EXPIRED:
    case HTTP_MISNAMED:
        return "its certificate is not to be trusted: ";
    case HTTP_UNWELCOME:
        return "it refuses our certificate: ";
    case HTTP_SILENT:
        return "it takes questions, and answers none: ";
    default:
        return "";
    }
}

void http_tell(const struct http_exchange *exchange, CURLcode code, struct text *why)
{
    char words[CURL_ERROR_SIZE];
    if (exchange->too_long)
        text_addf(why, "the answer is longer than %zu bytes", exchange->limits.answer_bytes);
    else if (curl_head_is_long(&exchange->transfer))
        text_add(why, CURL_HEAD_LONG);
    else if (code != CURLE_OK)
        text_addf(why, "%s%s", words_for(http_failure(exchange, code)),
                  curl_error(code, exchange->error, words));
    if (!exchange->too_long && code == CURLE_COULDNT_CONNECT && os_error_of(exchange))
        text_addf(why, " (%s)", strerror(os_error_of(exchange)));
}
