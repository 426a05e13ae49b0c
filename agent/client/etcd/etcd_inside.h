/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structs of a client of etcd and of its requests, for etcd.c and the files named below.
 * Internal to client/.
 */
#pragma once

#include "base/text.h"
#include "base/vec.h"
#include "client/etcd/etcd.h"
#include "client/http.h"

struct etcd_peer;
struct etcd_session;

enum etcd_kind {
    ETCD_ASKS,
    ETCD_PROBES,  /* goes to one endpoint only, over a connection of its own */
    ETCD_LOGS_IN, /* logs in to get a token */
};

struct etcd_client {
    sd_event *event; /* borrowed */
    struct etcd_where where;
    struct curl_loop *loop;
    size_t current; /* of the endpoints: the one that answered last */
    VEC(struct etcd_request *) watches;
    struct etcd_peer *peers;      /* one of each endpoint */
    struct etcd_session *session; /* NULL: etcd has no users */
};

struct etcd_request {
    struct http_exchange exchange;
    struct etcd_client *client;
    struct etcd_call call;
    enum etcd_kind kind;
    int64_t deadline_ms;    /* CLOCK_MONOTONIC; INT64_MAX: none */
    size_t endpoint, tries; /* the current endpoint; how many were tried */
    bool sent;              /* etcd may have received it */
    bool dead;              /* etcd can't have received it: the peer had closed the connection */
    unsigned deads;         /* such connections in a row */
    struct text path, body; /* the request */
    bool was_let_in;        /* sent again after its token was rejected: this happens only once */
    uint64_t token;         /* the number of the token that it was sent with */
    uint64_t waits_since;   /* etcd_session.c */
};

/* ---- etcd_request.c ---- */

/* As etcd_send(), to this endpoint first. */
int etcd_send_to(struct etcd_client *client, const struct etcd_call *call, size_t endpoint,
                 enum etcd_kind kind, struct etcd_request **ret_request);
/* Sends it (again), with the current token. */
int etcd_request_send(struct etcd_request *request, size_t endpoint);
/* Ends it with this answer. */
void etcd_end(struct etcd_request *request, const struct etcd_answer *answer);
/* As etcd_cancel(). */
void etcd_drop(struct etcd_request *request);

/* ---- etcd_answer.c ---- */

/* Writes what is wrong with an answer, if anything, into `why`, which the answer borrows. */
void etcd_describe(const struct etcd_request *request, CURLcode code, struct etcd_answer *answer,
                   struct text *why);
/* For a request that no endpoint answered in time. */
extern const char etcd_members_remedy[];

/* ---- etcd_session.c: etcd's users ---- */

int etcd_session_begin(struct etcd_client *client);
void etcd_session_end(struct etcd_client *client);
/* NULL: there is no valid token. */
const char *etcd_session_token(const struct etcd_client *client, uint64_t *ret_number);
/* The request is sent when there is a token, or ended. */
int etcd_session_wait(struct etcd_request *request);
void etcd_session_forget(struct etcd_request *request);
/* etcd does not accept the token of this number any more. */
void etcd_session_is_over(struct etcd_client *client, uint64_t number);

/* ---- etcd_peer.c: endpoints that go down ---- */

int etcd_peers_begin(struct etcd_client *client);
void etcd_peers_end(struct etcd_client *client);
/* A watch is sent to this endpoint. */
void etcd_peer_watched(struct etcd_client *client, size_t endpoint);
/* A request was answered, failed (`code`) or was cancelled. */
void etcd_peer_note(const struct etcd_request *request, CURLcode code);
