/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How full the pools are that this node has blocks of: when it asks for one more, and which blocks
 * it gives back. Pure, like pod_addresses.h.
 *
 * One more is asked for before the last is full, so that no pod has to wait for it; of blocks of
 * fewer than four addresses, which are scarce, only when a pod waits. What was empty for a while is
 * given back as long as that does not make this node ask again; the last block of a pool stays,
 * unless its addresses are scarce.
 */
#pragma once

#include "plan/pods/pod_addresses.h"

struct pod_pool {
    char name[POD_INTERFACE_NAME_MAX + 1];
    uint32_t blocks;     /* that addresses are given out of */
    uint32_t block_size; /* of the largest of them */
    uint32_t used, free; /* addresses of them */
};
typedef VEC(struct pod_pool) pod_pool_list;

/* A pool out of which a pod has got no address, for want of one. */
struct pod_wait {
    char pool[POD_INTERFACE_NAME_MAX + 1];
    int64_t since_ms, asked_ms; /* monotonic: first, last */
};
typedef VEC(struct pod_wait) pod_wait_list;

/* The pools of all blocks, sorted by name. Returns 0 or -ENOMEM. */
int plan_pod_pools(const struct pod_addresses *table, pod_pool_list *ret_pools);

/* The pool of this name; one without blocks if the list has none. */
struct pod_pool pod_pool_named(const pod_pool_list *pools, const char *name);

/* Whether one more block is asked for. `waiting`: a pod has no address for want of one. */
bool pod_pool_wants(const struct pod_pool *pool, bool waiting);

/*
 * The blocks to be given back now, after `after_ms` of emptiness; borrowed from the table.
 * `ret_next_ms`: when (wall time) the next one may be due; INT64_MAX: none. Returns 0 or -ENOMEM.
 */
typedef VEC(const struct pod_block *) pod_block_refs;
int plan_pod_surplus(const struct pod_addresses *table, int64_t now_ms, int64_t after_ms,
                     pod_block_refs *ret_blocks, int64_t *ret_next_ms);
