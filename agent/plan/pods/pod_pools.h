/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usage of pools from which this node has blocks: when it requests another block, and which
 * blocks it releases. Pure, like pod_addresses.h.
 *
 * Another block is requested before the last is full, so that no pod has to wait for it; with
 * blocks of fewer than four addresses, which are scarce, only when a pod waits. A block that was
 * empty for some time is released if this does not make the node request another; the last block of
 * a pool stays, unless its addresses are scarce.
 */
#pragma once

#include "plan/pods/pod_addresses.h"

struct pod_pool {
    char name[POD_INTERFACE_NAME_MAX + 1];
    uint32_t blocks;     /* from which addresses are allocated */
    uint32_t block_size; /* of the largest of them */
    uint32_t used, free; /* addresses of them */
};
typedef VEC(struct pod_pool) pod_pool_list;

/* A pool without a free address for a pod. */
struct pod_wait {
    char pool[POD_INTERFACE_NAME_MAX + 1];
    int64_t since_ms, asked_ms; /* monotonic: first, last */
};
typedef VEC(struct pod_wait) pod_wait_list;

/* The pools of all blocks, sorted by name. Returns 0 or -ENOMEM. */
int plan_pod_pools(const struct pod_addresses *table, pod_pool_list *ret_pools);

/* The pool of this name; if the list has none, one without blocks. */
struct pod_pool pod_pool_named(const pod_pool_list *pools, const char *name);

/* Whether to request another block. `waiting`: a pod waits for an address. */
bool pod_pool_wants(const struct pod_pool *pool, bool waiting);

/*
 * The blocks to be released now, after they were empty for `after_ms`; borrowed from the table.
 * `ret_next_ms`: when (wall time) the next one may be due; INT64_MAX: none. Returns 0 or -ENOMEM.
 */
typedef VEC(const struct pod_block *) pod_block_refs;
int plan_pod_surplus(const struct pod_addresses *table, int64_t now_ms, int64_t after_ms,
                     pod_block_refs *ret_blocks, int64_t *ret_next_ms);
