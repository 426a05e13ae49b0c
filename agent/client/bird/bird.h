/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches BIRD through its control socket, in the event loop: sessions, the routes they announce,
 * which of our routes BIRD has learned, and netlink messages that BIRD reports as lost.
 *
 * The client only reads (`restrict` is the first command). BIRD may be absent, restart, hang or
 * send invalid replies: then `reachable` is false, `error` has the reason, and the client tries
 * again. The connection to a BIRD that hangs is kept, and the poll continues when BIRD answers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "client/bird/bird_poll.h"

struct bird_view {
    bool reachable;        /* a poll has completed since the connection was made */
    char error[256];       /* why it is not reachable; "" before the first attempt has ended */
    int64_t since_wall_ms; /* since when it is (not) reachable */
    struct bird_facts facts;
    bool log_heard;     /* BIRD repeats its warnings on our connection; otherwise overflows are not
                           detected */
    uint64_t overflows; /* how often BIRD lost netlink messages, since the connection was made */
    int64_t last_overflow_mono_ms;
};

struct bird_timing {
    int64_t poll_ms;  /* from one poll to the next */
    int64_t soon_ms;  /* the same, after bird_client_poll_soon() */
    int64_t reply_ms; /* a reply that is missing after this time is reported */
    int64_t stuck_ms; /* after that much more silence the client reconnects */
    int64_t retry_initial_ms, retry_max_ms;
};

/*
 * 1 s and 250 ms between polls, 1 s for a reply, a minute until it is stuck, retries after 1 s and
 * 2 s: connect() to a local socket costs microseconds.
 *
 * Polls take at most a twentieth of BIRD's time: a poll that takes 500 ms is followed by a pause of
 * 10 s.
 */
extern const struct bird_timing bird_timing_default;

struct bird_options {
    sd_event *event;
    const char *socket; /* copied */
    const struct bird_timing *timing;
    /*
     * The view has changed: called after each poll, and when BIRD becomes unreachable. Must not
     * free the client.
     */
    void (*changed)(void *context);
    /*
     * A line of BIRD's log, as "tor_v4: Received: Bad peer AS: 64999". NULL: log lines are not
     * passed on.
     */
    void (*heard)(const char *line, void *context);
    void *context;
};

struct bird_client;

/* Connects as soon as the loop runs. Returns 0 or -errno. */
int bird_client_new(const struct bird_options *options, struct bird_client **ret_client);
void bird_client_free(struct bird_client *client);
DEFINE_CLEANUP(struct bird_client *, bird_client_free);

/* Routes have changed: requests a poll soon, at most one each `soon_ms`. */
void bird_client_poll_soon(struct bird_client *client);

/* The current view. Borrowed until the loop runs again. */
const struct bird_view *bird_client_view(const struct bird_client *client);
