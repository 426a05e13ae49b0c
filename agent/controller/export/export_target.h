/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target of exported documents: Consul's KV (export_consul.c), or a folder (export_files.c). A
 * target reads its entries and writes the difference; the job decides what the entries should be.
 */
#pragma once

#include "client/consul/consul_lock.h"
#include "controller/board.h"
#include "plan/export/export_diff.h"
#include "status/export_status.h"

struct export_target;

struct export_target_ops {
    /* Begins to read and to acquire the right to write, or ends both. */
    void (*lead)(struct export_target *target, bool leading);
    /* The entries, in order of key; NULL: they are not known now, or nothing may be written. Valid
     * until the loop runs again. */
    const export_entries *(*have)(const struct export_target *target);
    /* The entries as of the last read, in order of key, even if they may have changed; NULL:
     * nothing was read since this controller leads. Valid until the loop runs again. */
    const export_entries *(*seen)(const struct export_target *target);
    /* Begins to write the ops, which are copied; none: all entries are as wanted. Returns 0 or
     * -ENOMEM. */
    int (*write)(struct export_target *target, const struct export_diff *diff);
    const struct export_target_status *(*status)(const struct export_target *target);
    /* Whether it is releasing what it held while it led; the board is woken when that is over.
     * NULL: it holds nothing. */
    bool (*ending)(const struct export_target *target);
    void (*free)(struct export_target *target);
};

/* The first member of a target's own structure. */
struct export_target {
    const struct export_target_ops *ops;
    /* Called for each document of a Service that was written or removed, or for which that has
     * failed; NULL: it is not reported. Borrowed until it returns. */
    void (*told)(void *context, const struct export_op *op, bool done);
    void *context;
};

/* For targets: an op has ended. Counts it, except markers, and reports it. */
void export_target_tell(const struct export_target *target, struct export_target_status *status,
                        const struct export_op *op, bool done);
/* For targets: everything was read since `since_ms` (monotonic; 0: duration not counted). */
void export_target_read(struct export_target_status *status, int64_t since_ms);
/*
 * For targets: a request that wrote these has ended: its duration counts for each method and kind
 * among them.
 */
void export_target_time(struct export_target_status *status, const struct export_op *ops,
                        size_t count, uint64_t took_ms);

/* For targets: the current counts of the lock's requests. */
void export_target_lock(struct export_target_status *status,
                        const struct consul_lock_counts *counts);

/*
 * The board's `wake` is called when the result of `have` may have changed. Both return 0 or -errno.
 */
int export_consul_new(const struct board *board, struct export_target **ret_target);
int export_files_new(const struct board *board, struct export_target **ret_target);
