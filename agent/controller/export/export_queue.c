// SPDX-License-Identifier: Apache-2.0
/* The queue of writes to KV; see export_queue.h. Called by controller/export/export_consul.c. */
#include "controller/export/export_queue.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"

enum { ARENA_SIZE = 64 * 1024 };

static int copy_op(struct export_queue *queue, const struct export_op *op)
{
    struct export_op copy = *op;
    copy.key = arena_strdup(queue->arena, op->key);
    copy.value = op->value ? arena_strdup(queue->arena, op->value) : NULL;
    if (!copy.key || (op->value && !copy.value))
        return -ENOMEM;
    return vec_push(&queue->ops, copy);
}

static int copy_ops(struct export_queue *queue, const struct export_diff *diff)
{
    queue->arena = arena_new(ARENA_SIZE);
    if (!queue->arena)
        return -ENOMEM;
    vec_each(const struct export_op, op, &diff->ops) {
        int r = copy_op(queue, op);
        if (r < 0)
            return r;
    }
    return 0;
}

int export_queue_fill(struct export_queue *queue, const struct export_diff *diff)
{
    int r = copy_ops(queue, diff);
    if (r < 0)
        export_queue_clear(queue);
    return r;
}

static size_t length_of(const struct export_op *op)
{
    return op->value ? strlen(op->value) : 0;
}

/* Whether the next op fits, with the marker that follows it. */
static bool fits(const struct export_queue *queue, const struct consul_txn *txn)
{
    const struct export_op *op = &queue->ops.items[queue->next];
    bool pair = queue->next + 1 < queue->ops.count && !op[0].marker && op[1].marker;
    return pair ? consul_txn_has_room(txn, 2, length_of(op) + length_of(op + 1))
                : consul_txn_has_room(txn, 1, length_of(op));
}

/* Flags are the time of writing in seconds since the epoch. Other writers set 0, or any value: a
 * value that can't be such a time, from 2020 on, is ignored. */
int64_t export_written_wall_ms(uint64_t flags)
{
    static const uint64_t first_s = 1577836800;
    return flags >= first_s && flags <= UINT32_MAX ? (int64_t)flags * SECOND_MS : 0;
}

struct export_taken export_queue_take(struct export_queue *queue, struct consul_txn *txn,
                                      bool apart, int64_t now_wall_ms)
{
    const uint64_t flags = (uint64_t)(now_wall_ms / SECOND_MS);
    struct export_taken taken = { .begin = queue->next };
    bool together = false; /* the op before was its document */
    while (export_queue_waits(queue) && (together || fits(queue, txn)) &&
           (together || !apart || taken.begin == queue->next)) {
        const struct export_op *op = &queue->ops.items[queue->next];
        if (op->remove)
            consul_txn_remove(txn, op->key, op->index);
        else
            consul_txn_put(txn, op->key, op->value, length_of(op), op->index, flags);
        taken.removals += op->remove && !op->marker;
        taken.ops += !op->marker;
        taken.creations += !op->remove && !op->marker && op->index == 0;
        together = !op->marker && queue->next + 1 < queue->ops.count && op[1].marker;
        queue->next++;
    }
    taken.end = queue->next;
    return taken;
}

void export_queue_clear(struct export_queue *queue)
{
    vec_clear(&queue->ops);
    queue->next = 0;
    arena_free(queue->arena);
    queue->arena = NULL;
}

void export_queue_done(struct export_queue *queue)
{
    vec_done(&queue->ops);
    export_queue_clear(queue);
}
