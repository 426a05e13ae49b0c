// SPDX-License-Identifier: Apache-2.0
/*
 * kube-service-exporter's metrics by DogStatsD; see export_statsd.h. Owned by
 * controller/export/export_job.c.
 *
 * Counters are sent as increments since the last time, once a round. A round handles all changes
 * and makes one plan of them; so the duration of a handler, and the metrics of a queue, are those
 * of all changes of a round together, by the one that waited longest.
 *
 * A gauge for each node is sent when the list has changed, and besides every ten seconds at most,
 * the interval at which DogStatsD's servers forward gauges.
 */
#include "controller/export/export_statsd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/siphash.h"
#include "client/consul/statsd.h"

enum { NODES_MS = 10 * 1000 };

#define SERVICES "kubernetes.service_handler"
#define NODES    "kubernetes.node_handler"

struct export_statsd {
    const struct export_config *config;
    const struct export_metrics *metrics;
    struct statsd *statsd;
    struct export_metrics told; /* the metrics that were sent */
    struct export_target_status told_target;
    uint64_t nodes;   /* hash of the list of nodes that was sent */
    int64_t nodes_ms; /* when, monotonic; 0: never */
};

static void export_statsd_freep(struct export_statsd **statsd)
{
    if (*statsd)
        statsd_free((*statsd)->statsd);
    free(*statsd);
}

int export_statsd_new(const struct export_config *config, const struct export_metrics *metrics,
                      struct export_statsd **ret_statsd, struct faults *faults)
{
    CLEANUP(export_statsd_freep) struct export_statsd *statsd = calloc(1, sizeof(*statsd));
    if (!statsd)
        return -ENOMEM;
    statsd->config = config;
    statsd->metrics = metrics;
    const struct statsd_options options = {
        .address = config->statsd.address,
        .tags = config->statsd.tags.items,
        .tag_count = config->statsd.tags.count,
    };
    int r = statsd_new(&options, &statsd->statsd, faults);
    if (r < 0)
        return r;
    statsd_add(statsd->statsd, "start", STATSD_GAUGE, 1, NULL);
    statsd_flush(statsd->statsd);
    *ret_statsd = TAKE_PTR(statsd);
    return 0;
}

void export_statsd_close(struct export_statsd *statsd, int64_t end_ms)
{
    if (!statsd)
        return;
    export_statsd_counts(statsd);
    statsd_add(statsd->statsd, NODES ".queue.shutdown", STATSD_COUNT, 1,
               STATSD_TAGS({ "drain", "false" }));
    statsd_add(statsd->statsd, "shutdown", STATSD_GAUGE, 1, NULL);
    if (end_ms)
        statsd_add(statsd->statsd, "shutdown_time", STATSD_TIME,
                   (uint64_t)(clock_mono_ms() - end_ms), NULL);
    export_statsd_freep(&statsd);
}

/* ---- Plans ---- */

/*
 * How long the first change of each handler has waited for the plan, and the duration of the plan.
 */
static void tell_times(struct export_statsd *statsd, const struct export_waiting *waiting)
{
    const int64_t now_ms = clock_mono_ms();
    for (int i = 0; i < HANDLED_KINDS; i++) {
        if (waiting->since_ms[i])
            statsd_add(statsd->statsd, SERVICES ".time", STATSD_TIME,
                       (uint64_t)(now_ms - waiting->since_ms[i]),
                       STATSD_TAGS({ "handler", handled_names[i] }));
    }
}

static void tell_service_queue(struct export_statsd *statsd, int64_t plan_ms)
{
    const struct export_waiting *waiting = &statsd->metrics->waiting_services;
    const struct statsd_tag *tags = STATSD_TAGS({ "priority", "0" });
    if (waiting->length == 0)
        return;
    tell_times(statsd, waiting);
    const int64_t wait_ms = clock_mono_ms() - plan_ms - export_waiting_since(waiting);
    statsd_add(statsd->statsd, SERVICES ".queue.length", STATSD_GAUGE, waiting->length, tags);
    statsd_add(statsd->statsd, SERVICES ".queue.wait", STATSD_DISTRIBUTION,
               (uint64_t)MAX(wait_ms, INT64_C(0)), tags);
    statsd_add(statsd->statsd, SERVICES ".queue.duration", STATSD_DISTRIBUTION, (uint64_t)plan_ms,
               tags);
    statsd_add(statsd->statsd, SERVICES ".queue.length", STATSD_GAUGE, 0, tags);
}

static void tell_node_queue(struct export_statsd *statsd)
{
    const struct export_waiting *waiting = &statsd->metrics->waiting_nodes;
    if (waiting->length == 0)
        return;
    statsd_add(statsd->statsd, NODES ".queue.length", STATSD_GAUGE, waiting->length, NULL);
    statsd_add(statsd->statsd, NODES ".queue.length", STATSD_GAUGE, 0, NULL);
}

static uint64_t hash_nodes(const struct export_plan *plan)
{
    static const uint8_t seed[16] = "nodes";
    uint64_t hash = siphash(plan->selector, strlen(plan->selector), seed);
    vec_each(const char *, name, &plan->node_names)
        hash = hash * 31 + siphash(*name, strlen(*name), seed);
    return hash;
}

