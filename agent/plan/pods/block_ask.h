/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a node requests another block of a pool: the next step with Coil's BlockRequests. Pure;
 * report/block_keeper.h executes the steps.
 *
 * A node has one request per pool at a time, and one request, identified by its uid, yields one
 * block. So no request is lost while the controller is down, and none is fulfilled twice: the
 * request waits in the API, and the resulting block has its uid. A completed request is deleted
 * before another one is created in its place.
 *
 * The block itself is received by the source's watch. The request is read again only to see its
 * condition: at once when the block is there, else at increasing intervals.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/block_request.h"
#include "plan/pods/pod_interface.h"

enum block_ask_state {
    ASK_IDLE,    /* this node has no known request */
    ASK_FOUND,   /* an object with its name exists; it is to be read */
    ASK_WAITING, /* no condition yet, or its block is not received yet */
    ASK_OVER,    /* to be deleted */
};

enum block_ask_step { ASK_NOTHING, ASK_CREATE, ASK_READ, ASK_DELETE };

struct block_ask {
    char pool[POD_INTERFACE_NAME_MAX + 1];
    bool wanted;  /* by the node */
    bool waiting; /* a pod has no address for lack of it */
    enum block_ask_state state;
    char uid[OBJECT_UID_MAX + 1]; /* of the request; ASK_WAITING and ASK_OVER */
    bool arrived;                 /* the block with the uid is known */
    bool foreign;                 /* the object with the name is no request of this node and pool */
    bool exhausted;               /* by the controller's last condition there is none */
    int64_t since_ms; /* when it was created or found, and when it was completed; 0: not */
    int64_t answered_ms;
    int64_t read_ms, read_pause_ms;   /* when it is read next */
    int64_t again_ms, again_pause_ms; /* when another may be created, after a failed one */
};

/* Whether a request of this node exists that may still yield a block. */
static inline bool block_ask_pending(const struct block_ask *ask)
{
    return ask->state == ASK_FOUND || ask->state == ASK_WAITING;
}

/*
 * All times are monotonic. Returns the due step, and when the next may be due; INT64_MAX: only
 * after an event.
 */
enum block_ask_step block_ask_step(const struct block_ask *ask, int64_t now_ms);
int64_t block_ask_next_ms(const struct block_ask *ask);

/* It was created. */
void block_ask_made(struct block_ask *ask, const char *uid, int64_t now_ms);
/* It could not be created, since its name is taken. */
void block_ask_taken(struct block_ask *ask, int64_t now_ms);
/* The object with the name in the API; NULL: none. `node`: this one. */
void block_ask_seen(struct block_ask *ask, const struct block_request *request, const char *node,
                    int64_t now_ms);
/* The block with its uid is among this node's. May be called repeatedly. */
void block_ask_arrived(struct block_ask *ask, int64_t now_ms);
/* It is deleted, or another has its name. */
void block_ask_ended(struct block_ask *ask);
/* The pool has changed: it may have free blocks. */
void block_ask_hope(struct block_ask *ask, int64_t now_ms);
