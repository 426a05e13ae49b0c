/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP server on the loopback address that does what a test says, in the test's own event loop.
 * Each connection is kept alive; answers may come in pieces, late, or not at all.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/text.h"

enum { FAKE_PEERS = 64 };

struct fake_api;

struct fake_peer {
    struct fake_api *api;
    int fd; /* -1: nobody */
    sd_event_source *source;
    struct text request; /* what came so far, or all of the one being answered */
    char method[8];
    char path[2048]; /* with the query */
};

struct fake_api {
    sd_event *event;
    sd_event_source *source;
    int listener;
    uint16_t port;
    char url[64];
    struct fake_peer peers[FAKE_PEERS];
    unsigned connections, requests;
    struct text heard; /* "/path?query\n" of each request; before it "POST " and the like */
    /* Answers a request, now or later. */
    void (*asked)(struct fake_peer *peer, void *context);
    void *context;
};

void fake_api_start(struct fake_api *api, sd_event *event,
                    void (*asked)(struct fake_peer *peer, void *context), void *context);

/* Stops to listen, and hangs up on everybody; fake_api_listen() makes it come back. */
void fake_api_stop(struct fake_api *api);
void fake_api_listen(struct fake_api *api);
void fake_api_done(struct fake_api *api);

/* The value of a header of the request, borrowed until the next call; NULL: there is none. */
const char *fake_peer_header(const struct fake_peer *peer, const char *name);

/* The body of the request, borrowed likewise; "" if there is none. */
const char *fake_peer_body(const struct fake_peer *peer);

/* A whole answer. `headers`: further ones, each with "\r\n", or NULL. */
void fake_peer_answer(struct fake_peer *peer, int status, const char *headers, const char *body);

/* An answer that goes on: the head, pieces, and the end. */
void fake_peer_begin(struct fake_peer *peer, int status);
void fake_peer_say(struct fake_peer *peer, const char *piece);
void fake_peer_end(struct fake_peer *peer);

/* Raw bytes: few, since nobody reads them meanwhile; any number, by another process. */
void fake_peer_send(struct fake_peer *peer, const char *bytes, size_t size);
void fake_peer_send_many(struct fake_peer *peer, const char *bytes, size_t size);

/* Closes the connection in the middle of what it was saying. */
void fake_peer_cut(struct fake_peer *peer);
