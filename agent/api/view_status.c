// SPDX-License-Identifier: Apache-2.0
/*
 * The documents Status and FaultList, and the one word that sums the agent up.
 *
 * Health is derived here and nowhere else, from what the subsystems say of themselves:
 *   failed    nothing can work: the source can't be read, or the kernel refuses every route;
 *   starting  the first complete pass is still to come;
 *   degraded  something is not as it should be: a fault holds, wanted and installed differ, no
 *             session of BIRD is up for routes that stand, or NAT does not serve all Services yet;
 *   healthy   none of these.
 * An address that is withheld for want of endpoints is the agent doing its work, not a fault.
 *
 * A source "can't be read" when a fault holds for the source as a whole (its group is "", see
 * source/manifest.h), it has not synced, and no copy on disk stands in for it; a broken file among
 * others has a group of its own.
 */
#include "api/view.h"

#include <string.h>

#include "api/document.h"
#include "api/view_bgp.h"
#include "api/view_nat_status.h"
#include "api/view_routes.h"
#include "base/clock.h"
#include "model/object.h"
#include "status/bird_reach.h"

/* "faults" or "items": all faults that hold now. */
static void write_known_faults(struct json *json, const char *key, const struct fault_book *book)
{
    json_begin_array(json, key);
    for (size_t i = 0; i < fault_book_count(book); i++) {
        const struct known_fault *known = fault_book_at(book, i);
        const struct fault fault = {
            .place = (char *)known->place,
            .message = (char *)known->message,
            .remedy = (char *)known->remedy,
        };
        write_fault(json, known->subsystem, known->group, &fault, known->since_wall_ms);
    }
    json_end_array(json);
}

static bool source_unreadable(const struct status *status)
{
    if (status_is_known(status))
        return false;
    for (size_t i = 0; i < fault_book_count(status->faults); i++) {
        const struct known_fault *fault = fault_book_at(status->faults, i);
        if (strcmp(fault->subsystem, status->source.name) == 0 && fault->group[0] == '\0')
            return true;
    }
    return false;
}

const char *view_health(const struct api_state *state)
{
    const struct status *status = state->status;
    const struct route_status *routes = &status->routes;

    if (source_unreadable(status))
        return "failed";
    if (!routes->complete)
        return "starting";
    if (routes->wanted > 0 && routes->refused >= routes->wanted)
        return "failed";
    if (fault_book_count(status->faults) > 0 || status->config_refused ||
        (routes->wanted != routes->installed && !routes->pending) ||
        bird_is_unheard(&status->bird) || (status->nat.enabled && !status->nat.complete))
        return "degraded";
    return "healthy";
}

static const char *phase_name(enum agent_phase phase)
{
    switch (phase) {
    case PHASE_STARTING:
        return "starting";
    case PHASE_RUNNING:
        return "running";
    case PHASE_STOPPING:
        return "stopping";
    }
    return "unknown";
}

static void write_config(struct json *json, const struct status *status)
{
    json_begin_object(json, "config");
    json_string(json, "path", status->config_path);
    json_time(json, "loadedAt", status->config_loaded_wall_ms);
    json_bool(json, "refused", status->config_refused);
    json_end_object(json);
}

