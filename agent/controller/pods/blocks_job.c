// SPDX-License-Identifier: Apache-2.0
/*
 * The job of pools and blocks.
 *
 * An object that may need a write is added to the writer (blocks_write.c), which finds out which.
 *
 * The blocks of all pools are in a table, which follows the store change by change. It has the
 * blocks that this controller has created before the source reports them, so that a thousand
 * requests at once get a thousand blocks without reading anything again.
 */
#include <stdlib.h>
#include <string.h>

#include "api/view_controller.h"
#include "base/clock.h"
#include "base/macro.h"
#include "controller/pods/blocks_inside.h"
#include "controller/pods/blocks_job.h"
#include "plan/conflicts/held.h"
#include "plan/conflicts/pool_conflicts.h"

/*
 * A rack of nodes that starts at once is served at once; a failed write is retried within a minute.
 */
static const struct kube_writer_limits limits = {
    .queue = {
        .keys = 100000,
        .parallel = 16,
        .per_second = 500,
        .burst = 2000,
        .initial_ms = 5,
        .max_ms = MINUTE_MS,
    },
    .answer_ms = MINUTE_MS / 2,
};

static const struct job_writer_row writers[] = { { &limits, blocks_make, blocks_told }, { 0 } };

static bool is_open(const struct block_request *request)
{
    return !request->answered && !request->object.deleting;
}

/* Adds the open requests of a pool or of a Node, which may have waited for it. */
static int add_requests(struct blocks_job *job, const char *pool, const char *node)
{
    const struct object *object;
    for (size_t cursor = 0;
         (object = store_next(job->job.board->store, KIND_BLOCK_REQUEST, &cursor));) {
        const struct block_request *request = to_block_request(object);
        if (!is_open(request) || (pool && strcmp(request->pool, pool) != 0) ||
            (node && strcmp(request->node, node) != 0))
            continue;
        int r = blocks_add(job, object);
        if (r < 0)
            return r;
    }
    return 0;
}

static int note_request(struct blocks_job *job, const struct change *change)
{
    const struct object *after = change->after;
    if (after && is_open(to_block_request(after)))
        return blocks_add(job, after);
    request_waits_set(&job->waits, after ? after->name : change->before->name, WAIT_NOTHING);
    return 0;
}

/* An object is being deleted, and may be held by a finalizer; or such an object is gone. */
static void note_held(struct blocks_job *job, const struct change *change)
{
    if ((change->before && change->before->deleting) || (change->after && change->after->deleting))
        job->held_ms = 0;
}

static int note_pool(struct blocks_job *job, const struct change *change)
{
    note_held(job, change);
    job->pools_changed = true;
    if (!change->after)
        return 0;
    int r = blocks_add(job, change->after);
    return r < 0 ? r : add_requests(job, change->after->name, NULL);
}

/* The last block of its pool may be gone. */
static int add_pool(struct blocks_job *job, const char *name)
{
    const struct object *pool = store_get(job->job.board->store, KIND_ADDRESS_POOL, "", name);
    return pool && pool->deleting ? blocks_add(job, pool) : 0;
}

static bool is_lost(const struct blocks_job *job, const struct address_block *block, int64_t now_ms)
{
    const struct kube_status *kube = &job->job.board->status->source.kube;
    return block_is_lost(block) &&
           kube_status_went_back(kube, kind_name(KIND_ADDRESS_BLOCK), now_ms);
}

static int lose(struct blocks_job *job, const struct address_block *block, int64_t now_ms)
{
    job->lost_ms = MIN(job->lost_ms, now_ms + BLOCK_LOST_MS);
    return block_table_lose(&job->table, block, now_ms);
}

/* Adds the request that a block was created for, now that the source has the block. */
static int add_asker(struct blocks_job *job, const struct address_block *block)
{
    const struct block_entry *entry = block_table_find(&job->table, block);
    const struct object *request =
        entry && *entry->asker
            ? store_get(job->job.board->store, KIND_BLOCK_REQUEST, "", entry->asker)
            : NULL;
    return request ? blocks_add(job, request) : 0;
}

