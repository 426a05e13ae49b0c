// SPDX-License-Identifier: Apache-2.0
/*
 * The document ControllerStatus, and the controller's health in one word:
 *   failed    the source has not been read, and a fault says why
 *   starting  it has not been read yet, or nobody has looked at the Lease
 *   degraded  a fault holds, or nobody leads
 *   healthy   none of these. A follower is as healthy as the leader
 */
#include "api/view_controller.h"

#include <string.h>

#include "api/document.h"
#include "api/view_source.h"
#include "base/clock.h"

/* Whether a kind can't be read, which nothing is done without. */
static bool fails(const struct controller_status *status)
{
    const struct kube_status *kube = &status->source.kube;
    for (size_t i = 0; i < kube->count; i++) {
        const struct kube_kind_status *kind = &kube->kinds[i];
        if (*kind->error && fault_book_find(status->faults, status->source.name, kind->kind))
            return true;
    }
    return false;
}

static const char *health_of(const struct controller_status *status)
{
    const struct fault_book *book = status->faults;
    if (!status->source.synced)
        return fault_book_find(book, status->source.name, "") || fails(status) ? "failed"
                                                                               : "starting";
    if (!status->election.seen)
        return fault_book_worst(book) >= FAULT_DEGRADED ? "degraded" : "starting";
    if (fault_book_worst(book) == FAULT_FAILED)
        return "failed";
    if (fault_book_worst(book) >= FAULT_DEGRADED || !*status->election.holder)
        return "degraded";
    return "healthy";
}

static void write_election(struct json *json, const struct election_status *election)
{
    json_begin_object(json, "election");
    json_string(json, "namespace", election->namespace);
    json_string(json, "name", election->name);
    json_bool(json, "leading", election->leading);
    json_string(json, "holder", *election->holder ? election->holder : NULL);
    json_time(json, "heldSince", election->acquired_wall_ms);
    json_time(json, "renewedAt", election->renewed_wall_ms);
    json_int(json, "transitions", election->transitions);
    json_int(json, "gained", (int64_t)election->gained);
    json_int(json, "lost", (int64_t)election->lost);
    json_string(json, "error", *election->error ? election->error : NULL);
    json_end_object(json);
}

static void write_job(struct json *json, const struct job_status *job)
{
    json_begin_object(json, NULL);
    json_string(json, "name", job->name);
    json_begin_object(json, "counts");
    for (size_t i = 0; i < job->count; i++)
        json_int(json, job->counts[i].name, (int64_t)job->counts[i].value);
    json_end_object(json);
    write_writes(json, &job->writes);
    json_end_object(json);
}

void view_controller(const struct controller_state *state, struct text *out)
{
    const struct controller_status *status = state->status;
    struct json json = view_begin(out, "ControllerStatus");

    json_string(&json, "identity", status->election.identity);
    json_string(&json, "version", status->version);
    json_string(&json, "health", health_of(status));
    json_string(&json, "phase", status->stopping ? "stopping" : "running");
    json_time(&json, "startedAt", status->started_wall_ms);
    json_int(&json, "uptimeSeconds", (clock_mono_ms() - status->started_mono_ms) / SECOND_MS);
    json_string(&json, "config", status->config_path);
    write_election(&json, &status->election);
    json_begin_array(&json, "sources");
    write_source(&json, &status->source, NULL, state->store);
    json_end_array(&json);
    json_begin_array(&json, "jobs");
    for (size_t i = 0; i < status->job_count; i++)
        write_job(&json, &status->jobs[i]);
    json_end_array(&json);
    write_known_faults(&json, "faults", status->faults);
    view_end(&json);
}
