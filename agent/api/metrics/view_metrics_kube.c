// SPDX-License-Identifier: Apache-2.0
/* Metrics of the source, of Kubernetes kind by kind, of the copy on disk, and of faults. */
#include "api/metrics/view_metrics.h"

#include <inttypes.h>
#include <string.h>

#include "api/metrics/metric.h"
#include "base/clock.h"
#include "model/object.h"

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

void write_copy_metrics(const struct copy_status *copy, struct text *out)
{
    if (!copy->path)
        return;
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

void write_event_metrics(const struct write_status *writes, struct text *out)
{
    static const char outcomes[] = "fingerpost_kubernetes_write_outcomes_total";
    static const char pending[] = "fingerpost_kubernetes_writes_pending";

    if (!writes->enabled)
        return;
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

void write_kube_metrics(const struct kube_status *kube, struct text *out)
{
    for (size_t i = 0; kube->count > 0 && i < ARRAY_SIZE(families); i++) {
        metric(out, families[i].name, families[i].type, families[i].help);
        for (size_t j = 0; j < kube->count; j++)
            metric_sample(out, families[i].name, "kind", kube->kinds[j].kind,
                          families[i].value(&kube->kinds[j]));
    }
}

static void write_objects(const struct source_status *source, const struct store *store,
                          struct text *out)
{
    metric(out, "fingerpost_source_objects", "gauge", "Objects known, by kind.");
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        if (!kind_is_manifest(kind) && store_count(store, kind) == 0)
            continue;
        text_add(out, "fingerpost_source_objects{");
        metric_label(out, "source", source->name);
        text_add_char(out, ',');
        metric_label(out, "kind", kind_name(kind));
        text_addf(out, "} %zu\n", store_count(store, kind));
    }
}

void write_source_metrics(const struct source_status *source, const struct store *store,
                          struct text *out)
{
    const struct {
        const char *name, *help;
        uint64_t value;
    } gauges[] = {
        { "fingerpost_source_synced", "1 if everything there at the start has been read.",
          source->synced },
        { "fingerpost_source_observed_generation", "Rises with every event seen.",
          source->observed_generation },
        { "fingerpost_source_applied_generation",
          "The highest generation whose consequences stand in the kernel.",
          source->applied_generation },
        { "fingerpost_source_files", "Files that count.", source->files },
        { "fingerpost_source_broken_files", "Files that can't be read or understood.",
          source->broken_files },
        { "fingerpost_source_last_event_timestamp_seconds", "When the last event was seen.",
          (uint64_t)source->last_event_wall_ms / 1000 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(gauges); i++) {
        metric(out, gauges[i].name, "gauge", gauges[i].help);
        metric_sample(out, gauges[i].name, "source", source->name, gauges[i].value);
    }
    write_objects(source, store, out);
}

/* How many faults of one kind a subsystem has; all that have no code are one kind. */
struct tally {
    const struct known_fault *first;
    uint64_t count;
};

typedef VEC(struct tally) tally_list;

static bool is_alike(const struct known_fault *a, const struct known_fault *b)
{
    return a->type == b->type && strcmp(a->subsystem, b->subsystem) == 0;
}

static int add_tally(tally_list *tallies, const struct known_fault *fault)
{
    vec_each(struct tally, tally, tallies) {
        if (is_alike(tally->first, fault)) {
            tally->count++;
            return 0;
        }
    }
    return vec_push(tallies, ((struct tally){ .first = fault, .count = 1 }));
}

static void write_tally(const struct tally *tally, struct text *out)
{
    text_add(out, "fingerpost_faults{");
    metric_label(out, "subsystem", tally->first->subsystem);
    text_add_char(out, ',');
    metric_label(out, "code", known_fault_code(tally->first));
    text_add_char(out, ',');
    metric_label(out, "severity", fault_severity_name(known_fault_severity(tally->first)));
    text_addf(out, "} %" PRIu64 "\n", tally->count);
}

static bool has_tally(const tally_list *tallies, const char *subsystem)
{
    vec_each(const struct tally, tally, tallies)
        if (strcmp(tally->first->subsystem, subsystem) == 0)
            return true;
    return false;
}

void write_fault_metrics(const struct fault_book *book, const char *const *usual, size_t count,
                         struct text *out)
{
    tally_list tallies = { 0 };
    for (size_t i = 0; i < fault_book_count(book); i++)
        if (add_tally(&tallies, fault_book_at(book, i)) < 0)
            out->failed = true;
    metric(out, "fingerpost_faults", "gauge", "Faults that hold now.");
    for (size_t i = 0; i < count; i++)
        if (!has_tally(&tallies, usual[i]))
            metric_sample(out, "fingerpost_faults", "subsystem", usual[i], 0);
    vec_each(const struct tally, tally, &tallies)
        write_tally(tally, out);
    vec_done(&tallies);
}
