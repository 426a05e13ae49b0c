// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl pools`: the pools of LoadBalancer addresses as a table, and below it the edits that are
 * refused and the Services that lack an address. With -v also every address that somebody has or
 * that rests, and whose it is.
 */
#include <inttypes.h>

#include "agentctl/answer.h"
#include "agentctl/explain/explain_pools.h"
#include "agentctl/field.h"
#include "agentctl/tables.h"

const struct column pool_columns[] = {
    { "NAMESPACE", COLUMN_TRUNCATE | COLUMN_NAME },
    { "NAME", COLUMN_TRUNCATE | COLUMN_NAME },
    { "SIZE", COLUMN_RIGHT },
    { "FREE", COLUMN_RIGHT },
    { "USED", COLUMN_RIGHT },
    { "RESTING", COLUMN_RIGHT },
    { "RESERVED", COLUMN_RIGHT },
    { "AUTO" },
    { NULL },
};

/* A number that is null is more than anybody counts. */
static const char *count_of(const struct doc *pool, const char *key)
{
    return doc_get(pool, key) ? field(pool, key) : "countless";
}

static void add_address(struct text *out, const struct doc *address)
{
    char freed[CLOCK_STRLEN];
    const char *comma = "", *ago = field_ago(address, "freedAt", freed);
    text_addf(out, "  %s %s ", field(address, "address"), ago ? "rests, freed by" : "is given to");
    doc_each(service, doc_get(address, "services")) {
        text_add(out, comma);
        add_key(out, service);
        comma = ", ";
    }
    if (ago)
        text_addf(out, " %s ago", ago);
    text_add_char(out, '\n');
}

static void add_addresses(struct text *out, const struct doc *pools)
{
    doc_each(pool, pools) {
        doc_each(address, doc_get(pool, "addresses"))
            add_address(out, address);
    }
}

static void add_refused(struct text *out, const struct doc *pool)
{
    const struct doc *refused = doc_get(pool, "refused");
    if (!refused)
        return;
    text_add(out, "-> the ");
    text_add(out, field_true(refused, "removal") ? "removal of " : "edit of ");
    add_key(out, pool);
    text_add(out, " is refused: ");
    text_add_count(out, field_int(refused, "losers"), "Service");
    text_add(out, " would lose an address: ");
    add_clean(out, field(refused, "services"));
    text_add_char(out, '\n');
}

static void add_pendings(struct text *out, const struct doc *pending)
{
    doc_each(lack, pending) {
        text_add(out, "-> ");
        add_key(out, lack);
        text_add(out, " is ");
        add_pending(out, lack);
        text_add_char(out, '\n');
    }
}

static void pool_row(struct table *table, const struct doc *pool)
{
    const char *const cells[] = {
        field(pool, "namespace"),   field(pool, "name"),
        count_of(pool, "size"),     count_of(pool, "free"),
        field(pool, "used"),        field(pool, "resting"),
        count_of(pool, "reserved"), field_true(pool, "autoAssign") ? "yes" : "no",
    };
    _Static_assert(ARRAY_SIZE(cells) + 1 == ARRAY_SIZE(pool_columns), "a cell per column");
    table_row(table, cells);
}

int verb_pools(const struct ctl *ctl, char **args)
{
    AUTOANSWER struct answer answer = { 0 };
    AUTOTEXT struct text total = { 0 }, below = { 0 };
    int status;

    (void)args;
    const struct doc *items = answer_items(ctl, "/v1/pools", &answer, &status);
    if (!items)
        return status;
    struct table *table = table_new(ctl, pool_columns);
    doc_each(pool, items) {
        pool_row(table, pool);
        add_refused(&below, pool);
    }
    if (ctl->verbose)
        add_addresses(&below, items);
    add_pendings(&below, doc_get(answer.root, "pending"));
    text_add_count(&total, items->count, "pool");
    return table_print(table, "%s.\n%s", text_str(&total), text_str(&below));
}
