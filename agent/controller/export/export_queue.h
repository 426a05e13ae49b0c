/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues the writes of a difference for Consul's transactions. A document and its marker are in one
 * transaction: a controller may be killed between two of them, and a document without a marker
 * would have no owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "client/consul/consul_kv.h"
#include "plan/export/export_diff.h"

/* Empty: all 0. */
struct export_queue {
    struct arena *arena; /* owns what the ops refer to */
    VEC(struct export_op) ops;
    size_t next; /* the first op that was not taken */
};

/* What was added to a transaction, without markers. */
struct export_taken {
    size_t ops, removals, creations;
    size_t begin, end; /* of the queue's ops, markers included */
};

/* Copies the ops into an empty queue. Returns 0, or -ENOMEM with the queue empty. */
int export_queue_fill(struct export_queue *queue, const struct export_diff *diff);

/* Adds as many of the next ops as fit to the transaction, or with `apart` only one op with its
 * marker; what is put carries the current time as time of writing. */
struct export_taken export_queue_take(struct export_queue *queue, struct consul_txn *txn,
                                      bool apart, int64_t now_wall_ms);

/* When an entry was written, by its flags; 0: they have no time. */
int64_t export_written_wall_ms(uint64_t flags);

/* Whether some op was not taken yet. */
static inline bool export_queue_waits(const struct export_queue *queue)
{
    return queue->next < queue->ops.count;
}

/* Empties it; the memory for ops is kept. */
void export_queue_clear(struct export_queue *queue);
void export_queue_done(struct export_queue *queue);
