/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One exchange over HTTP: what the clients of Consul and etcd share. It has limits of time and
 * size, its answer is collected or handed on as it comes, and of a bad answer only the beginning is
 * looked at. Which request it is, and what an error means, is its owner's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "loop/curl.h"

struct http_limits {
    int connect_ms;
    int keepalive_s;     /* a peer that vanished is noticed after some of these */
    int64_t total_ms;    /* 0: none */
    size_t answer_bytes; /* more of a good answer ends the exchange; 0: none */
};

/* Files in PEM, read for each exchange: what was rotated counts from the next one on. */
struct http_files {
    const char *ca_file; /* NULL: the system's authorities */
    const char *cert_file, *key_file;
    bool insecure; /* any server's certificate is good */
};

struct http_exchange {
    struct curl_transfer transfer;
    struct curl_slist *headers;
    struct http_limits limits;
    /* Bytes of a good answer as they come; anything but 0 ends the exchange. NULL: collected. */
    int (*data)(void *context, const char *bytes, size_t size);
    void *context;
    struct text body; /* of the answer, if it is collected or bad */
    size_t size;      /* bytes of a good answer */
    bool too_long;
    char error[CURL_ERROR_SIZE];
};

/* Sets an option of libcurl. Returns whether it was taken. */
#define HTTP_SET(exchange, option, value) \
    (curl_easy_setopt((exchange)->transfer.easy, option, value) == CURLE_OK)

/*
 * Prepares a zeroed exchange. `done`: of the transfer. http_done() frees what it holds, also after
 * a failure. Returns 0 or -ENOMEM.
 */
int http_prepare(struct http_exchange *exchange, const struct http_limits *limits,
                 void (*done)(struct curl_transfer *transfer, CURLcode code));
void http_done(struct http_exchange *exchange);

/* What `files` names is copied. Returns whether libcurl took it. */
bool http_set_files(struct http_exchange *exchange, const struct http_files *files);

/* An empty value: libcurl leaves the header out. Returns false without memory. */
bool http_add_header(struct http_exchange *exchange, const char *name, const char *value);

int http_status(const struct http_exchange *exchange); /* 0: no answer */

/* By what an exchange without a whole answer failed, as far as it decides what is to be done. */
enum http_failure {
    HTTP_FAILED,    /* none of these */
    HTTP_UNNAMED,   /* the host's name is not known */
    HTTP_SHADOWED,  /* no way leads there, or nobody answers on it */
    HTTP_UNREACHED, /* no connection came to be: nobody listens, mostly */
    HTTP_SILENT,    /* one did, and no answer came in time */
    HTTP_UNTRUSTED, /* its certificate is not of our CA */
    HTTP_EXPIRED,   /* it is not valid now */
    HTTP_MISNAMED,  /* it has other names than we ask for */
    HTTP_NO_CA,     /* our file of CAs can't be used */
    HTTP_OWN_PAIR,  /* our certificate and key can't be used */
    HTTP_UNWELCOME, /* our certificate is refused there */
    HTTP_FOREIGN,   /* somebody is there, and speaks otherwise: with TLS, mostly, where we do not */
    HTTP_PLAIN,     /* we speak TLS, and he does not */
};
enum http_failure http_failure(const struct http_exchange *exchange, CURLcode code);

/* What to do where the way there is at fault; NULL: it is not. */
const char *http_way_remedy(enum http_failure failure);

/* Says why an exchange that ended with `code` has no whole answer. Says nothing if it has one. */
void http_tell(const struct http_exchange *exchange, CURLcode code, struct text *why);
