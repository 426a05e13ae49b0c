// SPDX-License-Identifier: Apache-2.0
/* Where objects come from, and what is written back, as members of a status document. */
#include "api/view_source.h"

#include "base/clock.h"
#include "model/object.h"

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
    if (!copy || !copy->path) {
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

void write_source(struct json *json, const struct source_status *source,
                  const struct copy_status *copy, const struct store *store)
{
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
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        if (kind_is_manifest(kind) || store_count(store, kind) > 0)
            json_int(json, kind_name(kind), (int64_t)store_count(store, kind));
    }
    json_end_object(json);
    json_int(json, "ignoredObjects", (int64_t)source->ignored_objects);
    json_time(json, "lastEventAt", source->last_event_wall_ms);
    write_kinds(json, &source->kube);
    write_copy(json, copy);
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

void write_writes(struct json *json, const struct write_status *writes)
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
