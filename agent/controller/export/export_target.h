/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where exported documents go: Consul's KV (export_consul.c), or a folder (export_files.c). A
 * target knows what is there, and writes the difference; what ought to be there is the job's
 * business.
 */
#pragma once

#include "client/consul/consul_lock.h"
#include "controller/board.h"
#include "plan/export/export_diff.h"
#include "status/export_status.h"

struct export_target;

struct export_target_ops {
    /* Begins to read and to strive for the right to write, or ends all of it. */
    void (*lead)(struct export_target *target, bool leading);
    /* What is there, in order of key; NULL: it is not known now, or nothing may be written. Valid
     * until the loop runs again. */
    const export_entries *(*have)(const struct export_target *target);
    /* What was read last, in order of key, be it that it is not so any more; NULL: nothing was
     * since this controller leads. Valid until the loop runs again. */
    const export_entries *(*seen)(const struct export_target *target);
    /* Begins to write the ops, of which it keeps copies; none: all is as it should be. Returns 0 or
     * -ENOMEM. */
    int (*write)(struct export_target *target, const struct export_diff *diff);
    const struct export_target_status *(*status)(const struct export_target *target);
    /* Whether it is giving back what it had while it led; the board is woken when that is over.
     * NULL: it has nothing. */
    bool (*ending)(const struct export_target *target);
    void (*free)(struct export_target *target);
};

/* A target's own structure begins with this. */
struct export_target {
    const struct export_target_ops *ops;
    /* Whose owner is told of each document of a Service that was written or removed, or could not
     * be; NULL: nobody. Borrowed until it returns. */
    void (*told)(void *context, const struct export_op *op, bool done);
    void *context;
};

/* For targets: an op is over. Counts it, but for markers, and tells of it. */
void export_target_tell(const struct export_target *target, struct export_target_status *status,
                        const struct export_op *op, bool done);
/* Everything was read, which has taken since then (monotonic; 0: no time). */
void export_target_read(struct export_target_status *status, int64_t since_ms);
/* A request that wrote these is over: its time counts for each method and kind among them. */
void export_target_time(struct export_target_status *status, const struct export_op *ops,
                        size_t count, uint64_t took_ms);

/* What the lock has asked for, by now. */
void export_target_lock(struct export_target_status *status,
                        const struct consul_lock_counts *counts);

/* The board's `wake` is called when `have` can say more. Both return 0 or -errno. */
int export_consul_new(const struct board *board, struct export_target **ret_target);
int export_files_new(const struct board *board, struct export_target **ret_target);
