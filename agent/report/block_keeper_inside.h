/* SPDX-License-Identifier: Apache-2.0 */
/* The structs of the block keeper, for block_keeper.c and block_steps.c. Internal to report/. */
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
    char version[64]; /* of the AddressPool at the last check */
};

/* A block that is being returned, or restored. */
struct errand {
    char name[POD_INTERFACE_NAME_MAX + 1];
    int64_t until_ms; /* INT64_MAX: its key is with the writer; otherwise how long to wait for it */
};

struct block_keeper {
    struct block_keeper_options options;
    struct kube_client *client;
    struct kube_writer *writer;
    struct timer *timer;
    char *node;
    char name[REQUEST_NAME_LEN]; /* of the current request */
    VEC(struct pool_row) rows;
    VEC(struct errand) errands;
    int64_t surplus_ms; /* monotonic: when the next block may have been empty for long enough */
};

enum { GONE_MS = 10 * 1000 }; /* until the source reports what was done */

/* ---- block_lost.c: blocks that are restored ---- */

/* Adds a key for each block to restore. Returns 0 or -ENOMEM. */
int put_back(struct block_keeper *keeper, const struct pod_addresses *addresses);
int make_for_lost(struct block_keeper *keeper, const char *name, struct kube_write *write,
                  struct text *body);
bool told_of_lost(struct block_keeper *keeper, const char *name, const struct kube_result *result);
void tell_lost(const struct block_keeper *keeper, struct faults *faults);

/* ---- block_steps.c: writes, their outcomes, and reports ---- */

struct errand *errand_of(struct block_keeper *keeper, const char *name);
void forget_errand(struct block_keeper *keeper, const char *name);
/* Adds a key to the writer, "SORT/NAME". */
void add_errand(struct block_keeper *keeper, const char *sort, const char *name);

/* The Node of this agent; NULL: the source has none. */
const struct object *own_node(const struct block_keeper *keeper);

/* As a writer's `make`, one for each kind of key. */
int make_for_pool(struct block_keeper *keeper, const struct pool_row *row, struct kube_write *write,
                  struct text *body);
int make_for_block(struct block_keeper *keeper, const char *name, struct kube_write *write,
                   struct text *body);
/* As a writer's `told`. */
bool told_of_pool(struct block_keeper *keeper, struct pool_row *row,
                  const struct kube_result *result);

void tell_refusal(const struct block_keeper *keeper, const struct kube_result *result);
void tell_blocks(const struct block_keeper *keeper, int64_t now_ms);
