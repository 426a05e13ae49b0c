// SPDX-License-Identifier: Apache-2.0
/*
 * Metrics of pools of pod addresses, under the names that Coil's controller gives them: dashboards
 * and alerts go on. Read off the store, so that a follower tells the same as the leader.
 */
#include "api/metrics/view_metrics.h"

#include <string.h>

#include "api/metrics/metric.h"
#include "base/cleanup.h"
#include "plan/pods/pool_blocks.h"

static uint64_t count_blocks(const struct store *store, const char *pool)
{
    const struct object *object;
    uint64_t count = 0;
    for (size_t cursor = 0; (object = store_next(store, KIND_ADDRESS_BLOCK, &cursor));)
        count += strcmp(to_address_block(object)->pool, pool) == 0;
    return count;
}

void write_block_metrics(const struct store *store, struct text *out)
{
    AUTOVEC object_list pools = { 0 };
    if (store_list(store, KIND_ADDRESS_POOL, &pools) < 0)
        out->failed = true;
    if (pools.count == 0)
        return;
    metric(out, "coil_controller_max_blocks", "gauge", "The blocks that a pool can be cut into.");
    vec_each(const struct object *const, pool, &pools)
        metric_sample(out, "coil_controller_max_blocks", "pool", (*pool)->name,
                      pool_block_count(to_address_pool(*pool)));
    metric(out, "coil_controller_allocated_blocks", "gauge",
           "The blocks of a pool that nodes have.");
    vec_each(const struct object *const, pool, &pools)
        metric_sample(out, "coil_controller_allocated_blocks", "pool", (*pool)->name,
                      count_blocks(store, (*pool)->name));
}
