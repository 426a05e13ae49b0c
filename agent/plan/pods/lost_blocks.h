/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks with addresses of this node's pods whose objects are missing: etcd was restored from a
 * backup, or a client deleted an AddressBlock and removed its finalizer. The controller might
 * allocate such a block to another node, so this node restores it, under the name by the pool's
 * rules, which can't be created twice. Pure.
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
 * The lost blocks, each once. Excluded are blocks of pools that do not exist, are being deleted, or
 * do not contain the addresses (any longer). Returns 0 or -ENOMEM.
 */
int plan_lost_blocks(const struct pod_addresses *addresses, const struct store *store,
                     lost_block_list *ret_blocks);