static int note_block(struct blocks_job *job, const struct change *change)
{
    const struct address_block *before = change->before ? to_address_block(change->before) : NULL;
    const struct address_block *after = change->after ? to_address_block(change->after) : NULL;
    const struct store *store = job->job.board->store;
    int64_t now_ms = clock_mono_ms();
    int added = after ? add_asker(job, after) : 0;
    int r = after ? block_table_put(&job->table, store, after, now_ms) : 0;
    r = r == 0 ? added : r;
    note_held(job, change);
    job->pools_changed |= (before && !*before->node) || (after && !*after->node);
    bool elsewhere = before && after &&
                     (before->index != after->index || strcmp(before->pool, after->pool) != 0);
    if (before && !after && is_lost(job, before, now_ms))
        r = lose(job, before, now_ms);
    else if (before && (!after || elsewhere))
        block_table_drop(&job->table, before);
    if (before && !after && block_is_lone(store, before) && board_may_write(job->job.board))
        job->collected++;
    if (r < 0)
        return r;
    if (after && block_is_lone(store, after)) {
        job->lone_ms = MIN(job->lone_ms, now_ms + BLOCK_LONE_MS);
        r = blocks_add(job, &after->object);
    }
    if (r < 0)
        return r;
    return before ? add_pool(job, before->pool) : 0; /* its block count may have changed */
}

static int note_node(struct blocks_job *job, const struct change *change)
{
    const struct object *before = change->before, *after = change->after;
    bool same = before && after && strcmp(before->uid, after->uid) == 0;
    const char *name = after ? after->name : before->name;
    size_t count;
    job->pools_changed = true;
    if (same)
        return 0;
    block_table_node(&job->table, before ? to_node(before) : NULL, after ? to_node(after) : NULL,
                     clock_mono_ms());
    int r = after ? add_requests(job, NULL, name) : 0;
    struct block_entry *const *entries = block_table_of_node(&job->table, name, &count);
    for (size_t i = 0; r == 0 && i < count; i++) {
        const struct object *block =
            store_get(job->job.board->store, KIND_ADDRESS_BLOCK, "", entries[i]->name);
        if (block && block_is_lone(job->job.board->store, to_address_block(block)))
            r = blocks_add(job, block);
    }
    return r;
}

static int note(struct job *base, const struct change *change)
{
    struct blocks_job *job = (struct blocks_job *)base;
    switch ((change->after ? change->after : change->before)->kind) {
    case KIND_BLOCK_REQUEST:
        return note_request(job, change);
    case KIND_ADDRESS_POOL:
        return note_pool(job, change);
    case KIND_ADDRESS_BLOCK:
        return note_block(job, change);
    case KIND_NODE:
        return note_node(job, change);
    default:
        return 0;
    }
}

/* ---- Rounds ---- */

/* Adds blocks that the table lacks because memory was short; checks lone ones. */
static int add_block(struct blocks_job *job, const struct address_block *block, int64_t now_ms)
{
    const struct block_entry *entry = block_table_find(&job->table, block);
    bool known = entry && entry->state == BLOCK_KNOWN;
    int r = known ? 0 : block_table_put(&job->table, job->job.board->store, block, now_ms);
    if (r < 0 || !block_is_lone(job->job.board->store, block))
        return r;
    entry = block_table_find(&job->table, block);
    if (entry->lone_ms > now_ms)
        job->lone_ms = MIN(job->lone_ms, entry->lone_ms);
    return blocks_add(job, &block->object);
}

static int add_blocks(struct blocks_job *job, int64_t now_ms)
{
    const struct object *object;
    int r = 0;
    job->lone_ms = INT64_MAX;
    for (size_t cursor = 0;
         r == 0 && (object = store_next(job->job.board->store, KIND_ADDRESS_BLOCK, &cursor));)
        r = add_block(job, to_address_block(object), now_ms);
    return r;
}

static int add_pools(struct blocks_job *job)
{
    const struct object *object;
    int r = 0;
    for (size_t cursor = 0;
         r == 0 && (object = store_next(job->job.board->store, KIND_ADDRESS_POOL, &cursor));)
        r = blocks_add(job, object);
    return r;
}

static int look_at_all(struct blocks_job *job, int64_t now_ms)
{
    job->lost_ms = block_table_forget(&job->table, now_ms);
    int r = add_blocks(job, now_ms);
    if (r < 0)
        return r;
    r = add_pools(job);
    return r < 0 ? r : add_requests(job, NULL, NULL);
}

static void tell(const struct blocks_job *job, const char *group, const struct faults *faults)
{
    (void)fault_book_replace(job->job.board->faults, blocks_job_ops.name, group, faults,
                             clock_wall_ms());
}

static int tell_conflicts(struct blocks_job *job)
{
    AUTOVEC object_list pools = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    int r = store_list(job->job.board->store, KIND_ADDRESS_POOL, &pools);
    if (r < 0)
        return r;
    pool_conflicts(job->job.board->store, &pools, &faults);
    tell(job, "pools", &faults);
    job->pools_changed = false;
    return 0;
}

