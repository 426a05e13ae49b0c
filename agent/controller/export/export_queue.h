/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writes that a difference asks for, on their way into Consul's transactions. A document and
 * its marker go into one: a controller may be killed between two of them, and a document without a
 * marker would be nobody's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "client/consul/consul_kv.h"
#include "plan/export/export_diff.h"

/* Empty: all 0. */
struct export_queue {
    struct arena *arena; /* of what the ops name */
    VEC(struct export_op) ops;
    size_t next; /* the first that was not taken */
};

/* Of what went into a transaction, without markers. */
struct export_taken {
    size_t ops, removals, creations;
    size_t begin, end; /* of the queue's ops, markers included */
};

/* Copies the ops into an empty queue. Returns 0, or -ENOMEM with the queue empty. */
int export_queue_fill(struct export_queue *queue, const struct export_diff *diff);

/* Adds to the transaction as many of the next ops as it has room for, or, `apart`, one alone with
 * its marker; what is put says that it was written now. */
struct export_taken export_queue_take(struct export_queue *queue, struct consul_txn *txn,
                                      bool apart, int64_t now_wall_ms);

/* When an entry was written, by the flags beside it; 0: they do not say so. */
int64_t export_written_wall_ms(uint64_t flags);

/* Whether some op was not taken yet. */
static inline bool export_queue_waits(const struct export_queue *queue)
{
    return queue->next < queue->ops.count;
}

/* Leaves it empty; its memory for ops stays. */
void export_queue_clear(struct export_queue *queue);
void export_queue_done(struct export_queue *queue);