/* The kinds that are asked for one by one; none of a folder's. */
static void write_kinds(struct json *json, const struct kube_status *kube)
{
    json_begin_array(json, "kinds");
    for (size_t i = 0; i < kube->count; i++) {
        const struct kube_kind_status *kind = &kube->kinds[i];
        json_begin_object(json, NULL);
        json_string(json, "kind", kind->kind);
        json_string(json, "state", kube_kind_state_name(kind->state));
        json_bool(json, "synced", kind->synced);
        json_string(json, "resourceVersion", kind->resource_version);
        json_int(json, "lists", (int64_t)kind->lists);
        json_int(json, "reconnects", (int64_t)kind->reconnects);
        json_time(json, "lastEventAt", kind->last_event_wall_ms);
        json_string(json, "error", kind->error[0] ? kind->error : NULL);
        json_time(json, "errorSince", kind->error[0] ? kind->error_wall_ms : 0);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_copy(struct json *json, const struct copy_status *copy)
{
    if (!copy->path) {
        json_null(json, "copy");
        return;
    }
    json_begin_object(json, "copy");
    json_string(json, "path", copy->path);
    json_time(json, "writtenAt", copy->written_wall_ms);
    json_time(json, "asOf", copy->as_of_wall_ms);
    json_int(json, "objects", (int64_t)copy->objects);
    json_int(json, "bytes", (int64_t)copy->bytes);
    json_bool(json, "inForce", copy->in_force);
    json_end_object(json);
}

static void write_source(struct json *json, const struct status *status, const struct store *store)
{
    const struct source_status *source = &status->source;
    json_begin_object(json, NULL);
    json_string(json, "name", source->name);
    json_string(json, "path", source->path);
    json_bool(json, "synced", source->synced);
    json_int(json, "observedGeneration", (int64_t)source->observed_generation);
    json_int(json, "appliedGeneration", (int64_t)source->applied_generation);
    json_int(json, "files", source->files);
    json_int(json, "brokenFiles", source->broken_files);
    json_int(json, "ignoredFiles", source->ignored_files);
    json_begin_object(json, "objects");
    for (enum kind kind = 0; kind < KIND_COUNT; kind++)
        json_int(json, kind_name(kind), (int64_t)store_count(store, kind));
    json_end_object(json);
    json_int(json, "ignoredObjects", (int64_t)source->ignored_objects);
    json_time(json, "lastEventAt", source->last_event_wall_ms);
    write_kinds(json, &source->kube);
    write_copy(json, &status->copy);
    json_end_object(json);
}

/* How many addresses are wanted announced, by whether peers get them. */
static void write_reaches(struct json *json, const struct api_state *state)
{
    uint64_t counts[REACHES] = { 0 };
    count_reaches(state, counts);
    json_begin_object(json, "reach");
    for (enum reach reach = 0; reach < REACHES; reach++)
        json_int(json, reach_name(reach), (int64_t)counts[reach]);
    json_end_object(json);
}

static void write_routes(struct json *json, const struct api_state *state)
{
    const struct route_status *routes = &state->status->routes;
    json_begin_object(json, "routes");
    json_bool(json, "complete", routes->complete);
    json_int(json, "wanted", routes->wanted);
    json_int(json, "installed", routes->installed);
    json_int(json, "foreign", routes->foreign);
    json_int(json, "blocked", routes->blocked);
    json_int(json, "refused", routes->refused);
    json_int(json, "announced", routes->announced);
    write_reaches(json, state);
    json_int(json, "withheld", routes->withheld);
    json_int(json, "held", routes->held);
    json_int(json, "blocks", routes->blocks);
    json_int(json, "added", (int64_t)routes->added);
    json_int(json, "replaced", (int64_t)routes->replaced);
    json_int(json, "deleted", (int64_t)routes->deleted);
    json_int(json, "repairs", (int64_t)routes->repairs);
    json_int(json, "passes", (int64_t)routes->passes);
    json_int(json, "fullPasses", (int64_t)routes->full_passes);
    json_time(json, "lastFullPassAt", routes->last_full_pass_wall_ms);
    json_double(json, "lastFullPassMs", (double)routes->last_full_pass_us / 1000);
    json_end_object(json);
}

/* One that is under way or waits. */
static void write_row(struct json *json, const struct write_row *row)
{
    json_begin_object(json, NULL);
    json_string(json, "what", row->what);
    json_bool(json, "running", row->running);
    json_int(json, "tries", row->tries);
    json_time(json, "since", row->since_wall_ms);
    if (row->running)
        json_null(json, "nextInMs");
    else
        json_int(json, "nextInMs", MAX(row->next_mono_ms - clock_mono_ms(), INT64_C(0)));
    json_string(json, "outcome", row->outcome);
    json_string(json, "why", *row->why ? row->why : NULL);
    json_end_object(json);
}

static void write_writes(struct json *json, const struct write_status *writes)
{
    json_begin_object(json, "writes");
    json_bool(json, "enabled", writes->enabled);
    json_int(json, "written", (int64_t)writes->written);
    json_int(json, "retries", (int64_t)writes->retries);
    json_int(json, "conflicts", (int64_t)writes->conflicts);
    json_int(json, "refused", (int64_t)writes->refused);
    json_int(json, "lost", (int64_t)writes->lost);
    json_int(json, "found", (int64_t)writes->found);
    json_int(json, "dropped", (int64_t)writes->dropped);
    json_int(json, "waiting", writes->waiting);
    json_int(json, "running", writes->running);
    json_begin_array(json, "items");
    for (uint32_t i = 0; i < writes->count; i++)
        write_row(json, &writes->rows[i]);
    json_end_array(json);
    json_end_object(json);
}

static void write_standing(struct json *json, const struct standing_status *standing)
{
    json_begin_object(json, "standing");
    json_string(json, "phase", standing_phase_name(standing->phase));
    json_time(json, "since", standing->since_wall_ms);
    if (standing->ends_mono_ms)
        json_int(json, "endsInMs", MAX(standing->ends_mono_ms - clock_mono_ms(), INT64_C(0)));
    else
        json_null(json, "endsInMs");
    json_string(json, "reason", *standing->reason ? standing->reason : NULL);
    json_bool(json, "nodeGone", standing->node_gone);
    json_end_object(json);
}

void view_status(const struct api_state *state, struct text *out)
{
    const struct status *status = state->status;
    struct json json = view_begin(out, "Status");

    json_string(&json, "node", status->node);
    json_string(&json, "version", status->version);
    json_string(&json, "health", view_health(state));
    json_string(&json, "phase", phase_name(status->phase));
    json_time(&json, "startedAt", status->started_wall_ms);
    json_int(&json, "uptimeSeconds", (clock_mono_ms() - status->started_mono_ms) / SECOND_MS);
    write_config(&json, status);
    json_begin_array(&json, "sources");
    write_source(&json, status, state->store);
    json_end_array(&json);
    write_routes(&json, state);
    write_writes(&json, &status->writes);
    write_standing(&json, &status->standing);
    write_bgp(&json, &status->bird);
    json_begin_object(&json, "services");
    json_bool(&json, "enabled", status->nat.enabled);
    json_int(&json, "count", (int64_t)store_count(state->store, KIND_SERVICE));
    json_end_object(&json);
    write_nat_status(&json, state);
    write_known_faults(&json, "faults", status->faults);
    view_end(&json);
}

void view_faults(const struct api_state *state, struct text *out)
{
    struct json json = view_begin(out, "FaultList");
    write_known_faults(&json, "items", state->status->faults);
    view_end(&json);
}
