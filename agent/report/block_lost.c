// SPDX-License-Identifier: Apache-2.0
/*
 * Restores blocks that pods of this node have addresses of, and that the API has lost. Called by
 * block_keeper.c; plan/pods/lost_blocks.h decides which they are.
 *
 * A block is created under its name, so that of two nodes that want it one gets it. If another
 * node's block has the name or the addresses by then, two pods may have one address: that is a
 * fault, which names both, and nothing is allocated from the block here. A Node that the source
 * does not have has no blocks: its blocks are deleted, and not lost.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "faults/raise.h"
#include "faults/report.h"
#include "plan/pods/block_object.h"
#include "plan/pods/lost_blocks.h"
#include "report/block_keeper_inside.h"

int put_back(struct block_keeper *keeper, const struct pod_addresses *addresses)
{
    AUTOVEC lost_block_list blocks = { 0 };
    int r = own_node(keeper) ? plan_lost_blocks(addresses, keeper->options.store, &blocks) : 0;
    vec_each(const struct lost_block, block, &blocks) {
        if (!block->taken && !errand_of(keeper, block->name))
            add_errand(keeper, "lost", block->name);
    }
    return r;
}

static void write_lost(const struct block_keeper *keeper, const struct lost_block *lost,
                       struct text *body)
{
    const struct block_entry entry = {
        .name = lost->name,
        .pool = lost->pool->object.name,
        .node = keeper->node,
        .node_uid = own_node(keeper)->uid,
        .request = "",
        .index = lost->block.index,
        .ipv4 = lost->block.ipv4,
        .ipv6 = lost->block.ipv6,
    };
    write_address_block(&entry, lost->pool, body);
}

/* Returns 0 or -ENOMEM; none are lost while the addresses are not known. */
static int lost_now(const struct block_keeper *keeper, lost_block_list *ret_blocks)
{
    const struct pod_addresses *addresses = keeper->options.addresses(keeper->options.context);
    if (!addresses || !own_node(keeper))
        return 0;
    return plan_lost_blocks(addresses, keeper->options.store, ret_blocks);
}

int make_for_lost(struct block_keeper *keeper, const char *name, struct kube_write *write,
                  struct text *body)
{
    AUTOVEC lost_block_list blocks = { 0 };
    int r = lost_now(keeper, &blocks);
    if (r < 0)
        return r;
    vec_each(const struct lost_block, block, &blocks) {
        if (block->taken || strcmp(block->name, name) != 0)
            continue;
        write_lost(keeper, block, body);
        *write = (struct kube_write){
            .verb = KUBE_CREATE,
            .target = { .group = "coil.cybozu.com",
                        .version = "v2",
                        .plural = "addressblocks",
                        .name = name },
        };
        return 1;
    }
    forget_errand(keeper, name);
    return 0;
}

bool told_of_lost(struct block_keeper *keeper, const char *name, const struct kube_result *result)
{
    struct errand *errand = errand_of(keeper, name);
    if (result->outcome != KUBE_DONE && result->outcome != KUBE_EXISTS)
        return true;
    if (result->outcome == KUBE_DONE)
        log_notice("AddressBlock %s was gone, and pods here have addresses of it: it is put back",
                   name);
    if (errand)
        errand->until_ms = clock_mono_ms() + GONE_MS; /* the source reports its owner */
    return false;
}

void tell_lost(const struct block_keeper *keeper, struct faults *faults)
{
    AUTOVEC lost_block_list blocks = { 0 };
    faults->incomplete |= lost_now(keeper, &blocks) < 0;
    vec_each(const struct lost_block, block, &blocks) {
        const struct address_block *taken = block->taken;
        if (!taken || strcmp(taken->node, keeper->node) == 0)
            continue;
        AUTOFREE char *place = text_format("AddressBlock %s", taken->object.name);
        if (place)
            fault_raise(faults, place, block_taken, .node = *taken->node ? taken->node : "nobody");
        faults->incomplete |= !place;
    }
}
