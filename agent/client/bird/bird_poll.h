/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The questions to BIRD and what the answers tell. Pure: bird.c carries them to and fro.
 *
 * Which routes BIRD has learned, and which its filters keep back, it finds by going through its
 * tables. That is asked only if something has changed since: BIRD counts each route that goes
 * through a channel, and says when its protocols and its configuration were last changed.
 *
 *     bird_poll_connected(&poll);
 *     for each complete reply: bird_poll_take(&poll, reply, now), then bird_poll_command(&poll,
 * ...) when there is no command any more, `facts` are complete; bird_poll_again(&poll, &facts)
 * starts over.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "client/bird/bird_parse.h"

enum { BIRD_LISTED_MAX = 10000 };

/* A BGP protocol. */
struct bird_session {
    struct bird_protocol protocol;
    int64_t since_wall_ms; /* of its state; 0 unknown */
    char bfd[16];          /* "Up", "Down", ...; "" none */
    /* Our routes in the tables of an established session that its filters keep back. */
    int64_t exported;          /* those that they let through; -1 unknown */
    int64_t filtered;          /* -1 unknown */
    bool listed;               /* `networks` has them all; else there are too many, or unknown */
    bird_prefix_list networks; /* sorted */
};

struct bird_facts {
    char version[32];
    VEC(struct bird_session) sessions; /* in BIRD's order */
    int64_t learned[BIRD_FAMILIES];    /* our routes that its kernel protocols have; -1 unknown */
    char kernel_down[BIRD_FAMILIES][BIRD_NAME_SIZE]; /* the kernel protocol that is disabled; "" */
    char kernel_refuses[BIRD_FAMILIES][BIRD_NAME_SIZE]; /* that has `import none`; "" */
    char kernel_limited[BIRD_FAMILIES][BIRD_NAME_SIZE]; /* that has reached its import limit; "" */
    char device_down[BIRD_NAME_SIZE]; /* the device protocol that is disabled; "" */
    uint64_t stamp;                   /* as long as it is the same, so are routes; 0 unknown */
};

void bird_facts_clear(struct bird_facts *facts);

enum bird_step {
    BIRD_GREETING,
    BIRD_RESTRICT,
    BIRD_ECHO,
    BIRD_STATUS,
    BIRD_PROTOCOLS,
    BIRD_BFD,
    BIRD_LEARNED,
    BIRD_EXPORTED,
    BIRD_FILTERED,
    BIRD_LIST,
    BIRD_IDLE,
};

struct bird_poll {
    enum bird_step step; /* what the next reply answers */
    size_t index;        /* of the protocol it is about */
    bool log_heard;      /* BIRD repeats its warnings on this connection */
    struct bird_facts facts;
    const struct bird_facts *before; /* of the poll before; NULL: all is asked */
    bool brief;                      /* what was found before about routes still holds */
    struct bird_server server;
    int64_t wall_ms; /* when the reply at hand came */
    int64_t zone_ms; /* what to add to BIRD's times */
    bird_protocol_list kernels;
    bird_bfd_list bfd;
};

/* A new connection: BIRD speaks first. */
void bird_poll_connected(struct bird_poll *poll);

/*
 * Another poll on a connection that is idle. `before`: what the last poll found, borrowed until
 * this one is complete; NULL makes it ask for everything.
 */
void bird_poll_again(struct bird_poll *poll, const struct bird_facts *before);

/*
 * Takes the reply to what was asked last; `wall_ms` is the time now. Returns 0, -EPROTO if BIRD
 * does not talk like that, or -ENOMEM.
 */
int bird_poll_take(struct bird_poll *poll, const struct bird_reply *reply, int64_t wall_ms);

/* Appends the next command with its newline; nothing, and the step is BIRD_IDLE, at the end. */
void bird_poll_command(struct bird_poll *poll, struct text *command);

/* What is being asked, for messages: "show status". */
const char *bird_poll_question(const struct bird_poll *poll);

void bird_poll_done(struct bird_poll *poll);
