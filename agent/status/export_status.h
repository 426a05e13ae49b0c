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

/* What is asked of Consul's KV, and what for: documents of Services, the list of nodes, the lock.
 */
enum export_method { EXPORT_GET, EXPORT_PUT, EXPORT_DELETE, EXPORT_METHODS };
enum export_kv { EXPORT_METADATA, EXPORT_NODES, EXPORT_LEADER, EXPORT_KVS };
extern const char *const export_method_names[EXPORT_METHODS]; /* "get", ... */
extern const char *const export_kv_names[EXPORT_KVS];         /* "metadata", ... */

/* Since the start. A document is a success or a failure; a request may have many documents, and
 * its time counts once for each method and kind among them. */
struct export_kv_count {
    uint64_t success, fail, requests, request_ms;
};

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
    struct export_kv_count kv[EXPORT_METHODS][EXPORT_KVS];
    char error[EXPORT_WHY_MAX]; /* why it is not ready; "": it is, or will be */
    const char *remedy;         /* NULL: none */
};

enum handled { HANDLED_ADD, HANDLED_UPDATE, HANDLED_DELETE, HANDLED_KINDS };
extern const char *const handled_names[HANDLED_KINDS]; /* "add", ... */

/* Changes of one kind on their way into a plan: what kube-service-exporter has as a queue. */
struct export_waiting {
    size_t length;                    /* that no plan has seen */
    int64_t since_ms[HANDLED_KINDS];  /* of the first of these, monotonic; 0: there is none */
    uint64_t adds, done;              /* since the start, as are the others */
    uint64_t retries;                 /* that a plan failed on, and that go into the next one */
    uint64_t later;                   /* Nodes that are to be looked at again at a time */
    uint64_t plans, wait_ms, plan_ms; /* that saw some: how long the first had waited; took */
};

/* One has come. */
void export_waiting_add(struct export_waiting *waiting, enum handled handled, int64_t now_ms);
/* When the first of those that wait came; 0: none waits. */
int64_t export_waiting_since(const struct export_waiting *waiting);
/* What has come waits from now on only: nobody made plans before. */
void export_waiting_begin(struct export_waiting *waiting, int64_t now_ms);
/* All that waits is in a plan, which was begun and ended then. */
void export_waiting_end(struct export_waiting *waiting, int64_t began_ms, int64_t now_ms);

/* What is done to a document. */
enum export_deed { DEED_CREATE, DEED_UPDATE, DEED_DELETE, EXPORT_DEEDS };
extern const char *const export_deed_names[EXPORT_DEEDS]; /* "create", ... */

/* What kube-service-exporter counts, since the start. */
struct export_metrics {
    const struct export_target_status *target;
    struct export_waiting waiting_services, waiting_nodes;
    uint64_t services[HANDLED_KINDS], nodes[HANDLED_KINDS]; /* changes that were looked at */
    uint64_t failed[EXPORT_DEEDS];                          /* documents, as of now or for good */
    uint64_t elected, relinquished;                         /* of the lock */
    size_t listed;                                          /* nodes in the list */
};
