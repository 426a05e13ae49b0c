/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One exchange over HTTP, shared by the clients of Consul and etcd. It limits time and size,
 * collects the answer or passes it on as it arrives, and reads only the beginning of a bad answer.
 * The owner makes the request and interprets errors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "loop/curl.h"

struct http_limits {
    int connect_ms;
    int keepalive_s;     /* a dead peer is detected after some of these */
    int64_t total_ms;    /* 0: none */
    size_t answer_bytes; /* a longer good answer ends the exchange; 0: no limit */
};

/* PEM files, read for each exchange: a rotated file is used from the next exchange on. */
struct http_files {
    const char *ca_file; /* NULL: the system's authorities */
    const char *cert_file, *key_file;
    bool insecure; /* the server's certificate is not verified */
};

struct http_exchange {
    struct curl_transfer transfer;
    struct curl_slist *headers;
    struct http_limits limits;
    /*
     * Receives a good answer as it arrives; a result other than 0 ends the exchange. NULL:
     * collected.
     */
    int (*data)(void *context, const char *bytes, size_t size);
    void *context;
    struct text body; /* of the answer, if it is collected or bad */
    size_t size;      /* bytes of a good answer */
    bool too_long;
    char error[CURL_ERROR_SIZE];
};

/* Sets an option of libcurl. Returns whether libcurl accepted it. */
#define HTTP_SET(exchange, option, value) \
    (curl_easy_setopt((exchange)->transfer.easy, option, value) == CURLE_OK)

/*
 * Prepares a zeroed exchange. `done`: called at the end of the transfer. http_done() frees what it
 * holds, also after a failure. Returns 0 or -ENOMEM.
 */
int http_prepare(struct http_exchange *exchange, const struct http_limits *limits,
                 void (*done)(struct curl_transfer *transfer, CURLcode code));
void http_done(struct http_exchange *exchange);

/* Copies the strings of `files`. Returns whether libcurl accepted them. */
bool http_set_files(struct http_exchange *exchange, const struct http_files *files);

/* libcurl leaves out a header with an empty value. Returns false without memory. */
bool http_add_header(struct http_exchange *exchange, const char *name, const char *value);

int http_status(const struct http_exchange *exchange); /* 0: no answer */

/* Why an exchange has no complete answer, as far as the remedy depends on it. */
enum http_failure {
    HTTP_FAILED,    /* none of these */
    HTTP_UNNAMED,   /* the host's name can't be resolved */
    HTTP_SHADOWED,  /* no route to the host, or no reply on it */
    HTTP_UNREACHED, /* no connection was made: mostly, no process listens */
    HTTP_SILENT,    /* connected, and no answer arrived in time */
    HTTP_UNTRUSTED, /* the server's certificate is not signed by our CA */
    HTTP_EXPIRED,   /* the server's certificate is expired or not valid yet */
    HTTP_MISNAMED,  /* the server's certificate has other names */
    HTTP_NO_CA,     /* our CA file can't be used */
    HTTP_OWN_PAIR,  /* our certificate and key can't be used */
    HTTP_UNWELCOME, /* the server rejects our certificate */
    HTTP_FOREIGN,   /* the peer speaks another protocol: mostly TLS, where we do not */
    HTTP_PLAIN,     /* we speak TLS, and the peer does not */
};
enum http_failure http_failure(const struct http_exchange *exchange, CURLcode code);

/* The remedy where the network path is at fault; NULL: it is not. */
const char *http_way_remedy(enum http_failure failure);

/*
 * Writes why an exchange that ended with `code` has no complete answer. Writes nothing if it has
 * one.
 */
void http_tell(const struct http_exchange *exchange, CURLcode code, struct text *why);
