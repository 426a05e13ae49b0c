/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the controller is to write next about a BlockRequest, an AddressBlock or an AddressPool, by
 * Coil's rules (its controller may be replaced by ours, or ours by it). Pure: the next step is read
 * off what is known now, each time anew; so whoever was killed between two steps, and whoever came
 * after him, go on with the same one.
 *
 * - A request that has no condition yet is answered: with the block whose label has its uid, or
 * else with the lowest free block of its pool, or else with the condition that there is none.
 * - A block that was created is the answer once the source has it. Where it does not for long, it
 * is created again: who is told that it exists has it, who is told that it is created has an API
 * that stores nothing.
 * - A pool has the finalizer as long as it is not deleted, and a block of it is there.
 * - A block whose Node is gone is released and deleted, unless it is reserved.
 *
 * A Node is a name and a uid: one that was deleted and made anew is another one, who gets none of
 * its predecessor's blocks. Of blocks that say no uid, as Coil's, only the name counts.
 */
#pragma once

#include <stdint.h>

#include "model/block_request.h"
#include "plan/pods/block_table.h"

/* Why a request has no answer yet. */
enum request_wait {
    WAIT_NOTHING,    /* it has, or will have soon */
    WAIT_NAME,       /* a name is longer than the value of a label can be */
    WAIT_NODE,       /* its Node does not exist */
    WAIT_OTHER_NODE, /* it is of another Node of that name */
    WAIT_POOL,       /* its pool does not exist */
    WAIT_FINALIZER,  /* its pool has no finalizer yet */
    WAIT_TAKEN,      /* the name of its block is taken, it is not known yet by whom */
    WAIT_STATUS,     /* the API has no status of it to write the answer to */
    WAIT_OVERLAPS,   /* what is free of its pool overlaps other blocks */
    WAIT_LOST,       /* what was free of its pool was lost, and its nodes may put it back */
    WAIT_HELD,       /* likewise, of nobody knows which: etcd may have been restored */
    WAIT_REASONS,
};

/* "no-pool": stable words, part of the API; a sentence about it; what to do, or NULL: it ends by
 * itself. */
const char *request_wait_name(enum request_wait wait);
const char *request_wait_text(enum request_wait wait);
const char *request_wait_remedy(enum request_wait wait);

/* Its fault, which has no arguments; NULL: it ends by itself. */
const struct fault_type *request_wait_fault(enum request_wait wait);

struct request_step {
    enum { REQUEST_NOTHING, REQUEST_WAITS, REQUEST_CREATE, REQUEST_ANSWER } what;
    enum request_wait wait;          /* REQUEST_WAITS */
    const struct block_entry *entry; /* to be created; the answer, or NULL: out of blocks */
};

/*
 * The next step for a request. One that creates takes the block in the table, and is to be settled
 * (block_settle()) when its outcome is known. Returns 0 or -ENOMEM.
 */
int plan_request(const struct store *store, struct block_table *table,
                 const struct block_request *request, int64_t now_ms,
                 struct request_step *ret_step);

enum hold_step {
    HOLD_NOTHING,
    HOLD_ADD,     /* the finalizer */
    HOLD_RELEASE, /* the finalizer */
    HOLD_DELETE,  /* the object, which has no finalizer of Coil's any more */
};

enum hold_step plan_pool_hold(const struct block_table *table, const struct address_pool *pool);
enum hold_step plan_block_hold(const struct store *store, const struct block_table *table,
                               const struct address_block *block, int64_t now_ms);

/* Whether a block that the API has no more, after etcd was restored from a backup, may be in use:
 * nobody had begun to give it back. */
bool block_is_lost(const struct address_block *block);

/* A block's Node is gone, and it is not reserved: it is garbage, now or in a while. */
bool block_is_lone(const struct store *store, const struct address_block *block);
