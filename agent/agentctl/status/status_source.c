// SPDX-License-Identifier: Apache-2.0
/*
 * The source on the screen of `agentctl status`: whether it has been read, how much it has, and for
 * Kubernetes whether all kinds can be followed, how old the copy on disk is, and what is written.
 */
#include "agentctl/status/status_source.h"

#include <inttypes.h>

#include "agentctl/answer.h"
#include "agentctl/field.h"
#include "agentctl/output.h"
#include "base/clock.h"
#include "base/macro.h"

static const struct doc *source_named(const struct doc *status, const char *name)
{
    doc_each(source, doc_get(status, "sources")) {
        if (field_is(source, "name", name))
            return source;
    }
    return NULL;
}

static int64_t object_count(const struct doc *source)
{
    int64_t count = 0;
    doc_each(kind, doc_get(source, "objects"))
        count += field_int(doc_get(source, "objects"), kind->key);
    return count;
}

const char *describe_manifests(const struct doc *status, struct text *out)
{
    const struct doc *source = source_named(status, "manifests");

    if (!source)
        return NULL;
    text_add(out, field_true(source, "synced") ? "synced, " : "not read yet, ");
    text_add_count(out, object_count(source), "object");
    text_add(out, " in ");
    text_add_count(out, field_int(source, "files"), "file");
    if (field_int(source, "brokenFiles") > 0)
        text_addf(out, ", %" PRId64 " broken", field_int(source, "brokenFiles"));
    add_age(out, source, "lastEventAt", ", last event ");
    if (field_true(source, "synced"))
        return "OK";
    return field_is(status, "health", "failed") ? "FAIL" : "WARN";
}

static unsigned failing_kinds(const struct doc *source)
{
    unsigned count = 0;
    doc_each(kind, doc_get(source, "kinds"))
        count += doc_get(kind, "error") != NULL;
    return count;
}

/* Only what is not done is news. */
static void add_write_count(const struct doc *status, struct text *out)
{
    const struct doc *writes = doc_get(status, "writes");
    int64_t open = field_int(writes, "waiting") + field_int(writes, "running");
    if (open == 0)
        return;
    text_add(out, "; ");
    text_add_count(out, open, "write");
    text_add(out, open == 1 ? " waits" : " wait");
}

const char *describe_kubernetes(const struct doc *status, struct text *out)
{
    const struct doc *source = source_named(status, "kubernetes"), *copy = doc_get(source, "copy");
    unsigned failing = failing_kinds(source);

    if (!source)
        return NULL;
    text_add(out, field_true(source, "synced") ? "synced, " : "not read since the start, ");
    text_add_count(out, object_count(source), "object");
    add_age(out, source, "lastEventAt", ", last event ");
    if (failing > 0) {
        text_add(out, "; ");
        text_add_count(out, failing, "kind");
        text_add(out, failing == 1 ? " fails" : " fail");
    }
    if (field_true(copy, "inForce"))
        add_age(out, copy, "asOf", "; in force is the copy on disk, true ");
    else
        add_age(out, copy, "writtenAt", "; copied ");
    add_write_count(status, out);
    if (field_true(source, "synced"))
        return "OK"; /* one failure may happen to anybody; the second is a fault */
    return field_is(status, "health", "failed") ? "FAIL" : "WARN";
}

void add_kinds(struct text *out, const struct doc *status, const char *indent)
{
    doc_each(kind, doc_get(source_named(status, "kubernetes"), "kinds")) {
        text_addf(out, "%s%s: %s", indent, field(kind, "kind"), field(kind, "state"));
        add_age(out, kind, "lastEventAt", ", last event ");
        if (field_int(kind, "reconnects") > 0) {
            text_add(out, ", ");
            text_add_count(out, field_int(kind, "reconnects"), "reconnect");
        }
        if (doc_get(kind, "error")) {
            text_add(out, "; ");
            add_clean(out, field(kind, "error"));
        }
        text_add_char(out, '\n');
    }
}

static void add_write(struct text *out, const struct doc *row, const char *indent)
{
    char next[CLOCK_STRLEN];
    text_add(out, indent);
    add_clean(out, field(row, "what"));
    if (doc_get(row, "why")) {
        text_addf(out, ": %s, ", field(row, "outcome"));
        add_clean(out, field(row, "why"));
        int64_t tries = field_int(row, "tries");
        text_addf(out, "; %" PRId64 " %s", tries, tries == 1 ? "try" : "tries");
    }
    if (!field_true(row, "running"))
        text_addf(out, ", next in %s", clock_ago(field_int(row, "nextInMs"), next));
    text_add_char(out, '\n');
}

void add_writes(struct text *out, const struct doc *status, const char *indent)
{
    const struct doc *writes = doc_get(status, "writes");
    if (!field_true(writes, "enabled"))
        return;
    text_addf(out, "%sEvents: ", indent);
    add_write_counts(out, writes);
    text_add_char(out, '\n');
    add_write_rows(out, writes, indent);
}

void add_write_counts(struct text *out, const struct doc *writes)
{
    static const struct {
        const char *key, *word;
    } counts[] = {
        { "dropped", "dropped" },       { "retries", "tried again" }, { "refused", "refused" },
        { "conflicts", "in conflict" }, { "lost", "answers lost" },   { "found", "found done" },
    };
    text_addf(out, "%" PRId64 " written", field_int(writes, "written"));
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        if (field_int(writes, counts[i].key) > 0)
            text_addf(out, ", %" PRId64 " %s", field_int(writes, counts[i].key), counts[i].word);
}

void add_write_rows(struct text *out, const struct doc *writes, const char *indent)
{
    doc_each(row, doc_get(writes, "items"))
        add_write(out, row, indent);
}
