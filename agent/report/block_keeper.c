// SPDX-License-Identifier: Apache-2.0
/*
 * Requests blocks and returns them; see block_keeper.h. Called by part_pods.c, after each pass.
 *
 * A key of the writer is "pool/NAME", for the next step of the pool's request, "block/NAME", a
 * block that is being returned, or "lost/NAME", one that is restored. A key is added once, and
 * again only when it has ended: adding a key that waits after a failure would run it at once.
 */
#include "report/block_keeper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/text.h"
#include "client/kube/kube_writer.h"
#include "loop/timer.h"
#include "report/block_keeper_inside.h"

/* A node rarely requests blocks; many new pods need a handful within a second. */
static const struct kube_writer_limits limits = {
    .queue = {
        .keys = 256,
        .parallel = 2,
        .per_second = 10,
        .burst = 40,
        .initial_ms = SECOND_MS / 2,
        .max_ms = MINUTE_MS,
    },
    .answer_ms = MINUTE_MS / 2,
};

/* ---- Requests ---- */

static struct pool_row *row_of(struct block_keeper *keeper, const char *pool)
{
    vec_each(struct pool_row, row, &keeper->rows) {
        if (strcmp(row->ask.pool, pool) == 0)
            return row;
    }
    return NULL;
}

static struct pool_row *row_made(struct block_keeper *keeper, const char *pool)
{
    struct pool_row *known = row_of(keeper, pool), row = { 0 };
    if (known)
        return known;
    snprintf(row.ask.pool, sizeof(row.ask.pool), "%s", pool);
    return vec_push(&keeper->rows, row) < 0 ? NULL : &keeper->rows.items[keeper->rows.count - 1];
}

/* A pool that has changed since the last check may have room again. */
static void follow_pool(const struct block_keeper *keeper, struct pool_row *row)
{
    const struct object *pool =
        store_get(keeper->options.store, KIND_ADDRESS_POOL, "", row->ask.pool);
    row->unknown = !pool;
    row->ask.wanted = pool;
    if (!pool || strcmp(row->version, pool->version) == 0)
        return;
    (void)snprintf(row->version, sizeof(row->version), "%s", pool->version);
    block_ask_hope(&row->ask, clock_mono_ms());
}

static int want(struct block_keeper *keeper, const pod_pool_list *pools, const char *name,
                bool waiting)
{
    const struct pod_pool pool = pod_pool_named(pools, name);
    if (!pod_pool_wants(&pool, waiting))
        return 0;
    struct pool_row *row = row_made(keeper, name);
    if (!row)
        return -ENOMEM;
    follow_pool(keeper, row);
    row->ask.waiting |= waiting;
    return 0;
}

static int want_all(struct block_keeper *keeper, const struct pod_addresses *addresses)
{
    AUTOVEC pod_pool_list pools = { 0 };
    int r = plan_pod_pools(addresses, &pools);
    vec_each(struct pool_row, row, &keeper->rows)
        row->ask.wanted = row->ask.waiting = row->unknown = false;
    vec_each(const struct pod_pool, pool, &pools)
        r = r == 0 ? want(keeper, &pools, pool->name, false) : r;
    vec_each(const struct pod_wait, wait, keeper->options.waits(keeper->options.context))
        r = r == 0 ? want(keeper, &pools, wait->pool, true) : r;
    return r;
}

/* Finds blocks that were created for requests. */
static void find_arrived(struct block_keeper *keeper, int64_t now_ms)
{
    size_t cursor = 0;
    const struct object *object;
    bool any = false;
    vec_each(const struct pool_row, row, &keeper->rows)
        any |= row->ask.state == ASK_WAITING;
    while (any && (object = store_next(keeper->options.store, KIND_ADDRESS_BLOCK, &cursor))) {
        const char *uid = to_address_block(object)->request;
        vec_each(struct pool_row, row, &keeper->rows) {
            if (row->ask.state == ASK_WAITING && *uid && strcmp(row->ask.uid, uid) == 0)
                block_ask_arrived(&row->ask, now_ms);
        }
    }
}

static void add_step(struct block_keeper *keeper, struct pool_row *row, int64_t now_ms)
{
    AUTOFREE char *key = text_format("pool/%s", row->ask.pool);
    if (row->queued || block_ask_step(&row->ask, now_ms) == ASK_NOTHING || !key)
        return;
    row->queued = kube_writer_add(keeper->writer, key) == 0;
}

