/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers of libcurl in the event loop: a multi handle whose sockets and timer are sd-event
 * sources. Nothing blocks; callbacks of an easy handle run from the loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <curl/curl.h>
#include <systemd/sd-event.h>

#include "base/cleanup.h"

struct curl_loop;

/* A transfer, as a member of what its owner keeps about it. */
struct curl_transfer {
    CURL *easy; /* the owner's */
    /* It has come to its end, and is not under way any more. May start others, and free this one;
     * must not free the loop. */
    void (*done)(struct curl_transfer *transfer, CURLcode code);
    /* At its end: of its connection, which is libcurl's; CURL_SOCKET_BAD: that is closed. */
    curl_socket_t socket;
    size_t head_bytes; /* of lines of the head and of trailers; see curl_head_fits() */
};

int curl_loop_new(sd_event *event, struct curl_loop **ret_loop); /* 0 or -errno */

/* When no transfer is under way. */
void curl_loop_free(struct curl_loop *loop);
DEFINE_CLEANUP(struct curl_loop *, curl_loop_free);

/*
 * Starts a transfer (its easy handle gives up CURLOPT_PRIVATE); ends one without calling `done`.
 * Neither may be called from a callback of libcurl. Returns 0 or -ENOMEM.
 */
int curl_loop_start(struct curl_loop *loop, struct curl_transfer *transfer);
void curl_loop_cancel(struct curl_loop *loop, struct curl_transfer *transfer);

/*
 * In CURLOPT_PREREQFUNCTION: whether the peer has closed the connection that the request is about
 * to be written to, by its local port. libcurl takes one on which the end of TLS waits to be read
 * for a living one; so after an orderly restart of a server each connection that was kept would
 * cost a request.
 */
bool curl_peer_has_closed(const struct curl_loop *loop, int local_port);

/* Frees a list of headers. One may have a token, so they are wiped before; copies of libcurl are
 * not. */
void curl_headers_free(struct curl_slist *headers);

/*
 * In CURLOPT_HEADERFUNCTION: counts a line of the head, or a trailer. False: the answer has more
 * than CURL_HEAD_MAX bytes of them, and the callback is to end the transfer. libcurl keeps every
 * line for curl_easy_header(); it bounds the head (300 KiB), but not trailers (seen with 7.88.1).
 */
enum { CURL_HEAD_MAX = 256 * 1024 };
#define CURL_HEAD_LONG "the answer has more than 256 KiB of headers"
bool curl_head_fits(struct curl_transfer *transfer, size_t bytes);
static inline bool curl_head_is_long(const struct curl_transfer *transfer)
{
    return transfer->head_bytes > CURL_HEAD_MAX;
}

/*
 * For how long the answer asks to be left alone (RFC 9110, Retry-After), in milliseconds; 0: it
 * does not. At most CURL_RETRY_AFTER_MAX_MS, as the pauses between tries of our own: a proxy's page
 * for an outage says an hour, and nobody would ask whether it is over.
 */
enum { CURL_RETRY_AFTER_MAX_MS = 30 * 1000 };
int64_t curl_retry_after_ms(CURL *easy);

/*
 * What libcurl has written into a transfer's error buffer, or its words for the code where that is
 * empty; written into `words`, which is returned. The times and sizes that it measured are left
 * out: they are others with each try, and a trouble has the same words for as long as it lasts.
 */
const char *curl_error(CURLcode code, const char *error, char words[static CURL_ERROR_SIZE]);
