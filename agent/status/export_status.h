/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the place is to which exported documents go. Written by the targets (controller/export_*.c),
 * for documents and metrics.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPORT_WHY_MAX = 256 };

/* How a target is. */
struct export_target_status {
    bool known;     /* what is there was read, and nothing is being written */
    bool locked;    /* this controller holds the lock; true where there is none */
    size_t keys;    /* that concern this cluster, markers included */
    size_t pending; /* writes that wait or are under way */
    uint64_t reads, written, removed, conflicts, failures; /* since the start */
    uint64_t created;                                      /* of what was written */
    int64_t read_wall_ms;                                  /* when it was read last; 0: never */
    int64_t changed_wall_ms;       /* when something was written last; 0: never */
    uint64_t request_ms, requests; /* in all: what a write took */
    char error[EXPORT_WHY_MAX];    /* why it is not ready; "": it is, or will be */
    const char *remedy;            /* NULL: none */
};

enum handled { HANDLED_ADD, HANDLED_UPDATE, HANDLED_DELETE, HANDLED_KINDS };
extern const char *const handled_names[HANDLED_KINDS]; /* "add", ... */

/* What kube-service-exporter counts, since the start. */
struct export_metrics {
    const struct export_target_status *target;
    uint64_t services[HANDLED_KINDS], nodes[HANDLED_KINDS]; /* changes that were looked at */
    uint64_t elected, relinquished;                         /* of the lock */
    size_t listed;                                          /* nodes in the list */
};
