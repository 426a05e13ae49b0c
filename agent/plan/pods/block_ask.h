/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a node asks for one more block of a pool: which step of Coil's BlockRequests is next. Pure;
 * report/block_keeper.h takes the steps.
 *
 * A node has one request of a pool at a time, and one request, told by its uid, is one block. So
 * nothing is lost while the controller is away, and no need is answered twice: the request waits
 * in the API, and the block that comes of it carries the uid, whoever waits for it by then. What is
 * answered is deleted, before another is made in its place.
 *
 * The block itself comes by the source's watch. The request is read again only to see that it is
 * answered: at once when the block is there, else ever more seldom.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/block_request.h"
#include "plan/pods/pod_interface.h"

enum block_ask_state {
    ASK_IDLE,    /* this node has no request, as far as is known */
    ASK_FOUND,   /* one has its name; it is to be read */
    ASK_WAITING, /* not answered, or its block is not here yet */
    ASK_OVER,    /* to be deleted */
};

enum block_ask_step { ASK_NOTHING, ASK_CREATE, ASK_READ, ASK_DELETE };

struct block_ask {
    char pool[POD_INTERFACE_NAME_MAX + 1];
    bool wanted;  /* by the node */
    bool waiting; /* a pod has no address for want of it */
    enum block_ask_state state;
    char uid[OBJECT_UID_MAX + 1]; /* of the request; ASK_WAITING and ASK_OVER */
    bool arrived;                 /* the block with the uid is known */
    bool foreign;                 /* what has the name is no request of this node and pool */
    bool exhausted;               /* the controller has said last that there is none */
    int64_t since_ms;             /* when it was made or found, and when it was answered; 0: not */
    int64_t answered_ms;
    int64_t read_ms, read_pause_ms;   /* when it is read next */
    int64_t again_ms, again_pause_ms; /* when another may be made, after one that failed */
};

/* Whether a request of this node's is there that may still bring a block. */
static inline bool block_ask_pending(const struct block_ask *ask)
{
    return ask->state == ASK_FOUND || ask->state == ASK_WAITING;
}

/* All times are monotonic. The step that is due, and when there may be another; INT64_MAX: never,
 * unless something is told of it. */
enum block_ask_step block_ask_step(const struct block_ask *ask, int64_t now_ms);
int64_t block_ask_next_ms(const struct block_ask *ask);

/* It was created. */
void block_ask_made(struct block_ask *ask, const char *uid, int64_t now_ms);
/* It could not be, as its name is taken. */
void block_ask_taken(struct block_ask *ask, int64_t now_ms);
/* What the API has under the name; NULL: nothing. `node`: this one. */
void block_ask_seen(struct block_ask *ask, const struct block_request *request, const char *node,
                    int64_t now_ms);
/* The block with its uid is among this node's. Once is enough, more do no harm. */
void block_ask_arrived(struct block_ask *ask, int64_t now_ms);
/* It is deleted, or another has its name. */
void block_ask_ended(struct block_ask *ask);
/* The pool is another: it may have room. */
void block_ask_hope(struct block_ask *ask, int64_t now_ms);
