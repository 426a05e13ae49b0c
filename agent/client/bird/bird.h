/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches BIRD through its control socket, in the event loop: sessions, what they announce, what
 * BIRD has learned of our routes, and notifications that it lost.
 *
 * It only ever asks (`restrict` is the first thing said). BIRD may be absent, restart, hang or talk
 * nonsense: then `reachable` is false and `error` says why, and it is tried again. A BIRD that
 * hangs keeps its connection: it goes on where it was.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "client/bird/bird_poll.h"

struct bird_view {
    bool reachable;        /* a poll has been completed since the connection was made */
    char error[256];       /* why not; "" before the first attempt has ended */
    int64_t since_wall_ms; /* since when it is (not) reachable */
    struct bird_facts facts;
    bool log_heard;     /* BIRD repeats its warnings to us; else overflows are not seen */
    uint64_t overflows; /* how often BIRD lost netlink messages, since the connection was made */
    int64_t last_overflow_mono_ms;
};

struct bird_timing {
    int64_t poll_ms;  /* from one poll to the next */
    int64_t soon_ms;  /* the same, when there is a reason to ask */
    int64_t reply_ms; /* what BIRD has not answered by then is told */
    int64_t stuck_ms; /* after that much more silence it is another connection's turn */
    int64_t retry_initial_ms, retry_max_ms;
};

/*
 * 1 s and 250 ms between polls, 1 s for a reply, a minute until it is stuck, retries after 1 s and
 * 2 s: connect() to a socket of this machine costs microseconds.
 *
 * Nevertheless BIRD answers us for a twentieth of its time at most: a poll that takes 500 ms is
 * followed by 10 s of rest.
 */
extern const struct bird_timing bird_timing_default;

struct bird_options {
    sd_event *event;
    const char *socket; /* copied */
    const struct bird_timing *timing;
    /* The view has changed: after each poll, and when BIRD goes away. Must not free the client. */
    void (*changed)(void *context);
    /* A line of BIRD's log, as "tor_v4: Received: Bad peer AS: 64999". NULL: nobody listens. */
    void (*heard)(const char *line, void *context);
    void *context;
};

struct bird_client;

/* Connects as soon as the loop runs. Returns 0 or -errno. */
int bird_client_new(const struct bird_options *options, struct bird_client **ret_client);
void bird_client_free(struct bird_client *client);
DEFINE_CLEANUP(struct bird_client *, bird_client_free);

/* Routes have changed: a poll soon, at most one each `soon_ms`. */
void bird_client_poll_soon(struct bird_client *client);

/* What is known. Borrowed until the loop runs again. */
const struct bird_view *bird_client_view(const struct bird_client *client);
