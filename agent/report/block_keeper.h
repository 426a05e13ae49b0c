/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps this node in blocks of pod addresses: asks for one more by BlockRequests, as
 * plan/pods/pod_pools.h and plan/pods/block_ask.h say, and gives back what was empty for a while.
 *
 * A block is given back by its deletion, which its finalizer holds up: nothing is given out of it
 * from then on, and the finalizer is taken off when it is empty. That order is safe whatever ends
 * in between, and is also what happens to a block that somebody else deletes.
 */
#pragma once

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "client/kube/kubeconfig.h"
#include "plan/pods/block_ask.h"
#include "plan/pods/pod_attachment.h"
#include "plan/pods/pod_pools.h"
#include "status/status.h"
#include "store/store.h"

struct block_keeper;

struct block_keeper_options {
    sd_event *event;
    struct kube_config *config; /* taken over, even on failure */
    const char *node;           /* copied */
    const struct store *store;
    struct fault_book *faults; /* subsystem "pods", groups "blocks" and "block writes" */
    int64_t empty_ms;          /* how long a block is empty before it is given back */
    /* NULL: not known yet. Borrowed during the call. */
    const struct pod_addresses *(*addresses)(void *context);
    /* The pools that pods wait for. */
    const pod_wait_list *(*waits)(void *context);
    /* Nothing is given out of this block (any more), or again. */
    void (*close)(void *context, const char *block, bool closed);
    void (*changed)(void *context); /* block_keeper_refusal() may say something else */
    void *context;
};

/* Returns 0 or -errno. */
int block_keeper_new(const struct block_keeper_options *options, struct block_keeper **ret_keeper);
void block_keeper_free(struct block_keeper *keeper);
DEFINE_CLEANUP(struct block_keeper *, block_keeper_free);

/* Addresses, blocks or who waits may be others. Without memory, some of it is left for next time.
 */
void block_keeper_look(struct block_keeper *keeper);

/* Why a pod gets no address of a pool: POD_FULL, POD_NO_POOL, POD_EXHAUSTED. */
enum pod_refusal block_keeper_refusal(const struct block_keeper *keeper, const char *pool);

/* The pool at a place of those that this node asks for a block, or would; NULL: behind the last.
 * Borrowed until the next call. */
const struct block_ask *block_keeper_ask(const struct block_keeper *keeper, size_t index);