static void tell_nodes(struct export_statsd *statsd, const struct export_plan *plan)
{
    const int64_t now_ms = clock_mono_ms();
    const uint64_t nodes = hash_nodes(plan);
    if (statsd->nodes_ms && statsd->nodes == nodes && now_ms - statsd->nodes_ms < NODES_MS)
        return;
    statsd->nodes = nodes;
    statsd->nodes_ms = now_ms;
    vec_each(const char *, name, &plan->node_names)
        statsd_add(statsd->statsd, "nodes", STATSD_GAUGE, 1,
                   STATSD_TAGS({ "selector", plan->selector }, { "node", *name }));
}

void export_statsd_planned(struct export_statsd *statsd, const struct export_plan *plan,
                           int64_t plan_ms)
{
    tell_service_queue(statsd, plan_ms);
    tell_node_queue(statsd);
    tell_nodes(statsd, plan);
}

/* ---- Documents ---- */

static int document_key_cmp(const void *a, const void *b)
{
    const struct export_document *left = a, *right = b;
    return strcmp(left->key, right->key);
}

/* The id in the plan; of a document that is not planned any more, the part of its key that has the
 * id, unless a template has put it elsewhere. The caller frees it; NULL: none. */
static char *id_of(const struct export_plan *plan, const char *key)
{
    const struct export_document wanted = { .key = key };
    const struct export_document *found = vec_find(&plan->documents, &wanted, document_key_cmp);
    if (found)
        return strdup(found->id);
    const char *end = key + strlen(key);
    for (int slashes = 0; end > key && slashes < 2;)
        slashes += *--end == '/'; /* "/clusters/CLUSTER" */
    const char *begin = memrchr(key, '/', (size_t)(end - key));
    return begin ? strndup(begin + 1, (size_t)(end - begin - 1)) : NULL;
}

void export_statsd_told(struct export_statsd *statsd, const struct export_plan *plan,
                        const struct export_op *op, bool done)
{
    AUTOFREE char *id = id_of(plan, op->key);
    const char *handler = export_deed_names[export_deed_of(op)];
    statsd_add(statsd->statsd, done ? "target.service.success" : "target.service.fail",
               STATSD_COUNT, 1, STATSD_TAGS({ "handler", handler }, { "service", id }));
}

/* ---- Counts ---- */

static void add_handled(struct export_statsd *statsd, const char *name,
                        const uint64_t now[static HANDLED_KINDS],
                        const uint64_t told[static HANDLED_KINDS])
{
    for (int i = 0; i < HANDLED_KINDS; i++)
        statsd_add(statsd->statsd, name, STATSD_COUNT, now[i] - told[i],
                   STATSD_TAGS({ "handler", handled_names[i] }));
}

static void add_queues(struct export_statsd *statsd)
{
    const struct export_metrics *now = statsd->metrics, *told = &statsd->told;
    const struct export_waiting *nodes = &now->waiting_nodes, *before = &told->waiting_nodes;
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {
        { NODES ".queue.add", nodes->adds - before->adds },
        { NODES ".queue.add_after", nodes->later - before->later },
        { NODES ".queue.add_rate_limited", nodes->retries - before->retries },
        { NODES ".queue.forget", nodes->done - before->done },
        { NODES ".queue.done", nodes->done - before->done },
    };
    statsd_add(statsd->statsd, SERVICES ".queue.adds", STATSD_COUNT,
               now->waiting_services.adds - told->waiting_services.adds,
               STATSD_TAGS({ "priority", "0" }));
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        statsd_add(statsd->statsd, counts[i].name, STATSD_COUNT, counts[i].count, NULL);
}

static void add_kv(struct export_statsd *statsd, enum export_method method, enum export_kv kv)
{
    const struct export_kv_count *now = &statsd->metrics->target->kv[method][kv];
    const struct export_kv_count *told = &statsd->told_target.kv[method][kv];
    const struct statsd_tag *tags =
        STATSD_TAGS({ "method", export_method_names[method] }, { "kv", export_kv_names[kv] });
    const uint64_t requests = now->requests - told->requests;
    statsd_add(statsd->statsd, "consul.kv.success", STATSD_COUNT, now->success - told->success,
               tags);
    statsd_add(statsd->statsd, "consul.kv.fail", STATSD_COUNT, now->fail - told->fail, tags);
    if (requests)
        statsd_add(statsd->statsd, "consul.kv.time", STATSD_TIME,
                   (now->request_ms - told->request_ms) / requests, tags);
}

static void add_leadership(struct export_statsd *statsd)
{
    const struct export_metrics *now = statsd->metrics, *told = &statsd->told;
    const struct statsd_tag *tags = STATSD_TAGS({ "client_id", statsd->config->identity });
    statsd_add(statsd->statsd, "consul.leadership.elected", STATSD_COUNT,
               now->elected - told->elected, tags);
    statsd_add(statsd->statsd, "consul.leadership.relinquished", STATSD_COUNT,
               now->relinquished - told->relinquished, tags);
}

void export_statsd_counts(struct export_statsd *statsd)
{
    const struct export_metrics *now = statsd->metrics;
    add_handled(statsd, SERVICES ".count", now->services, statsd->told.services);
    add_handled(statsd, NODES, now->nodes, statsd->told.nodes);
    add_queues(statsd);
    for (int method = 0; method < EXPORT_METHODS; method++) {
        for (int kv = 0; kv < EXPORT_KVS; kv++)
            add_kv(statsd, (enum export_method)method, (enum export_kv)kv);
    }
    add_leadership(statsd);
    statsd->told = *now;
    statsd->told_target = *now->target;
    statsd_flush(statsd->statsd);
}
