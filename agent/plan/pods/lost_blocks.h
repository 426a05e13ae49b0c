/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that pods of this node have addresses of, and that are not there any more: etcd was
 * restored from a backup, or somebody deleted an AddressBlock and took its finalizer off. Nothing
 * keeps the controller from giving such a block to another node, so this one puts it back, under
 * the name that the pool's rules give it, which nobody can create twice. Pure.
 */
#pragma once

#include "plan/pods/pod_addresses.h"
#include "plan/pods/pool_blocks.h"
#include "store/store.h"

struct lost_block {
    char name[POD_INTERFACE_NAME_MAX + 1];
    const struct address_pool *pool; /* borrowed from the store */
    struct pool_block block;
    const struct address_block *taken; /* who has its name or addresses by now; NULL: nobody */
};
typedef VEC(struct lost_block) lost_block_list;

/*
 * The lost blocks, each once. Not those of pools that are not there, are being deleted, or do not
 * have the addresses (any more): of them nothing is given. Returns 0 or -ENOMEM.
 */
int plan_lost_blocks(const struct pod_addresses *addresses, const struct store *store,
                     lost_block_list *ret_blocks);
