// SPDX-License-Identifier: Apache-2.0
/*
 * From a kubeconfig to the options of one request; called by kube.c for each.
 *
 * CA, certificate and key are passed as blobs, whether they come from the kubeconfig or from files:
 * libcurl caches a CA file for a day, but reuses a connection or a TLS session only if the blobs
 * are equal.
 *
 * HTTP/1.1, and a connection for each watch: HTTP/2 of libcurl 7.88 has known problems with streams
 * that share a connection. Proxies of the environment are ignored: a kubeconfig sets proxy-url to
 * use one.
 *
 * libcurl has no option for a server name other than that of the URL. The URL gets that name, and
 * CURLOPT_CONNECT_TO maps it to the real host, whose name is sent in the Host header.
 */
#include "client/kube/kube_setup.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/files/file.h"
#include "base/text.h"
#include "loop/curl.h"

enum {
    CONNECT_TIMEOUT_MS = 10000,
    /* A dead peer is detected after the sum of the first and the last. */
    KEEPALIVE_IDLE_S = 15,
    KEEPALIVE_INTERVAL_S = 10,
    UNACKED_MS = 30000,
    CREDENTIAL_MAX = 1 << 20, /* bytes of a file */
    RECEIVE_BUFFER = 64 << 10,
    WRITE_BUFFER = 16 << 10, /* a larger one makes malloc() trim the heap after each request */
};

/* The first failure is kept; later failures to set an option do not matter. */
struct setup {
    CURL *easy;
    const struct kube_config *config;
    struct kube_lists *lists;
    int failure; /* 0 or -errno */
    char *error; /* KUBE_ERROR_LEN */
};

#define SET(setup, option, value)                                       \
    do {                                                                \
        if (curl_easy_setopt((setup)->easy, option, value) != CURLE_OK) \
            fail(setup, -ENOMEM, "no memory for a request");            \
    } while (0)

PRINTF_LIKE(3, 4) static void fail(struct setup *setup, int failure, const char *format, ...)
{
    if (setup->failure < 0)
        return;
    setup->failure = failure;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(setup->error, KUBE_ERROR_LEN, format, args);
    va_end(args);
}

static int on_new_socket(void *context, curl_socket_t fd, curlsocktype purpose)
{
    (void)context, (void)purpose;
    unsigned unacked_ms = UNACKED_MS;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked_ms, sizeof(unacked_ms));
    return CURL_SOCKOPT_OK;
}

