/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's next write for a BlockRequest, an AddressBlock or an AddressPool, by Coil's
 * rules (our controller may replace Coil's, and the reverse). Pure: the next step is derived from
 * the current state each time; so a controller that was killed between two steps, or its successor,
 * continues with the same one.
 *
 * - A request without a condition gets its result: with the block whose label has its uid, or
 * else with the lowest free block of its pool, or else with the condition that there is none.
 * - A created block is the result once the source has it. If the source does not receive it for
 *   long, it is created again: "already exists" means that it is there, success means that the API
 *   did not store it before.
 * - A pool has the finalizer while it is not deleted, or a block of it exists.
 * - A block whose Node is gone is released and deleted, unless it is reserved.
 *
 * A Node is a name and a uid: one that was deleted and created again is another one, and gets none
 * of its predecessor's blocks. For blocks without a uid, as Coil's, only the name counts.
 */
#pragma once

#include <stdint.h>

#include "model/block_request.h"
#include "plan/pods/block_table.h"

/* Why a request has no result yet. */
enum request_wait {
    WAIT_NOTHING,    /* it has one, or will have soon */
    WAIT_NAME,       /* a name is longer than the value of a label can be */
    WAIT_NODE,       /* its Node does not exist */
    WAIT_OTHER_NODE, /* it is of another Node of that name */
    WAIT_POOL,       /* its pool does not exist */
    WAIT_FINALIZER,  /* its pool has no finalizer yet */
    WAIT_TAKEN,      /* the name of its block is taken by a block not known yet */
    WAIT_STATUS,     /* the API has no status subresource for the result */
    WAIT_OVERLAPS,   /* the free blocks of its pool overlap other blocks */
    WAIT_LOST,       /* the free blocks of its pool were lost, and their nodes may restore them */
    WAIT_HELD,       /* likewise, but it is unknown which: etcd may have been restored */
    WAIT_REASONS,
};

/* "no-pool": stable words, part of the API; a sentence; the remedy, or NULL: it ends by itself. */
const char *request_wait_name(enum request_wait wait);
const char *request_wait_text(enum request_wait wait);
const char *request_wait_remedy(enum request_wait wait);

/* Its fault, which has no arguments; NULL: it ends by itself. */
const struct fault_type *request_wait_fault(enum request_wait wait);

struct request_step {
    enum { REQUEST_NOTHING, REQUEST_WAITS, REQUEST_CREATE, REQUEST_ANSWER } what;
    enum request_wait wait;          /* REQUEST_WAITS */
    const struct block_entry *entry; /* to be created; the result, or NULL: out of blocks */
};

/*
 * The next step for a request. A create reserves the block in the table; block_settle() must be
 * called with its result. Returns 0 or -ENOMEM.
 */
int plan_request(const struct store *store, struct block_table *table,
                 const struct block_request *request, int64_t now_ms,
                 struct request_step *ret_step);

enum hold_step {
    HOLD_NOTHING,
    HOLD_ADD,     /* the finalizer */
    HOLD_RELEASE, /* the finalizer */
    HOLD_DELETE,  /* the object, which no longer has Coil's finalizer */
};

enum hold_step plan_pool_hold(const struct block_table *table, const struct address_pool *pool);
enum hold_step plan_block_hold(const struct store *store, const struct block_table *table,
                               const struct address_block *block, int64_t now_ms);

/*
 * Whether a block that is missing in the API after a restore of etcd may be in use: its release had
 * not begun.
 */
bool block_is_lost(const struct address_block *block);

/*
 * Whether a block's Node is gone and the block is not reserved: it is garbage, now or after a
 * delay.
 */
bool block_is_lone(const struct store *store, const struct address_block *block);
