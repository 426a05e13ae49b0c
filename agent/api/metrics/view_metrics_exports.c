// SPDX-License-Identifier: Apache-2.0
/*
 * Metrics of exports under kube-service-exporter's names, as a statsd exporter would give them,
 * with the suffixes that Prometheus asks for: dashboards and alerts go on. What it has by single
 * Services and nodes goes by DogStatsD only, where somebody asks for so many. Leader and follower
 * alike.
 */
#include "api/metrics/view_metrics.h"

#include <inttypes.h>

#include "api/metrics/metric.h"
#include "status/export_status.h"

#define PREFIX "kube_service_exporter_"

static void write_handled(struct text *out, const char *name, const char *help,
                          const uint64_t counts[static HANDLED_KINDS])
{
    metric(out, name, "counter", help);
    for (int i = 0; i < HANDLED_KINDS; i++)
        metric_sample(out, name, "handler", handled_names[i], counts[i]);
}

/* A follower makes no plan: what waits there is what it would begin with. */
static void write_queues(struct text *out, const struct export_metrics *exports)
{
    metric_single(out, PREFIX "kubernetes_service_handler_queue_adds_total", "counter",
                  "Changes of Services that were to go into a plan.",
                  exports->waiting_services.adds);
    metric_single(out, PREFIX "kubernetes_service_handler_queue_length", "gauge",
                  "Those that no plan has seen.", exports->waiting_services.length);
    metric_single(out, PREFIX "kubernetes_node_handler_queue_add_total", "counter",
                  "Changes of Nodes that were to go into a plan.", exports->waiting_nodes.adds);
    metric_single(out, PREFIX "kubernetes_node_handler_queue_done_total", "counter",
                  "Those that a plan has seen.", exports->waiting_nodes.done);
    metric_single(out, PREFIX "kubernetes_node_handler_queue_length", "gauge",
                  "Those that no plan has seen.", exports->waiting_nodes.length);
}

static void write_failed(struct text *out, const uint64_t failed[static EXPORT_DEEDS])
{
    static const char name[] = PREFIX "target_service_fail_total";
    metric(out, name, "counter", "Times that a document could not be made, changed or removed.");
    for (int i = 0; i < EXPORT_DEEDS; i++)
        metric_sample(out, name, "handler", export_deed_names[i], failed[i]);
}

static void write_documents(struct text *out, const struct export_metrics *exports)
{
    const struct export_target_status *target = exports->target;
    static const char name[] = PREFIX "target_service_success_total";
    metric(out, name, "counter", "Documents that were made, changed and removed.");
    metric_sample(out, name, "handler", "create", target->created);
    metric_sample(out, name, "handler", "update", target->written - target->created);
    metric_sample(out, name, "handler", "delete", target->removed);
    write_failed(out, exports->failed);
}

static void write_kv(struct text *out, const struct export_target_status *target)
{
    static const char success[] = PREFIX "consul_kv_success_total";
    static const char time[] = PREFIX "consul_kv_time_seconds";
    metric(out, success, "counter", "Readings of all, and documents that were written or removed.");
    metric_sample(out, success, "method", "get", target->reads);
    metric_sample(out, success, "method", "put", target->written);
    metric_sample(out, success, "method", "delete", target->removed);
    metric_single(out, PREFIX "consul_kv_fail_total", "counter",
                  "Requests that failed, or were refused since a key had changed.",
                  target->failures + target->conflicts);
    metric(out, time, "summary", "What requests that write take.");
    text_addf(out, "%s_sum %" PRIu64 ".%03" PRIu64 "\n%s_count %" PRIu64 "\n", time,
              target->request_ms / 1000, target->request_ms % 1000, time, target->requests);
}

void write_export_metrics(const struct export_metrics *exports, struct text *out)
{
    if (!exports)
        return;
    write_handled(out, PREFIX "kubernetes_service_handler_count_total",
                  "Changes of Services that were looked at.", exports->services);
    write_handled(out, PREFIX "kubernetes_node_handler_total",
                  "Changes of Nodes that were looked at.", exports->nodes);
    write_queues(out, exports);
    metric_single(out, PREFIX "nodes", "gauge", "Nodes in the list that is exported.",
                  exports->listed);
    write_documents(out, exports);
    write_kv(out, exports->target);
    metric_single(out, PREFIX "consul_leadership_elected_total", "counter",
                  "How often this controller got the lock.", exports->elected);
    metric_single(out, PREFIX "consul_leadership_relinquished_total", "counter",
                  "How often it lost it, or gave it back.", exports->relinquished);
}
