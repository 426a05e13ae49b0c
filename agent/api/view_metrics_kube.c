// SPDX-License-Identifier: Apache-2.0
/* Metrics of the Kubernetes source, kind by kind, and of the copy on disk. */
#include "api/view.h"

#include "api/metric.h"
#include "api/view_metrics.h"
#include "base/clock.h"

static uint64_t synced(const struct kube_kind_status *kind)
{
    return kind->synced;
}

static uint64_t failing(const struct kube_kind_status *kind)
{
    return kind->error[0] != '\0';
}

static uint64_t lists(const struct kube_kind_status *kind)
{
    return kind->lists;
}

static uint64_t reconnects(const struct kube_kind_status *kind)
{
    return kind->reconnects;
}

static uint64_t last_event(const struct kube_kind_status *kind)
{
    return (uint64_t)(kind->last_event_wall_ms / SECOND_MS);
}

static const struct {
    const char *name, *type, *help;
    uint64_t (*value)(const struct kube_kind_status *kind);
} families[] = {
    { "fingerpost_kubernetes_synced", "gauge", "1 if all objects of the kind have been read.",
      synced },
    { "fingerpost_kubernetes_failing", "gauge", "1 if the last attempt to list or watch failed.",
      failing },
    { "fingerpost_kubernetes_lists_total", "counter", "Lists that came to their end.", lists },
    { "fingerpost_kubernetes_reconnects_total", "counter", "Watches after the first one.",
      reconnects },
    { "fingerpost_kubernetes_last_event_timestamp_seconds", "gauge",
      "When the API last said something of the kind.", last_event },
};

static void write_copy(const struct copy_status *copy, struct text *out)
{
    metric_single(out, "fingerpost_copy_in_force", "gauge",
                  "1 if the copy on disk stands in for an API not read since the start.",
                  copy->in_force);
    metric_single(out, "fingerpost_copy_written_timestamp_seconds", "gauge",
                  "When the copy on disk was written; 0: there is none.",
                  (uint64_t)(copy->written_wall_ms / SECOND_MS));
    metric_single(out, "fingerpost_copy_as_of_timestamp_seconds", "gauge",
                  "Up to when all that is in the copy was known to be so.",
                  (uint64_t)(copy->as_of_wall_ms / SECOND_MS));
    metric_single(out, "fingerpost_copy_objects", "gauge", "Objects in the copy.", copy->objects);
    metric_single(out, "fingerpost_copy_bytes", "gauge", "Length of the copy.", copy->bytes);
}

/* What is written to the API; only where anything may be. */
static void write_writes(const struct write_status *writes, struct text *out)
{
    static const char outcomes[] = "fingerpost_kubernetes_write_outcomes_total";
    static const char pending[] = "fingerpost_kubernetes_writes_pending";

    metric_single(out, "fingerpost_kubernetes_writes_total", "counter",
                  "Writes to the API that were done.", writes->written);
    metric_single(out, "fingerpost_kubernetes_writes_dropped_total", "counter",
                  "Writes that were given up.", writes->dropped);
    metric_single(out, "fingerpost_kubernetes_write_retries_total", "counter",
                  "Tries that were not the first of a write.", writes->retries);
    metric(out, outcomes, "counter", "Tries that did not end well, by what became of them.");
    metric_sample(out, outcomes, "outcome", "conflict", writes->conflicts);
    metric_sample(out, outcomes, "outcome", "refused", writes->refused);
    metric_sample(out, outcomes, "outcome", "lost", writes->lost);
    metric_sample(out, outcomes, "outcome", "found", writes->found);
    metric(out, pending, "gauge", "Writes that wait for their turn, or are under way.");
    metric_sample(out, pending, "state", "waiting", writes->waiting);
    metric_sample(out, pending, "state", "running", writes->running);
}

void write_kube_metrics(const struct api_state *state, struct text *out)
{
    const struct kube_status *kube = &state->status->source.kube;
    for (size_t i = 0; kube->count > 0 && i < ARRAY_SIZE(families); i++) {
        metric(out, families[i].name, families[i].type, families[i].help);
        for (size_t j = 0; j < kube->count; j++)
            metric_sample(out, families[i].name, "kind", kube->kinds[j].kind,
                          families[i].value(&kube->kinds[j]));
    }
    if (state->status->copy.path)
        write_copy(&state->status->copy, out);
    if (state->status->writes.enabled)
        write_writes(&state->status->writes, out);
}