static void tell_held(struct blocks_job *job, int64_t now_ms)
{
    static const enum kind all[] = { KIND_ADDRESS_POOL, KIND_ADDRESS_BLOCK };
    AUTOFAULTS struct faults faults = { 0 };
    job->held_ms = INT64_MAX;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        int64_t left_ms = held_faults(job->job.board->store, all[i], clock_wall_ms(), &faults);
        if (left_ms < INT64_MAX)
            job->held_ms = MIN(job->held_ms, now_ms + left_ms);
    }
    tell(job, "held", &faults);
}

static int work(struct job *base, const struct job_round *round)
{
    struct blocks_job *job = (struct blocks_job *)base;
    AUTOFAULTS struct faults faults = { 0 };
    if (job->waits.changed) {
        request_waits_faults(&job->waits, &faults);
        tell(job, "requests", &faults);
    }
    blocks_end_refusal(job, false);
    if (round->all || round->now_ms >= job->held_ms)
        tell_held(job, round->now_ms);
    int r = job->pools_changed || round->all ? tell_conflicts(job) : 0;
    if (r < 0)
        return r;
    if (round->all || round->now_ms >= job->lost_ms)
        return look_at_all(job, round->now_ms);
    return round->now_ms >= job->lone_ms ? add_blocks(job, round->now_ms) : 0;
}

static int64_t next_ms(const struct job *base, int64_t now_ms)
{
    const struct blocks_job *job = (const struct blocks_job *)base;
    (void)now_ms;
    const int64_t blocks_ms = MIN(job->lone_ms, job->lost_ms);
    return board_may_write(job->job.board) ? MIN(blocks_ms, job->held_ms) : INT64_MAX;
}

/* A new controller can't know which blocks a restore of etcd has lost; nodes do. */
static void hold_blocks(struct blocks_job *job)
{
    const struct election_status *election = &job->job.board->status->election;
    if (election->aged_mono_ms)
        job->table.held_ms = election->aged_mono_ms + BLOCK_LOST_MS;
}

/* Another controller leads, and reports faults. */
static void lead(struct job *base, bool leading)
{
    struct blocks_job *job = (struct blocks_job *)base;
    if (leading) {
        hold_blocks(job);
        return;
    }
    block_table_forget_asked(&job->table);
    request_waits_clear(&job->waits);
    job->pools_changed = true;
    tell(job, "held", NULL);
    tell(job, "requests", NULL);
    blocks_end_refusal(job, true);
    tell(job, "pools", NULL);
}

static void publish(struct job *base, struct job_status *status)
{
    const struct blocks_job *job = (const struct blocks_job *)base;
    const struct store *store = job->job.board->store;
    const struct job_count counts[] = {
        { "pools", store_count(store, KIND_ADDRESS_POOL) },
        { "blocks", store_count(store, KIND_ADDRESS_BLOCK) },
        { "requests", store_count(store, KIND_BLOCK_REQUEST) },
        { "waiting", request_waits_count(&job->waits) },
        { "given", job->given },
        { "exhausted", job->exhausted },
        { "collected", job->collected },
    };
    _Static_assert(ARRAY_SIZE(counts) <= JOB_COUNTS_MAX, "status has room for each count");
    memcpy(status->counts, counts, sizeof(counts));
    status->count = ARRAY_SIZE(counts);
}

static void lend(const struct job *base, struct controller_state *state)
{
    const struct blocks_job *job = (const struct blocks_job *)base;
    if (board_may_write(job->job.board))
        state->waits = &job->waits;
}

static void close_job(struct job *base)
{
    struct blocks_job *job = (struct blocks_job *)base;
    free(job->refused);
    block_table_done(&job->table);
    request_waits_done(&job->waits);
}

static int open_job(struct job *base)
{
    struct blocks_job *job = (struct blocks_job *)base;
    job->lone_ms = job->lost_ms = job->held_ms = INT64_MAX;
    block_table_init(&job->table);
    request_waits_init(&job->waits);
    return 0;
}

static bool is_wanted(const struct controller_config *config)
{
    return config->blocks.enabled;
}

static const enum kind kinds[] = {
    KIND_NODE, KIND_ADDRESS_POOL, KIND_ADDRESS_BLOCK, KIND_BLOCK_REQUEST, KIND_COUNT,
};

const struct job_ops blocks_job_ops = {
    .name = "blocks",
    .kinds = kinds,
    .is_wanted = is_wanted,
    .size = sizeof(struct blocks_job),
    .writers = writers,
    .open = open_job,
    .close = close_job,
    .note = note,
    .work = work,
    .lead = lead,
    .publish = publish,
    .lend = lend,
    .next_ms = next_ms,
};
