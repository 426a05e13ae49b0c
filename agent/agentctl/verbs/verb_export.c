// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl export`: the documents that load balancers outside the cluster are told, as a table:
 * how each stands, where and since when; below it where they go, what is held back, and which
 * Services are refused and why.
 */
#include <inttypes.h>
#include <string.h>

#include "agentctl/answer.h"
#include "agentctl/explain/explain_pools.h"
#include "agentctl/field.h"
#include "agentctl/tables.h"

const struct column export_columns[] = {
    { "SERVICE", COLUMN_TRUNCATE },
    { "DOCUMENT", COLUMN_TRUNCATE },
    { "STATE", COLUMN_STATE },
    { "AGE", COLUMN_RIGHT },
    { "PLACE", COLUMN_NAME | COLUMN_WIDE },
    { NULL },
};

/* A key without what the line below the table says of all: "services/c1-shop-web-http/clusters/c1".
 */
static const char *key_below(const struct doc *item, const char *prefix)
{
    const char *key = field(item, "key");
    const size_t length = strlen(prefix);
    return length && strncmp(key, prefix, length) == 0 && key[length] == '/' ? key + length + 1
                                                                             : key;
}

/* The list of nodes is nobody's. */
static void export_row(struct table *table, const struct doc *item, const char *prefix)
{
    AUTOTEXT struct text service = { 0 };
    char written[CLOCK_STRLEN];
    const char *ago = field_ago(item, "writtenAt", written);
    const struct doc *owner = doc_get(item, "service");
    if (owner)
        add_key(&service, owner);
    else
        text_add(&service, "(nodes)");
    const char *const cells[] = {
        text_str(&service),   doc_get(item, "id") ? field(item, "id") : key_below(item, prefix),
        field(item, "state"), ago ? ago : "-",
        field(item, "place"),
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(export_columns), "a cell per column");
    table_row(table, cells);
}

/* "Consul at http://127.0.0.1:8500, below kube-service-exporter/, read 4s ago; 3 writes wait" */
static void add_target(struct text *out, const struct doc *target)
{
    text_add(out, field_is(target, "kind", "consul") ? "Consul at " : "Folder ");
    add_clean(out, field(target, "address"));
    text_add(out, ", below ");
    add_clean(out, field(target, "prefix"));
    text_add_char(out, '/');
    if (doc_get(target, "readAt"))
        add_age(out, target, "readAt", ", read ");
    else
        text_add(out, ", not read yet");
    if (field_int(target, "pending") > 0) {
        text_add(out, "; ");
        text_add_count(out, field_int(target, "pending"), "key");
        text_add(out, " to be written");
    }
    text_add(out, field_true(target, "locked") ? ".\n" : "; the lock is not held.\n");
    if (!doc_get(target, "error"))
        return;
    text_add(out, "-> ");
    add_clean(out, field(target, "error"));
    if (doc_get(target, "remedy")) {
        text_add(out, ": ");
        add_clean(out, field(target, "remedy"));
    }
    text_add_char(out, '\n');
}

static void add_refusal(struct text *out, const struct doc *refusal)
{
    int64_t kept = field_int(refusal, "kept");
    text_add(out, "-> ");
    add_key(out, refusal);
    text_add(out, " is refused: ");
    add_clean(out, field(refusal, "message"));
    text_add(out, ": ");
    add_clean(out, field(refusal, "remedy"));
    if (kept > 0) {
        text_add(out, " (");
        text_add_count(out, kept, "document");
        text_addf(out, " of before %s)", kept == 1 ? "stays" : "stay");
    }
    text_add_char(out, '\n');
}

/* ", 2 pending": nothing where none is so. */
static void add_states(struct text *out, const struct doc *items)
{
    static const char *const words[] = { "current", "pending", "going",  "held",
                                         "kept",    "blocked", "unknown" };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        unsigned count = 0;
        doc_each(item, items)
            count += field_is(item, "state", words[i]);
        if (count)
            text_addf(out, ", %u %s", count, words[i]);
    }
}

int verb_export(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 }, below = { 0 };
    int status;

    (void)args;
    const struct doc *items = answer_items(ctl, "/v1/exports", &answer, &status);
    if (!items)
        return status;
    struct table *table = table_new(ctl, export_columns);
    text_add_count(&total, items->count, "document");
    add_states(&total, items);
    doc_each(item, items)
        export_row(table, item, field(doc_get(answer.root, "target"), "prefix"));
    add_target(&below, doc_get(answer.root, "target"));
    if (doc_get(answer.root, "heldUntil")) {
        text_add(&below, "-> what is held would shrink the list too much at once; it goes at ");
        text_addf(&below, "%s (consul.maxShrink, consul.holdDown)\n",
                  field(answer.root, "heldUntil"));
    }
    doc_each(refusal, doc_get(answer.root, "refused"))
        add_refusal(&below, refusal);
    return table_print(table, "%s.\n%s", text_str(&total), text_str(&below));
}
