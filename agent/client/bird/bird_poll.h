/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the commands for BIRD and reads the replies. Pure: bird.c sends and receives.
 *
 * To find which routes BIRD has learned, and which its filters reject, BIRD has to walk its tables.
 * These commands are sent only if something has changed since the last poll: BIRD counts each route
 * that passes through a channel, and reports when its protocols and its configuration were last
 * changed.
 *
 *     bird_poll_connected(&poll);
 *     for each complete reply: bird_poll_take(&poll, reply, now), then bird_poll_command(...)
 *
 * When no command is left, `facts` are complete; bird_poll_again(&poll, &facts) starts over.
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
    /* Of an established session: our routes in its tables that its filters reject. */
    int64_t exported; /* those that its filters accept; -1 unknown */
    int64_t filtered; /* -1 unknown */
    bool listed;      /* `networks` is complete; false: there are too many, or they are unknown */
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
    uint64_t stamp;                   /* routes are unchanged as long as the stamp is; 0 unknown */
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
    enum bird_step step; /* which command the next reply answers */
    size_t index;        /* of the protocol it is about */
    bool log_heard;      /* BIRD repeats its warnings on this connection */
    struct bird_facts facts;
    const struct bird_facts *before; /* of the poll before; NULL: all commands are sent */
    bool brief;                      /* what the poll before found about routes still holds */
    struct bird_server server;
    int64_t wall_ms; /* when the current reply arrived */
    int64_t zone_ms; /* offset that is added to BIRD's times */
    bird_protocol_list kernels;
    bird_bfd_list bfd;
};

/* A new connection: BIRD sends the greeting first. */
void bird_poll_connected(struct bird_poll *poll);

/*
 * Starts another poll on an idle connection. `before`: the facts of the last poll, borrowed until
 * this one is complete; NULL: all commands are sent.
 */
void bird_poll_again(struct bird_poll *poll, const struct bird_facts *before);

/*
 * Reads the reply to the last command; `wall_ms` is the time now. Returns 0, -EPROTO if the reply
 * is not in BIRD's protocol, or -ENOMEM.
 */
int bird_poll_take(struct bird_poll *poll, const struct bird_reply *reply, int64_t wall_ms);

/*
 * Appends the next command with its newline. At the end it appends nothing, and the step is
 * BIRD_IDLE.
 */
void bird_poll_command(struct bird_poll *poll, struct text *command);

/* The current command, for messages: "show status". */
const char *bird_poll_question(const struct bird_poll *poll);

void bird_poll_done(struct bird_poll *poll);
