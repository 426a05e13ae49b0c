// SPDX-License-Identifier: Apache-2.0
/*
 * The document ExportList. The job of exports lends its plan and what was read last; what became of
 * each document is found by the same comparison that decides what is written
 * (plan/export/export_diff.h), made anew for who asks. So a document is never called current
 * because somebody remembers that it was.
 */
#include "api/export/view_exports.h"

#include "api/document.h"

static void write_target(struct json *json, const struct export_knowledge *exports)
{
    const struct export_config *config = exports->config;
    const struct export_target_status *target = exports->target;
    json_begin_object(json, "target");
    json_string(json, "kind", config->folder ? "folder" : "consul");
    json_string(json, "address", config->folder ? config->folder : config->consul.address);
    json_string(json, "prefix", config->prefix);
    json_bool(json, "known", target->known);
    json_bool(json, "locked", target->locked);
    json_time(json, "readAt", target->read_wall_ms);
    json_time(json, "changedAt", target->changed_wall_ms);
    json_int(json, "pending", (int64_t)target->pending);
    json_string(json, "error", *target->error ? target->error : NULL);
    json_string(json, "remedy", *target->error ? target->remedy : NULL);
    json_end_object(json);
}

/* Where the document is: its key, or its file. */
static void write_place(struct json *json, const struct export_config *config, const char *key)
{
    AUTOFREE char *path = config->folder ? text_format("%s/%s.json", config->folder, key) : NULL;
    json->out->failed |= config->folder && !path;
    json_string(json, "place", path ? path : key);
}

/* "NAMESPACE/NAME"; of the list of nodes, null. */
static void write_owner(struct json *json, const char *owner)
{
    const char *slash = strchr(owner, '/');
    AUTOFREE char *namespace = slash ? strndup(owner, (size_t)(slash - owner)) : NULL;
    json->out->failed |= slash && !namespace;
    if (!namespace) {
        json_null(json, "service");
        return;
    }
    json_begin_object(json, "service");
    json_string(json, "namespace", namespace);
    json_string(json, "name", slash + 1);
    json_end_object(json);
}

static void write_item(struct json *json, const struct export_config *config,
                       const struct export_standing *standing)
{
    const struct export_document *wanted = standing->wanted;
    json_begin_object(json, NULL);
    json_string(json, "key", standing->key);
    write_place(json, config, standing->key);
    json_string(json, "id", wanted && *wanted->id ? wanted->id : NULL);
    write_owner(json, standing->owner);
    json_string(json, "state", export_state_name(standing->state));
    json_time(json, "writtenAt", standing->entry ? standing->entry->written_wall_ms : 0);
    json_end_object(json);
}

static int64_t count_kept(const export_standings *standings, const char *owner)
{
    int64_t count = 0;
    vec_each(const struct export_standing, standing, standings)
        count += standing->state == EXPORT_KEPT && strcmp(standing->owner, owner) == 0;
    return count;
}

/* `standings`: NULL where nothing is there to be kept. */
static void write_refusals(struct json *json, const struct export_plan *plan,
                           const export_standings *standings)
{
    json_begin_array(json, "refused");
    vec_each(const struct export_refusal, refusal, &plan->refusals) {
        json_begin_object(json, NULL);
        json_string(json, "namespace", refusal->namespace);
        json_string(json, "name", refusal->name);
        json_string(json, "message", refusal->message);
        json_string(json, "remedy", refusal->remedy);
        if (standings)
            json_int(json, "kept", count_kept(standings, refusal->owner));
        json_end_object(json);
    }
    json_end_array(json);
}

/* Returns 0 or -ENOMEM. */
static int compare(const struct export_knowledge *exports, struct export_diff *ret_diff)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (exports->seen)
        return export_diff(exports->config, exports->plan, exports->seen, &exports->hold, ret_diff,
                           &faults);
    return export_standings_of(exports->plan, &ret_diff->standings);
}

void view_exports(const struct controller_state *state, struct text *out)
{
    const struct export_knowledge *exports = &state->exports;
    CLEANUP(export_diff_done) struct export_diff diff = { 0 };
    struct json json = view_begin(out, "ExportList");
    out->failed |= compare(exports, &diff) < 0;
    json_string(&json, "cluster", exports->config->cluster);
    write_target(&json, exports);
    json_begin_array(&json, "items");
    vec_each(const struct export_standing, standing, &diff.standings)
        write_item(&json, exports->config, standing);
    json_end_array(&json);
    write_refusals(&json, exports->plan, &diff.standings);
    json_time(&json, "heldUntil", exports->held_until_wall_ms);
    view_end(&json);
}

static void write_document(struct json *json, const struct export_document *document)
{
    json_begin_object(json, NULL);
    json_string(json, "key", document->key);
    json_string(json, "id", *document->id ? document->id : NULL);
    write_owner(json, export_document_owner(document));
    json_string(json, "value", document->value);
    json_end_object(json);
}

void write_planned_exports(struct json *json, const struct planned_exports *exports)
{
    if (!exports || !exports->planned) {
        json_null(json, "exports");
        return;
    }
    json_begin_object(json, "exports");
    json_string(json, "cluster", exports->config->exports.cluster);
    json_begin_array(json, "documents");
    vec_each(const struct export_document, document, &exports->plan.documents)
        write_document(json, document);
    json_end_array(json);
    write_refusals(json, &exports->plan, NULL);
    json_end_object(json);
}
