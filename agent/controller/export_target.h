/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where exported documents go: Consul's KV (export_consul.c), or a folder (export_files.c). A
 * target knows what is there, and writes the difference; what ought to be there is the job's
 * business.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/board.h"
#include "plan/export_diff.h"

struct export_target;

enum { EXPORT_WHY_MAX = 256 };

/* How a target is. */
struct export_target_status {
    bool known;     /* what is there was read, and nothing is being written */
    bool locked;    /* this controller holds the lock; true where there is none */
    size_t keys;    /* that concern this cluster, markers included */
    size_t pending; /* writes that wait or are under way */
    uint64_t reads, written, removed, conflicts, failures; /* since the start */
    int64_t read_wall_ms;                                  /* when it was read last; 0: never */
    int64_t changed_wall_ms;       /* when something was written last; 0: never */
    uint64_t request_ms, requests; /* in all: what a write took */
    char error[EXPORT_WHY_MAX];    /* why it is not ready; "": it is, or will be */
    const char *remedy;            /* NULL: none */
};

struct export_target_ops {
    /* Begins to read and to strive for the right to write, or ends all of it. */
    void (*lead)(struct export_target *target, bool leading);
    /* What is there, in order of key; NULL: it is not known now, or nothing may be written. Valid
     * until the loop runs again. */
    const export_entries *(*have)(const struct export_target *target);
    /* Begins to write the ops, of which it keeps copies. Returns 0 or -ENOMEM. */
    int (*write)(struct export_target *target, const struct export_diff *diff);
    const struct export_target_status *(*status)(const struct export_target *target);
    void (*free)(struct export_target *target);
};

/* A target's own structure begins with this. */
struct export_target {
    const struct export_target_ops *ops;
};

/* The board's `wake` is called when `have` can say more. Both return 0 or -errno. */
int export_consul_new(const struct board *board, struct export_target **ret_target);
int export_files_new(const struct board *board, struct export_target **ret_target);
