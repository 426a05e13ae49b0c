// SPDX-License-Identifier: Apache-2.0
/* See lease.h. */
#include "model/lease.h"

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
    *ret_record = record;
    memcpy(ret_version, version, sizeof(version));
    return NULL;
}

/* As the API wants it: six digits behind the point, no more and no fewer. */
static void write_time(struct json *json, const char *key, int64_t wall_ms)
{
    struct tm tm;
    char day[32];
    time_t seconds = (time_t)(wall_ms / SECOND_MS);
    (void)gmtime_r(&seconds, &tm);
    (void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
    json_stringf(json, key, "%s.%03d000Z", day, (int)(wall_ms % SECOND_MS));
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
