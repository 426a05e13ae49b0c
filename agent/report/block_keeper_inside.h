/* SPDX-License-Identifier: Apache-2.0 */
/* What the keeper of blocks is made of, for block_keeper.c and block_steps.c. Internal to report/.
 */
#pragma once

#include "base/text.h"
#include "base/vec.h"
#include "client/kube/kube_write.h"
#include "client/kube/kube_writer.h"
#include "loop/timer.h"
#include "model/address_block.h"
#include "report/block_keeper.h"

enum { REQUEST_NAME_LEN = 2 * POD_INTERFACE_NAME_MAX + 8 };

struct pool_row {
    struct block_ask ask;
    bool unknown;     /* there is no such AddressPool */
    bool queued;      /* its key is with the writer */
    char version[64]; /* of the AddressPool as it was looked at last */
};

/* A block that is given back, or put back. */
struct errand {
    char name[POD_INTERFACE_NAME_MAX + 1];
    int64_t until_ms; /* INT64_MAX: its key is with the writer; else how long it is waited for */
};

struct block_keeper {
    struct block_keeper_options options;
    struct kube_client *client;
    struct kube_writer *writer;
    struct timer *timer;
    char *node;
    char name[REQUEST_NAME_LEN]; /* of the request that is written */
    VEC(struct pool_row) rows;
    VEC(struct errand) errands;
    int64_t surplus_ms; /* monotonic: when a block may have been empty for long enough */
};

enum { GONE_MS = 10 * 1000 }; /* until the source tells of what was done */

/* ---- block_lost.c: blocks that are put back ---- */

/* Adds a key for each that is to be. Returns 0 or -ENOMEM. */
int put_back(struct block_keeper *keeper, const struct pod_addresses *addresses);
int make_for_lost(struct block_keeper *keeper, const char *name, struct kube_write *write,
                  struct text *body);
bool told_of_lost(struct block_keeper *keeper, const char *name, const struct kube_result *result);
void tell_lost(const struct block_keeper *keeper, struct faults *faults);

/* ---- block_steps.c: what is written, what comes of it, what is told ---- */

struct errand *errand_of(struct block_keeper *keeper, const char *name);
void forget_errand(struct block_keeper *keeper, const char *name);
/* Gives the writer a key, "SORT/NAME". */
void add_errand(struct block_keeper *keeper, const char *sort, const char *name);

/* The Node of this agent; NULL: the source knows none. */
const struct object *own_node(const struct block_keeper *keeper);

/* As a writer's `make`, for each of the two sorts of keys. */
int make_for_pool(struct block_keeper *keeper, const struct pool_row *row, struct kube_write *write,
                  struct text *body);
int make_for_block(struct block_keeper *keeper, const char *name, struct kube_write *write,
                   struct text *body);
/* As a writer's `told`. */
bool told_of_pool(struct block_keeper *keeper, struct pool_row *row,
                  const struct kube_result *result);

void tell_refusal(const struct block_keeper *keeper, const struct kube_result *result);
void tell_blocks(const struct block_keeper *keeper, int64_t now_ms);
