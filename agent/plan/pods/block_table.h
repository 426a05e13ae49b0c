/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks of all pools that are taken: those that the source knows, and those whose creation was
 * asked for and which it has not told of yet. Kept by the controller from pass to pass; pure, a
 * time comes in.
 *
 * A block is taken by its label of the pool and its index, whatever its name is, as Coil counts. A
 * name can be taken as well, by a block of which nobody has told us: then its index is taken until
 * it shows who has it, and the request that wanted it waits for that, since the block may be the
 * answer to it, from a controller before this one.
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
    BLOCK_ASKED, /* its creation is under way */
    BLOCK_MADE,  /* the API says that it has it, the source not yet */
    BLOCK_SHOWN, /* likewise, and its name was found to be taken since */
    BLOCK_TAKEN, /* something has its name */
    BLOCK_LOST,  /* etcd was restored to before it was made: its node may put it back */
};

enum {
    BLOCK_TELLING_MS = 10 * 1000, /* in which a source tells of what the API has */
    BLOCK_FORGOTTEN_MS = 5 * 60 * 1000,
    BLOCK_LOST_MS = 2 * 60 * 1000, /* a node asks an API that was away every 30 s */
    BLOCK_LONE_MS = 30 * 1000,     /* a block came, and its Node may be on its way */
};

/* A block. One allocation with its strings; "" where it has none. */
struct block_entry {
    const char *name, *pool, *node, *node_uid, *request;
    const char *asker; /* the name of the request, while the source has not told of the block */
    uint32_t index;
    struct prefix ipv4, ipv6;
    enum block_state state;
    bool made;        /* the API has said so once */
    int64_t since_ms; /* in this state; monotonic */
    int64_t lone_ms;  /* from when on it is garbage, unless its Node is there; 0: it was there */
};

enum block_order { BLOCK_BY_INDEX, BLOCK_BY_REQUEST, BLOCK_BY_NODE, BLOCK_BY_V4, BLOCK_BY_V6 };

struct block_table {
    struct sorted orders[BLOCK_BY_V6 + 1]; /* struct block_entry *, which the first one owns */
    int64_t held_ms; /* until then nobody gets a block: nodes may put back what is not known here */
};

void block_table_init(struct block_table *table);
void block_table_done(struct block_table *table);

/* Takes in that the source has a block now (`store` has the Nodes), or has it no more. 0; -ENOMEM:
 * then it is as if the block were not there. */
int block_table_put(struct block_table *table, const struct store *store,
                    const struct address_block *block, int64_t now_ms);
void block_table_drop(struct block_table *table, const struct address_block *block);

/* Likewise, but nobody gets it for BLOCK_LOST_MS. 0; -ENOMEM: it is free. */
int block_table_lose(struct block_table *table, const struct address_block *block, int64_t now_ms);

/* A Node came, changed or went: what was said of it before, and now; NULL: it was not, is not. */
void block_table_node(struct block_table *table, const struct node *before,
                      const struct node *after, int64_t now_ms);

/*
 * Forgets what the source has not told of, if that is older than BLOCK_FORGOTTEN_MS, or lost for
 * BLOCK_LOST_MS. Returns when the next lost one is to be forgotten, or blocks are given again;
 * INT64_MAX: neither.
 */
int64_t block_table_forget(struct block_table *table, int64_t now_ms);

/* Forgets all that was asked for, since the controller leads no more: a name is taken or not,
 * whatever we know. */
void block_table_forget_asked(struct block_table *table);

enum block_search {
    BLOCK_FOUND,
    BLOCK_EXHAUSTED,  /* every block of the pool is taken */
    BLOCK_AWAITED,    /* likewise, but some are lost, and may be free soon */
    BLOCK_OVERLAPPED, /* too many free ones overlap blocks that somebody has */
};

/* The free block of a pool with the lowest index. */
enum block_search block_table_free(const struct block_table *table, const struct address_pool *pool,
                                   struct pool_block *ret_block);

/* Takes a free block for a Node and a request: BLOCK_ASKED. Borrowed; NULL: no memory. */
const struct block_entry *block_ask(struct block_table *table, const struct address_pool *pool,
                                    const struct pool_block *block, const struct node *node,
                                    const struct object *request, int64_t now_ms);

/* Asks once more for what is BLOCK_MADE: it is BLOCK_ASKED. */
void block_ask_again(struct block_table *table, const char *request, int64_t now_ms);

/*
 * What became of what was asked for: BLOCK_MADE or BLOCK_TAKEN; BLOCK_KNOWN: nothing, it is free
 * again. Of what was asked for once more: a name that is taken is its own, BLOCK_SHOWN, and it is
 * not free. The source may have told of the block meanwhile; then this changes nothing.
 */
void block_settle(struct block_table *table, const char *request, enum block_state state,
                  int64_t now_ms);

/*
 * The block of a request, or what was asked for; NULL: there is none. One whose name was taken,
 * and of which nothing was heard for BLOCK_TELLING_MS, is none any more.
 */
const struct block_entry *block_of_request(const struct block_table *table, const char *request,
                                           int64_t now_ms);

/* How many entries of a pool there are. Those that are asked for count. */
size_t block_table_count(const struct block_table *table, const char *pool);

/* The entries of a Node's name; `*ret_count` may be 0. Borrowed. */
struct block_entry *const *block_table_of_node(const struct block_table *table, const char *node,
                                               size_t *ret_count);

/* The entry of a block that the source has told of, or NULL. */
const struct block_entry *block_table_find(const struct block_table *table,
                                           const struct address_block *block);
