/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the target of exported documents. Written by the targets (controller/export_*.c),
 * for documents and metrics.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPORT_WHY_MAX = 256 };

/*
 * Requests to Consul's KV store, by method and purpose: documents of Services, the list of nodes,
 * the lock.
 */
enum export_method { EXPORT_GET, EXPORT_PUT, EXPORT_DELETE, EXPORT_METHODS };
enum export_kv { EXPORT_METADATA, EXPORT_NODES, EXPORT_LEADER, EXPORT_KVS };
extern const char *const export_method_names[EXPORT_METHODS]; /* "get", ... */
extern const char *const export_kv_names[EXPORT_KVS];         /* "metadata", ... */

/*
 * Since the start. Each document counts as a success or a failure. A request may have many
 * documents; its duration counts once for each method and kind in it.
 */
struct export_kv_count {
    uint64_t success, fail, requests, request_ms;
};

/* The state of a target. */
struct export_target_status {
    bool known;     /* its content was read, and no write is under way */
    bool locked;    /* this controller holds the lock; true for a target without a lock */
    size_t keys;    /* of this cluster, markers included */
    size_t pending; /* writes queued or under way */
    uint64_t reads, written, removed, conflicts, failures; /* since the start */
    uint64_t created;              /* those of `written` that created a key */
    int64_t read_wall_ms;          /* last read; 0: never */
    int64_t changed_wall_ms;       /* last write; 0: never */
    uint64_t request_ms, requests; /* sums: duration of writes, and their number */
    struct export_kv_count kv[EXPORT_METHODS][EXPORT_KVS];
    char error[EXPORT_WHY_MAX]; /* why it is not ready; "": it is, or no attempt has failed */
    const char *remedy;         /* NULL: none */
};

enum handled { HANDLED_ADD, HANDLED_UPDATE, HANDLED_DELETE, HANDLED_KINDS };
extern const char *const handled_names[HANDLED_KINDS]; /* "add", ... */

/* Changes of one kind that wait for a plan; kube-service-exporter has a queue in this place. */
struct export_waiting {
    size_t length;                   /* changes not yet in a plan */
    int64_t since_ms[HANDLED_KINDS]; /* of the first of these, monotonic; 0: there is none */
    uint64_t adds, done;             /* since the start, as are the others */
    uint64_t retries;                /* changes whose plan failed, and that go into the next plan */
    uint64_t later;                  /* Nodes that are to be checked again at a later time */
    uint64_t plans, wait_ms, plan_ms; /* plans with changes: wait of the first; duration */
};

/* Adds a change. */
void export_waiting_add(struct export_waiting *waiting, enum handled handled, int64_t now_ms);
/* When the first waiting change was added; 0: none waits. */
int64_t export_waiting_since(const struct export_waiting *waiting);
/* Restarts the waiting time of all changes: before, no plans were made. */
void export_waiting_begin(struct export_waiting *waiting, int64_t now_ms);
/* All waiting changes are in a plan, which began and ended at these times. */
void export_waiting_end(struct export_waiting *waiting, int64_t began_ms, int64_t now_ms);

/* The operations on a document. */
enum export_deed { DEED_CREATE, DEED_UPDATE, DEED_DELETE, EXPORT_DEEDS };
extern const char *const export_deed_names[EXPORT_DEEDS]; /* "create", ... */

/* The counters of kube-service-exporter, since the start. */
struct export_metrics {
    const struct export_target_status *target;
    struct export_waiting waiting_services, waiting_nodes;
    uint64_t services[HANDLED_KINDS], nodes[HANDLED_KINDS]; /* changes that were processed */
    uint64_t failed[EXPORT_DEEDS];                          /* documents, as of now or for good */
    uint64_t elected, relinquished;                         /* of the lock */
    size_t listed;                                          /* nodes in the exported list */
};