static bool is_over(const struct pool_row *row)
{
    return row->ask.state == ASK_IDLE && !row->ask.wanted && !row->unknown && !row->queued;
}

static void add_steps(struct block_keeper *keeper, int64_t now_ms)
{
    size_t kept = 0;
    vec_each(struct pool_row, row, &keeper->rows) {
        if (!is_over(row))
            keeper->rows.items[kept++] = *row;
    }
    keeper->rows.count = kept;
    vec_each(struct pool_row, row, &keeper->rows)
        add_step(keeper, row, now_ms);
}

/* ---- Returned blocks ---- */

static void add_leaving(struct block_keeper *keeper, const char *name)
{
    const struct errand *known = errand_of(keeper, name);
    if (!known || known->until_ms != INT64_MAX)
        add_errand(keeper, "block", name);
}

static bool is_deleting(const struct block_keeper *keeper, const char *name)
{
    const struct object *object = store_get(keeper->options.store, KIND_ADDRESS_BLOCK, "", name);
    return object && object->deleting;
}

/* Blocks that are deleted, empty, and held only by their finalizer; and a block that is closed, but
 * not deleted after all. */
static void follow_closed(struct block_keeper *keeper, const struct pod_addresses *addresses)
{
    sorted_each(const struct pod_block, block, &addresses->blocks) {
        if (!block->closed || block->reserved)
            continue;
        if (is_deleting(keeper, block->name)) {
            if (pod_block_used(addresses, block) == 0)
                add_leaving(keeper, block->name);
        } else if (!errand_of(keeper, block->name)) {
            keeper->options.close(keeper->options.context, block->name, false);
        }
    }
}

/* Returns 0 or -ENOMEM. */
static int give_back(struct block_keeper *keeper, const struct pod_addresses *addresses,
                     int64_t now_ms)
{
    AUTOVEC pod_block_refs surplus = { 0 };
    int64_t next_wall_ms, wall_ms = clock_wall_ms();
    follow_closed(keeper, addresses);
    int r = plan_pod_surplus(addresses, wall_ms, keeper->options.empty_ms, &surplus, &next_wall_ms);
    if (r < 0)
        return r;
    vec_each(const struct pod_block *const, block, &surplus)
        add_leaving(keeper, (*block)->name);
    keeper->surplus_ms = next_wall_ms == INT64_MAX ? INT64_MAX : now_ms + (next_wall_ms - wall_ms);
    return 0;
}

/* ---- Times and faults ---- */

/* The wait is over: the source has reported it, or it is checked again. */
static void end_waiting(struct block_keeper *keeper, int64_t now_ms)
{
    size_t kept = 0;
    vec_each(const struct errand, it, &keeper->errands) {
        if (it->until_ms > now_ms)
            keeper->errands.items[kept++] = *it;
    }
    keeper->errands.count = kept;
}

static void arm(struct block_keeper *keeper, int64_t now_ms)
{
    int64_t next_ms = keeper->surplus_ms;
    vec_each(const struct pool_row, row, &keeper->rows) {
        if (!row->queued)
            next_ms = MIN(next_ms, block_ask_next_ms(&row->ask));
    }
    vec_each(const struct errand, it, &keeper->errands)
        next_ms = MIN(next_ms, it->until_ms);
    if (next_ms == INT64_MAX)
        timer_disarm(keeper->timer);
    else
        timer_arm(keeper->timer, MAX(next_ms - now_ms, 1));
}

void block_keeper_look(struct block_keeper *keeper)
{
    int64_t now_ms = clock_mono_ms();
    const struct pod_addresses *addresses = keeper->options.addresses(keeper->options.context);
    if (!addresses)
        return;
    end_waiting(keeper, now_ms);
    int r = want_all(keeper, addresses);
    find_arrived(keeper, now_ms);
    add_steps(keeper, now_ms);
    r = r < 0 ? r : give_back(keeper, addresses, now_ms);
    r = r < 0 ? r : put_back(keeper, addresses);
    if (r < 0)
        log_error("no memory to see which blocks of addresses are needed");
    arm(keeper, now_ms);
    tell_blocks(keeper, now_ms);
}

static void on_time(void *context)
{
    block_keeper_look(context);
}

