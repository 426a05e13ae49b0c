// SPDX-License-Identifier: Apache-2.0
/* Metrics of the controller: the election, and what each job counts and writes. */
#include "api/view_controller.h"

#include <inttypes.h>

#include "api/metrics/metric.h"
#include "api/metrics/view_metrics.h"

static void write_election(const struct election_status *election, struct text *out)
{
    metric_single(out, "fingerpost_controller_leading", "gauge", "1 if this controller leads.",
                  election->leading);
    metric_single(out, "fingerpost_controller_lease_transitions", "gauge",
                  "How often the Lease has changed hands.", (uint64_t)election->transitions);
    metric_single(out, "fingerpost_controller_leaderships_gained_total", "counter",
                  "How often this controller became the leader.", election->gained);
    metric_single(out, "fingerpost_controller_leaderships_lost_total", "counter",
                  "How often it ceased to be.", election->lost);
}

/* name{job="blocks",LABEL="VALUE"} COUNT */
static void write_sample(struct text *out, const char *name, const struct job_status *job,
                         const char *label, const char *value, uint64_t count)
{
    text_addf(out, "%s{", name);
    metric_label(out, "job", job->name);
    text_add_char(out, ',');
    metric_label(out, label, value);
    text_addf(out, "} %" PRIu64 "\n", count);
}

static void write_counts(const struct controller_status *status, struct text *out)
{
    static const char name[] = "fingerpost_controller_objects";
    metric(out, name, "gauge", "What a job counts.");
    for (size_t i = 0; i < status->job_count; i++) {
        const struct job_status *job = &status->jobs[i];
        for (size_t j = 0; j < job->count; j++)
            write_sample(out, name, job, "what", job->counts[j].name, job->counts[j].value);
    }
}

static void write_writes(const struct controller_status *status, struct text *out)
{
    static const char outcomes[] = "fingerpost_controller_write_outcomes_total";
    static const char pending[] = "fingerpost_controller_writes_pending";
    metric(out, outcomes, "counter", "Tries to write to the API, by what became of them.");
    for (size_t i = 0; i < status->job_count; i++) {
        const struct write_status *writes = &status->jobs[i].writes;
        write_sample(out, outcomes, &status->jobs[i], "outcome", "done", writes->written);
        write_sample(out, outcomes, &status->jobs[i], "outcome", "conflict", writes->conflicts);
        write_sample(out, outcomes, &status->jobs[i], "outcome", "refused", writes->refused);
        write_sample(out, outcomes, &status->jobs[i], "outcome", "lost", writes->lost);
        write_sample(out, outcomes, &status->jobs[i], "outcome", "found", writes->found);
    }
    metric(out, pending, "gauge", "Writes that wait for their turn, or are under way.");
    for (size_t i = 0; i < status->job_count; i++) {
        const struct write_status *writes = &status->jobs[i].writes;
        write_sample(out, pending, &status->jobs[i], "state", "waiting", writes->waiting);
        write_sample(out, pending, &status->jobs[i], "state", "running", writes->running);
    }
}

void view_controller_metrics(const struct controller_state *state, struct text *out)
{
    static const char *const usual[] = { "config", "election", "kubernetes" };
    const struct controller_status *status = state->status;

    metric(out, "fingerpost_build_info", "gauge", "Always 1; the label says which build runs.");
    metric_sample(out, "fingerpost_build_info", "version", status->version, 1);
    metric_single(out, "process_start_time_seconds", "gauge",
                  "Start of the controller since the epoch.",
                  (uint64_t)status->started_wall_ms / 1000);
    write_source_metrics(&status->source, state->store, out);
    write_kube_metrics(&status->source.kube, out);
    write_election(&status->election, out);
    if (status->job_count > 0) {
        write_counts(status, out);
        write_writes(status, out);
    }
    write_block_metrics(state->store, out);
    write_export_metrics(state->export_metrics, out);
    write_fault_metrics(status->faults, usual, ARRAY_SIZE(usual), out);
}
