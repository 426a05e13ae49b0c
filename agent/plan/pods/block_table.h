/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocated blocks of all pools: those that the source has, and those whose creation was
 * requested and which the source has not received yet. Kept by the controller across passes; pure,
 * time is an argument.
 *
 * A block is allocated by its pool label and its index, whatever its name, as in Coil. A name can
 * also be taken by a block that the source has not received: then its index is allocated until the
 * block is received, and the request waits, since the block may be its result, written by a
 * previous controller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sorted.h"
#include "model/address_block.h"
#include "plan/pods/pool_blocks.h"
#include "store/store.h"

enum block_state {
    BLOCK_KNOWN, /* the source has it */
    BLOCK_ASKED, /* its create is under way */
    BLOCK_MADE,  /* the API has confirmed it, the source has not received it */
    BLOCK_SHOWN, /* likewise, and a second create found its name taken */
    BLOCK_TAKEN, /* an unknown object has its name */
    BLOCK_LOST,  /* etcd was restored to a state before it: its node may restore it */
};

enum {
    BLOCK_TELLING_MS = 10 * 1000, /* within which a source receives what the API has */
    BLOCK_FORGOTTEN_MS = 5 * 60 * 1000,
    BLOCK_LOST_MS = 2 * 60 * 1000, /* a node tries an API that was down every 30 s */
    BLOCK_LONE_MS = 30 * 1000,     /* a block was added, and its Node may follow */
};

/* A block. One allocation with its strings; "" where it has none. */
struct block_entry {
    const char *name, *pool, *node, *node_uid, *request;
    const char *asker; /* the name of the request, until the source has received the block */
    uint32_t index;
    struct prefix ipv4, ipv6;
    enum block_state state;
    bool made;        /* the API has confirmed it once */
    int64_t since_ms; /* in this state; monotonic */
    int64_t lone_ms;  /* from when on it is garbage, unless its Node exists; 0: the Node existed */
};

enum block_order { BLOCK_BY_INDEX, BLOCK_BY_REQUEST, BLOCK_BY_NODE, BLOCK_BY_V4, BLOCK_BY_V6 };

struct block_table {
    struct sorted orders[BLOCK_BY_V6 + 1]; /* struct block_entry *, owned by the first one */
    int64_t held_ms; /* no allocations until then: nodes may restore unknown blocks */
};

void block_table_init(struct block_table *table);
void block_table_done(struct block_table *table);

/*
 * Records that the source has a block now (`store` has the Nodes), or has it no longer. Returns 0;
 * -ENOMEM: then the block is not in the table.
 */
int block_table_put(struct block_table *table, const struct store *store,
                    const struct address_block *block, int64_t now_ms);
void block_table_drop(struct block_table *table, const struct address_block *block);

/* Likewise, but it is not allocated for BLOCK_LOST_MS. Returns 0; -ENOMEM: it is free. */
int block_table_lose(struct block_table *table, const struct address_block *block, int64_t now_ms);

/* A Node was added, changed or deleted: its object before and now; NULL: none. */
void block_table_node(struct block_table *table, const struct node *before,
                      const struct node *after, int64_t now_ms);

/*
 * Drops entries that the source has not received, if they are older than BLOCK_FORGOTTEN_MS, or
 * lost for BLOCK_LOST_MS. Returns when the next lost one is to be dropped, or blocks are allocated
 * again; INT64_MAX: neither.
 */
int64_t block_table_forget(struct block_table *table, int64_t now_ms);

/* Drops all requested creates, since the controller no longer leads. */
void block_table_forget_asked(struct block_table *table);

enum block_search {
    BLOCK_FOUND,
    BLOCK_EXHAUSTED,  /* every block of the pool is taken */
    BLOCK_AWAITED,    /* likewise, but some are lost, and may become free soon */
    BLOCK_OVERLAPPED, /* too many free ones overlap allocated blocks */
};

/* The free block of a pool with the lowest index. */
enum block_search block_table_free(const struct block_table *table, const struct address_pool *pool,
                                   struct pool_block *ret_block);

/* Allocates a free block for a Node and a request: BLOCK_ASKED. Borrowed; NULL: no memory. */
const struct block_entry *block_ask(struct block_table *table, const struct address_pool *pool,
                                    const struct pool_block *block, const struct node *node,
                                    const struct object *request, int64_t now_ms);

/* Requests the create of a BLOCK_MADE entry again: it becomes BLOCK_ASKED. */
void block_ask_again(struct block_table *table, const char *request, int64_t now_ms);

/*
 * Records the result of a create: BLOCK_MADE or BLOCK_TAKEN; BLOCK_KNOWN: it failed, the block is
 * free again. For a repeated create a taken name is the block itself: it becomes BLOCK_SHOWN, and
 * is never freed. No effect if the source has received the block meanwhile.
 */
void block_settle(struct block_table *table, const char *request, enum block_state state,
                  int64_t now_ms);

/*
 * The block of a request, or its requested create; NULL: none. An entry whose name was taken, and
 * whose block was not received for BLOCK_TELLING_MS, does not count.
 */
const struct block_entry *block_of_request(const struct block_table *table, const char *request,
                                           int64_t now_ms);

/* The number of entries of a pool, requested creates included. */
size_t block_table_count(const struct block_table *table, const char *pool);

/* The entries with a Node's name; `*ret_count` may be 0. Borrowed. */
struct block_entry *const *block_table_of_node(const struct block_table *table, const char *node,
                                               size_t *ret_count);

/* The entry of a block that the source has received, or NULL. */
const struct block_entry *block_table_find(const struct block_table *table,
                                           const struct address_block *block);
