/* SPDX-License-Identifier: Apache-2.0 */
/* What the keeper of blocks is made of, for block_keeper.c and block_steps.c. Internal to report/.
 */
#pragma once

#include "base/text.h"
#include "base/vec.h"
#include "client/kube_write.h"
#include "client/kube_writer.h"
#include "loop/timer.h"
#include "model/address_block.h"
#include "report/block_keeper.h"

enum { REQUEST_NAME_LEN = 2 * TENANT_NAME_MAX + 8 };

struct pool_row {
    struct block_ask ask;
    bool unknown;     /* there is no such AddressPool */
    bool queued;      /* its key is with the writer */
    char version[64]; /* of the AddressPool as it was looked at last */
};

/* A block that is given back. */
struct leaving {
    char name[TENANT_NAME_MAX + 1];
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
    VEC(struct leaving) leaving;
    int64_t surplus_ms; /* monotonic: when a block may have been empty for long enough */
};

/* ---- block_steps.c: what is written, what comes of it, what is told ---- */

struct leaving *leaving_of(struct block_keeper *keeper, const char *name);
void forget_leaving(struct block_keeper *keeper, const char *name);

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