static void set_transport(struct setup *setup)
{
    const struct kube_config *config = setup->config;
    bool tls = strncmp(config->server, "https:", 6) == 0;
    SET(setup, CURLOPT_PROTOCOLS_STR, tls ? "https" : "http");
    SET(setup, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(setup, CURLOPT_PROXY, config->proxy_url ? config->proxy_url : "");
    SET(setup, CURLOPT_NOPROXY, "");
    SET(setup, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(setup, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    SET(setup, CURLOPT_TCP_KEEPALIVE, 1L);
    SET(setup, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
    SET(setup, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_INTERVAL_S);
    SET(setup, CURLOPT_SOCKOPTFUNCTION, on_new_socket);
    SET(setup, CURLOPT_NOSIGNAL, 1L);
    SET(setup, CURLOPT_DNS_CACHE_TIMEOUT, 0L); /* connections are few, and a name may move */
    SET(setup, CURLOPT_QUICK_EXIT, 1L); /* cancelling a request does not wait for a name server */
    SET(setup, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER);
}

/* Reads a file of credentials. NULL: it has failed. */
static char *read_credential(struct setup *setup, const char *path, const char *what)
{
    char *content = NULL;
    size_t size;
    int r = file_read(path, CREDENTIAL_MAX, &content, &size);
    if (r < 0)
        fail(setup, r, "cannot read the %s %s: %s", what, path, strerror(-r));
    return content;
}

static void set_pem(struct setup *setup, CURLoption option, const char *data, const char *file,
                    const char *what)
{
    AUTOFREE char *content = NULL;
    if (!data && file)
        data = content = read_credential(setup, file, what);
    if (!data)
        return;
    struct curl_blob blob = { .data = (char *)data, .len = strlen(data), .flags = CURL_BLOB_COPY };
    SET(setup, option, &blob);
}

static void set_tls(struct setup *setup)
{
    const struct kube_config *config = setup->config;
    SET(setup, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(setup, CURLOPT_SSL_VERIFYPEER, config->insecure ? 0L : 1L);
    SET(setup, CURLOPT_SSL_VERIFYHOST, config->insecure ? 0L : 2L);
    /* The system's CAs are not trusted where the cluster has its own. */
    if (config->ca_data || config->ca_file)
        SET(setup, CURLOPT_CAPATH, NULL);
    set_pem(setup, CURLOPT_CAINFO_BLOB, config->ca_data, config->ca_file, "CA");
    set_pem(setup, CURLOPT_SSLCERT_BLOB, config->cert_data, config->cert_file,
            "client certificate");
    set_pem(setup, CURLOPT_SSLKEY_BLOB, config->key_data, config->key_file, "client key");
    /* With NULL, libcurl 7.88 crashes when it reads an encrypted key. */
    SET(setup, CURLOPT_KEYPASSWD, "");
}

/* Takes ownership of `line`, which is NULL without memory. */
static void append(struct setup *setup, struct curl_slist **list, char *line)
{
    AUTOSECRET char *owned = line;
    struct curl_slist *longer = owned ? curl_slist_append(*list, owned) : NULL;
    if (longer)
        *list = longer;
    else
        fail(setup, -ENOMEM, "no memory for a request");
}

/* A token is one word; a file ends it with white space. */
static void add_token(struct setup *setup, const char *token)
{
    size_t length = strcspn(token, " \t\r\n");
    if (length == 0 || token[length + strspn(token + length, " \t\r\n")] != '\0')
        fail(setup, -EBADMSG, "%s holds no token", setup->config->token_file);
    else
        append(setup, &setup->lists->headers,
               text_format("Authorization: Bearer %.*s", (int)length, token));
}

static void add_headers(struct setup *setup, const struct kube_call *call)
{
    const struct kube_config *config = setup->config;
    AUTOSECRET char *content = NULL;
    if (config->token_file)
        content = read_credential(setup, config->token_file, "token");
    const char *token = config->token_file ? content : config->token;
    if (token)
        add_token(setup, token);
    append(setup, &setup->lists->headers,
           text_format("Accept: %s", call->accept ? call->accept : "application/json"));
    append(setup, &setup->lists->headers, strdup("User-Agent: fingerpost/" FINGERPOST_VERSION));
}

DEFINE_CLEANUP(CURLU *, curl_url_cleanup);
DEFINE_CLEANUP(char *, curl_free);

/* Replaces the host by the name that the certificate must have. */
static void rename_server(struct setup *setup, CURLU *url)
{
    CLEANUP(curl_freep) char *host = NULL;
    CLEANUP(curl_freep) char *port = NULL;
    const char *name = setup->config->tls_server_name;
    if (curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
        curl_url_set(url, CURLUPART_HOST, name, 0) != CURLUE_OK) {
        fail(setup, -EINVAL, "%s cannot be asked under the name %s", setup->config->server, name);
        return;
    }
    append(setup, &setup->lists->headers, text_format("Host: %s:%s", host, port));
    append(setup, &setup->lists->connect_to, text_format("%s:%s:%s:%s", name, port, host, port));
}

static void set_url(struct setup *setup, const char *path)
{
    CLEANUP(curl_url_cleanupp) CURLU *url = curl_url();
    CLEANUP(curl_freep) char *whole = NULL;
    AUTOFREE char *text = text_format("%s%s", setup->config->server, path);
    if (!url || !text || curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK) {
        fail(setup, -ENOMEM, "no memory for a request");
        return;
    }
    if (setup->config->tls_server_name)
        rename_server(setup, url);
    if (curl_url_get(url, CURLUPART_URL, &whole, 0) == CURLUE_OK)
        SET(setup, CURLOPT_URL, whole);
    else
        fail(setup, -ENOMEM, "no memory for a request");
}

/* The body is sent with the head, without waiting for 100-continue. */
static void set_call(struct setup *setup, const struct kube_call *call)
{
    SET(setup, CURLOPT_TIMEOUT_MS, (long)call->limit_ms);
    if (!call->method)
        return;
    SET(setup, CURLOPT_BUFFERSIZE, (long)WRITE_BUFFER);
    SET(setup, CURLOPT_UPLOAD_BUFFERSIZE, (long)WRITE_BUFFER);
    SET(setup, CURLOPT_CUSTOMREQUEST, call->method);
    SET(setup, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(call->body));
    SET(setup, CURLOPT_POSTFIELDS, call->body);
    append(setup, &setup->lists->headers, text_format("Content-Type: %s", call->content_type));
    append(setup, &setup->lists->headers, strdup("Expect:"));
}

int kube_setup(CURL *easy, const struct kube_config *config, const struct kube_call *call,
               struct kube_lists *lists, char error[static KUBE_ERROR_LEN])
{
    struct setup setup = { .easy = easy, .config = config, .lists = lists, .error = error };
    set_url(&setup, call->path);
    set_transport(&setup);
    set_tls(&setup);
    add_headers(&setup, call);
    set_call(&setup, call);
    SET(&setup, CURLOPT_HTTPHEADER, lists->headers);
    SET(&setup, CURLOPT_CONNECT_TO, lists->connect_to);
    return setup.failure;
}

void kube_lists_done(struct kube_lists *lists)
{
    curl_headers_free(lists->headers);
    curl_slist_free_all(lists->connect_to);
}
