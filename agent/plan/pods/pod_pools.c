// SPDX-License-Identifier: Apache-2.0
/* The usage of pools; see pod_pools.h. Called by the pods engine, and for documents about pools. */
#include "plan/pods/pod_pools.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

enum { HIGH_WATER_PART = 4 };

static int pool_cmp(const void *a, const void *b)
{
    return strcmp(((const struct pod_pool *)a)->name, ((const struct pod_pool *)b)->name);
}

static struct pod_pool *entry_of(pod_pool_list *pools, const char *name)
{
    vec_each(struct pod_pool, pool, pools) {
        if (strcmp(pool->name, name) == 0)
            return pool;
    }
    struct pod_pool pool = { 0 };
    snprintf(pool.name, sizeof(pool.name), "%s", name);
    return vec_push(pools, pool) < 0 ? NULL : &pools->items[pools->count - 1];
}

int plan_pod_pools(const struct pod_addresses *table, pod_pool_list *ret_pools)
{
    AUTOVEC pod_pool_list pools = { 0 };
    sorted_each(const struct pod_block, block, &table->blocks) {
        struct pod_pool *pool = entry_of(&pools, block->pool);
        if (!pool)
            return -ENOMEM;
        uint32_t used = pod_block_used(table, block);
        pool->used += used;
        if (block->reserved || block->closed)
            continue;
        pool->blocks++;
        pool->block_size = MAX(pool->block_size, pod_block_size(block));
        pool->free += pod_block_size(block) - used;
    }
    vec_sort(&pools, pool_cmp);
    *ret_pools = TAKE_STRUCT(pools);
    return 0;
}

struct pod_pool pod_pool_named(const pod_pool_list *pools, const char *name)
{
    struct pod_pool key = { 0 };
    snprintf(key.name, sizeof(key.name), "%s", name);
    const struct pod_pool *known = vec_find(pools, &key, pool_cmp);
    return known ? *known : key;
}

static uint32_t high_water(const struct pod_pool *pool)
{
    return pool->block_size / HIGH_WATER_PART;
}

bool pod_pool_wants(const struct pod_pool *pool, bool waiting)
{
    if (pool->free == 0 && waiting)
        return true;
    return pool->used > 0 && pool->free < high_water(pool);
}

static bool is_spare(const struct pod_pool *pool, uint32_t size)
{
    if (high_water(pool) == 0)
        return true;
    return pool->blocks > 1 && pool->free >= size && pool->free - size >= 2 * high_water(pool);
}

static int add_spare(const struct pod_block *block, struct pod_pool *pool, pod_block_refs *blocks)
{
    uint32_t size = pod_block_size(block);
    if (!is_spare(pool, size))
        return 0;
    pool->blocks--;
    pool->free -= size;
    return vec_push(blocks, block);
}

int plan_pod_surplus(const struct pod_addresses *table, int64_t now_ms, int64_t after_ms,
                     pod_block_refs *ret_blocks, int64_t *ret_next_ms)
{
    AUTOVEC pod_pool_list pools = { 0 };
    AUTOVEC pod_block_refs blocks = { 0 };
    int64_t next_ms = INT64_MAX;
    int r = plan_pod_pools(table, &pools);
    sorted_each(const struct pod_block, block, &table->blocks) {
        if (r < 0)
            return r;
        if (block->reserved || block->closed || pod_block_used(table, block) > 0)
            continue;
        int64_t due_ms = pod_block_empty_ms(table, block) + after_ms;
        struct pod_pool *pool = entry_of(&pools, block->pool);
        if (due_ms > now_ms)
            next_ms = MIN(next_ms, due_ms);
        else
            r = add_spare(block, pool, &blocks);
    }
    if (r < 0)
        return r;
    *ret_blocks = TAKE_STRUCT(blocks);
    *ret_next_ms = next_ms;
    return 0;
}
