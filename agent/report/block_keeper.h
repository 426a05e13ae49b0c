/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests blocks of pod addresses for this node by BlockRequests, as plan/pods/pod_pools.h and
 * plan/pods/block_ask.h decide, and returns blocks that were empty for a while.
 *
 * A block is returned by deleting it. Its finalizer delays the deletion: nothing is allocated from
 * it from then on, and the finalizer is removed when it is empty. That order is safe whatever stops
 * in between, and is the same for a block that another client deletes.
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
    struct kube_config *config; /* ownership is taken, even on failure */
    const char *node;           /* copied */
    const struct store *store;
    struct fault_book *faults; /* subsystem "pods", groups "blocks" and "block writes" */
    int64_t empty_ms;          /* how long a block is empty before it is returned */
    /* NULL: not known yet. Borrowed during the call. */
    const struct pod_addresses *(*addresses)(void *context);
    /* The pools that pods wait for. */
    const pod_wait_list *(*waits)(void *context);
    /* Stops (`closed`) or resumes allocation from this block. */
    void (*close)(void *context, const char *block, bool closed);
    void (*changed)(void *context); /* the result of block_keeper_refusal() may have changed */
    void *context;
};

/* Returns 0 or -errno. */
int block_keeper_new(const struct block_keeper_options *options, struct block_keeper **ret_keeper);
void block_keeper_free(struct block_keeper *keeper);
DEFINE_CLEANUP(struct block_keeper *, block_keeper_free);

/* Addresses, blocks or waiting pods may have changed. Without memory, a part is left for the next
 * call. */
void block_keeper_look(struct block_keeper *keeper);

/* Why a pod gets no address from a pool: POD_FULL, POD_NO_POOL, POD_EXHAUSTED. */
enum pod_refusal block_keeper_refusal(const struct block_keeper *keeper, const char *pool);

/* The pool at an index of those that this node requests a block from, or would; NULL: behind the
 * last. Borrowed until the next call. */
const struct block_ask *block_keeper_ask(const struct block_keeper *keeper, size_t index);
