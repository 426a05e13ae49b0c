/* SPDX-License-Identifier: Apache-2.0 */
/* What a client of etcd and its requests are made of, for etcd.c and the files named below.
 * Internal to client/. */
#pragma once

#include "base/text.h"
#include "base/vec.h"
#include "client/etcd.h"
#include "client/http.h"

struct etcd_peer;

struct etcd_client {
    sd_event *event; /* borrowed */
    struct etcd_where where;
    struct curl_loop *loop;
    size_t current; /* of the endpoints: the one that answered last */
    VEC(struct etcd_request *) watches;
    struct etcd_peer *peers; /* one of each endpoint */
    char *token;             /* of etcd's, for its user; NULL: none as yet, or any more */
};

struct etcd_request {
    struct http_exchange exchange;
    struct etcd_client *client;
    struct etcd_call call;
    size_t endpoint, tries; /* the one that is asked; how many were */
    bool probes;            /* this endpoint and no other, over a connection of its own */
    bool sent;              /* somebody may have heard it */
    bool dead;              /* nobody can have: the connection was closed at the other end */
    unsigned deads;         /* such connections in a row */
    struct text path, body; /* what is asked */
    bool logs_in;           /* first: this is under way */
    bool was_let_in;        /* once is enough */
    struct text login;
    int login_error; /* of the file of the password; 0: none */
};

/* As etcd_send(), to this endpoint first; `probes`: and to no other. */
int etcd_send_to(struct etcd_client *client, const struct etcd_call *call, size_t endpoint,
                 bool probes, struct etcd_request **ret_request);
/* Ends it as if its time were over. */
void etcd_end(struct etcd_request *request);

/* ---- etcd_answer.c ---- */

/* Writes what is wrong with an answer, if anything, into `why`, which the answer borrows. */
void etcd_describe(const struct etcd_request *request, CURLcode code, struct etcd_answer *answer,
                   struct text *why);

/* ---- etcd_peer.c: endpoints that go down ---- */

int etcd_peers_begin(struct etcd_client *client);
void etcd_peers_end(struct etcd_client *client);
/* A watch is sent to this endpoint. */
void etcd_peer_watched(struct etcd_client *client, size_t endpoint);
/* A request is answered, or (`code`) failed or was given up. */
void etcd_peer_note(const struct etcd_request *request, CURLcode code);
