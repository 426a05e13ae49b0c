// SPDX-License-Identifier: Apache-2.0
/* See lease.h. */
#include "model/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "format/json.h"

bool lease_record_eq(const struct lease_record *a, const struct lease_record *b)
{
    return strcmp(a->holder, b->holder) == 0 && a->duration_s == b->duration_s &&
           a->acquired_wall_ms == b->acquired_wall_ms && a->renewed_wall_ms == b->renewed_wall_ms &&
           a->transitions == b->transitions && a->coordinated == b->coordinated;
}

/* These take a member that is absent as "" or 0. */

static bool read_string(const struct doc *node, char *ret, size_t size)
{
    if (!node)
        return true;
    if (node->type != DOC_SCALAR || strlen(node->text) >= size)
        return false;
    memcpy(ret, node->text, strlen(node->text) + 1);
    return true;
}

static bool read_number(const struct doc *node, int64_t *ret)
{
    if (!node)
        return true;
    if (node->type != DOC_SCALAR || node->quoted || !*node->text ||
        strspn(node->text, "0123456789") != strlen(node->text) || strlen(node->text) > 10)
        return false;
    *ret = strtoll(node->text, NULL, 10);
    return true;
}

static bool read_time(const struct doc *node, int64_t *ret)
{
    return !node || (node->type == DOC_SCALAR && clock_parse_rfc3339(node->text, ret) == 0);
}

static const char *read_spec(const struct doc *spec, struct lease_record *record)
{
    if (!read_string(doc_get(spec, "holderIdentity"), record->holder, sizeof(record->holder)))
        return "spec.holderIdentity is longer than 255 characters, or no string";
    if (!read_number(doc_get(spec, "leaseDurationSeconds"), &record->duration_s))
        return "spec.leaseDurationSeconds is no number";
    if (!read_number(doc_get(spec, "leaseTransitions"), &record->transitions))
        return "spec.leaseTransitions is no number";
    if (!read_time(doc_get(spec, "acquireTime"), &record->acquired_wall_ms))
        return "spec.acquireTime is no time";
    if (!read_time(doc_get(spec, "renewTime"), &record->renewed_wall_ms))
        return "spec.renewTime is no time";
    record->coordinated = doc_get(spec, "strategy") || doc_get(spec, "preferredHolder");
    return NULL;
}

enum { TIME_LEN = 48 };

/* As the API wants it: six digits behind the point, no more and no fewer. */
static const char *time_str(int64_t wall_ms, char buffer[static TIME_LEN])
{
    struct tm tm;
    char day[32];
    time_t seconds = (time_t)(wall_ms / SECOND_MS);
    (void)gmtime_r(&seconds, &tm);
    (void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(buffer, TIME_LEN, "%s.%03d000Z", day, (int)(wall_ms % SECOND_MS));
    return buffer;
}

static bool is_text(const struct doc *node, const char *text)
{
    return node && node->type == DOC_SCALAR && strcmp(node->text, text) == 0;
}

/* What lease_patch() tests, and the label that it leaves alone. */
static bool is_foreign(const struct doc *lease, const struct lease_record *record)
{
    char renewed[TIME_LEN];
    const struct doc *spec = doc_get(lease, "spec"),
                     *labels = doc_get(doc_get(lease, "metadata"), "labels");
    return !is_text(doc_get(spec, "holderIdentity"), record->holder) ||
           !is_text(doc_get(spec, "renewTime"), time_str(record->renewed_wall_ms, renewed)) ||
           !doc_get(labels, LEASE_LABEL);
}

const char *lease_read(const struct doc *lease, struct lease_record *ret_record,
                       char ret_version[static LEASE_VERSION_MAX])
{
    struct lease_record record = { 0 };
    char version[LEASE_VERSION_MAX] = "";
    const struct doc *metadata = doc_get(lease, "metadata");
    if (!read_string(doc_get(metadata, "resourceVersion"), version, sizeof(version)))
        return "metadata.resourceVersion is longer than 127 characters, or no string";
    const char *error = read_spec(doc_get(lease, "spec"), &record);
    if (error)
        return error;
    record.foreign = is_foreign(lease, &record);
    *ret_record = record;
    memcpy(ret_version, version, sizeof(version));
    return NULL;
}

static void write_time(struct json *json, const char *key, int64_t wall_ms)
{
    char buffer[TIME_LEN];
    json_string(json, key, time_str(wall_ms, buffer));
}

static void write_metadata(struct json *json, const char *namespace, const char *name,
                           const char *version, const char *label)
{
    json_begin_object(json, "metadata");
    json_string(json, "namespace", namespace);
    json_string(json, "name", name);
    if (version && *version)
        json_string(json, "resourceVersion", version);
    if (label) {
        json_begin_object(json, "labels");
        json_string(json, label, "true");
        json_end_object(json);
    }
    json_end_object(json);
}

void lease_write(const struct lease_record *record, const char *namespace, const char *name,
                 const char *version, const char *label, struct text *out)
{
    struct json json = { .out = out };
    json_begin_object(&json, NULL);
    json_string(&json, "apiVersion", "coordination.k8s.io/v1");
    json_string(&json, "kind", "Lease");
    write_metadata(&json, namespace, name, version, label);
    json_begin_object(&json, "spec");
    json_string(&json, "holderIdentity", record->holder);
    json_int(&json, "leaseDurationSeconds", record->duration_s);
    json_int(&json, "leaseTransitions", record->transitions);
    write_time(&json, "acquireTime", record->acquired_wall_ms);
    write_time(&json, "renewTime", record->renewed_wall_ms);
    json_end_object(&json);
    json_end_object(&json);
}

/* ---- Patches ---- */

static void begin_operation(struct json *json, const char *op, const char *path)
{
    json_begin_object(json, NULL);
    json_string(json, "op", op);
    json_string(json, "path", path);
}

static void text_operation(struct json *json, const char *op, const char *path, const char *value)
{
    begin_operation(json, op, path);
    json_string(json, "value", value);
    json_end_object(json);
}

static void time_operation(struct json *json, const char *op, const char *path, int64_t wall_ms)
{
    char buffer[TIME_LEN];
    text_operation(json, op, path, time_str(wall_ms, buffer));
}

static void number_operation(struct json *json, const char *op, const char *path, int64_t value)
{
    begin_operation(json, op, path);
    json_int(json, "value", value);
    json_end_object(json);
}

void lease_patch(const struct lease_record *record, const struct lease_record *over,
                 const char *version, struct text *out)
{
    struct json json = { .out = out };
    json_begin_array(&json, NULL);
    text_operation(&json, "test", "/metadata/resourceVersion", version);
    text_operation(&json, "test", "/spec/holderIdentity", over->holder);
    time_operation(&json, "test", "/spec/renewTime", over->renewed_wall_ms);
    text_operation(&json, "add", "/spec/holderIdentity", record->holder);
    number_operation(&json, "add", "/spec/leaseDurationSeconds", record->duration_s);
    number_operation(&json, "add", "/spec/leaseTransitions", record->transitions);
    time_operation(&json, "add", "/spec/acquireTime", record->acquired_wall_ms);
    time_operation(&json, "add", "/spec/renewTime", record->renewed_wall_ms);
    json_end_array(&json);
}