enum pod_refusal block_keeper_refusal(const struct block_keeper *keeper, const char *pool)
{
    const struct pool_row *row = row_of((struct block_keeper *)keeper, pool);
    if (row && row->unknown)
        return POD_NO_POOL;
    return row && row->ask.exhausted ? POD_EXHAUSTED : POD_FULL;
}

const struct block_ask *block_keeper_ask(const struct block_keeper *keeper, size_t index)
{
    return index < keeper->rows.count ? &keeper->rows.items[index].ask : NULL;
}

/* ---- Writes ---- */

static int make(void *context, const char *key, struct kube_write *write, struct text *body)
{
    struct block_keeper *keeper = context;
    const char *name = strchr(key, '/') + 1;
    struct pool_row *row = *key == 'p' ? row_of(keeper, name) : NULL;
    if (*key == 'b')
        return make_for_block(keeper, name, write, body);
    if (*key == 'l')
        return make_for_lost(keeper, name, write, body);
    if (!row)
        return 0;
    int r = make_for_pool(keeper, row, write, body);
    row->queued = r != 0;
    return r;
}

static bool told_of_block(struct block_keeper *keeper, const char *name,
                          const struct kube_result *result)
{
    struct errand *errand = errand_of(keeper, name);
    if (result->outcome == KUBE_DONE && errand)
        errand->until_ms = clock_mono_ms() + GONE_MS;
    if (result->outcome == KUBE_DONE || result->outcome == KUBE_UNCERTAIN)
        return result->outcome == KUBE_UNCERTAIN;
    if (!is_deleting(keeper, name))
        keeper->options.close(keeper->options.context, name, false);
    if (result->outcome == KUBE_MISSING || result->outcome == KUBE_CONFLICT) {
        forget_errand(keeper, name);
        return false;
    }
    return true;
}

static bool on_told(void *context, const char *key, const struct kube_told *told)
{
    struct block_keeper *keeper = context;
    const char *name = strchr(key, '/') + 1;
    int64_t now_ms = clock_mono_ms();
    bool again;
    tell_refusal(keeper, &told->result);
    if (*key == 'b') {
        again = told_of_block(keeper, name, &told->result);
    } else if (*key == 'l') {
        again = told_of_lost(keeper, name, &told->result);
    } else {
        struct pool_row *row = row_of(keeper, name);
        again = row && told_of_pool(keeper, row, &told->result);
        if (row) {
            row->queued = again;
            add_step(keeper, row, now_ms);
        }
    }
    arm(keeper, now_ms);
    tell_blocks(keeper, now_ms);
    if (keeper->options.changed)
        keeper->options.changed(keeper->options.context);
    return again;
}

/* ---- Life ---- */

static int connect_to(struct block_keeper *keeper, struct kube_config *config)
{
    int r = kube_client_new(keeper->options.event, config, &keeper->client);
    if (r < 0)
        return r;
    const struct kube_writer_options options = {
        .event = keeper->options.event,
        .client = keeper->client,
        .limits = &limits,
        .make = make,
        .told = on_told,
        .context = keeper,
    };
    r = kube_writer_new(&options, &keeper->writer);
    return r < 0 ? r
                 : timer_new(keeper->options.event, SD_EVENT_PRIORITY_NORMAL, on_time, keeper,
                             &keeper->timer);
}

int block_keeper_new(const struct block_keeper_options *options, struct block_keeper **ret_keeper)
{
    CLEANUP(block_keeper_freep) struct block_keeper *keeper = calloc(1, sizeof(*keeper));
    if (!keeper) {
        kube_config_free(options->config);
        return -ENOMEM;
    }
    keeper->options = *options;
    keeper->options.config = NULL;
    keeper->surplus_ms = INT64_MAX;
    int r = connect_to(keeper, options->config);
    if (r < 0)
        return r;
    keeper->node = strdup(options->node);
    if (!keeper->node)
        return -ENOMEM;
    *ret_keeper = TAKE_PTR(keeper);
    return 0;
}

void block_keeper_free(struct block_keeper *keeper)
{
    if (!keeper)
        return;
    kube_writer_free(keeper->writer);
    kube_client_free(keeper->client);
    timer_free(keeper->timer);
    vec_done(&keeper->rows);
    vec_done(&keeper->errands);
    free(keeper->node);
    free(keeper);
}
