// SPDX-License-Identifier: Apache-2.0
/*
 * Plans the blocks of this node; see block_row.h. They stay announced while the operator withdraws
 * the node, since their pods still run; not when the node has left the cluster.
 *
 * Called when a block of this node changes, and in a whole plan.
 */
#include "plan/pods/block_row.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"

int block_row_cmp(const void *a, const void *b)
{
    const struct block_row *first = a, *second = b;
    int r = prefix_cmp(&first->prefix, &second->prefix);
    return r ? r : strcmp(first->block, second->block);
}

int plan_block(const struct route_inputs *inputs, const struct address_block *block,
               struct block_row ret_rows[static 2])
{
    if (!block || strcmp(block->node, inputs->node->config->node) != 0 ||
        inputs->standing == STANDING_GONE)
        return 0;

    int count = 0;
    const struct prefix *const prefixes[] = { &block->ipv4, &block->ipv6 };
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
        if (prefixes[i]->ip.family == IP_NONE)
            continue;
        struct block_row *row = &ret_rows[count++];
        *row = (struct block_row){ .prefix = *prefixes[i], .reserved = block->reserved };
        snprintf(row->block, sizeof(row->block), "%s", block->object.name);
        snprintf(row->pool, sizeof(row->pool), "%s", block->pool);
    }
    return count;
}

int plan_blocks(const struct route_inputs *inputs, struct sorted *ret_rows)
{
    AUTOSORTED struct sorted rows = SORTED(struct block_row, block_row_cmp);
    AUTOVEC object_list blocks = { 0 };
    int r = inputs->node->config->routes.enabled
                ? store_list(inputs->node->store, KIND_ADDRESS_BLOCK, &blocks)
                : 0;
    if (r < 0)
        return r;
    vec_each(const struct object *, block, &blocks) {
        struct block_row found[2];
        int count = plan_block(inputs, to_address_block(*block), found);
        for (int i = 0; i < count; i++) {
            r = sorted_put(&rows, &found[i]);
            if (r < 0)
                return r;
        }
    }
    *ret_rows = TAKE_STRUCT(rows);
    return 0;
}
